"""Measure what a second thread gains in the Gram step and in all of a PLS metric, and how far predictions differ.

It needs two cores that nothing else uses.
"""

import sys

import numpy as np
from harness import ask, options_of, say, size, timed

NEUROIDS, SPLITS = 168, 10


def measure(n, p, calls):
    from brainscore_vision.metric_helpers.arrays.regression.gram import centred_gram
    from brainscore_vision.metric_helpers.arrays.regression.pls import pls_predict_splits

    rng = np.random.default_rng(0)
    source = rng.standard_normal((n, p), dtype=np.float32)
    target = source[:, :50] @ rng.normal(size=(50, NEUROIDS)) + rng.normal(size=(n, NEUROIDS))
    splits = [(np.delete(np.arange(n), part), part) for part in np.array_split(np.arange(n), SPLITS)]
    result = {}
    for name, step in {
        "gram": lambda: centred_gram(source),
        "pls": lambda: np.concatenate(pls_predict_splits(source, target, splits)),
    }.items():
        times = []
        for _ in range(calls):
            with timed() as spent:
                values = step()
            times.append(spent["wall_s"])
        result[name] = {"wall_s": min(times), "sample": values[:: n // 10, 0].tolist()}
    return result


if __name__ == "__main__":
    options = options_of(__doc__, stimuli=size(3_200, 200), features=size(25_088, 500), calls=3, measure=None)
    if options.measure:
        say(measure(*map(int, options.measure)))
    else:
        sizes = map(str, (options.stimuli, options.features, options.calls))
        command = (sys.executable, __file__, "--measure", *sizes)
        one, two = (ask(*command, threads=number) for number in (1, 2))
        for name, first in one.items():
            first_values, second_values = (np.array(answer[name]["sample"]) for answer in (one, two))
            apart = np.abs(first_values - second_values).max() / np.abs(first_values).max()
            before, after = first["wall_s"], two[name]["wall_s"]
            print(f"{name}: {before:.2f} s with one thread, {after:.2f} s with two, {before / after:.2f}x; "
                  f"relative difference {apart:.1e}")  # fmt: skip
