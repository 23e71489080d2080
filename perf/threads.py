"""Measure what a second thread gains in the Gram step and in all of a PLS metric, and how far predictions differ.

python perf/threads.py --stimuli 3200 --features 25088          # needs two cores that nothing else uses
"""

import sys

from harness import ask, options_of, say, timed

NEUROIDS, SPLITS = 168, 10


def measure(n, p, calls):
    """Return wall-clock time and some values of each step."""
    import numpy as np

    from brainscore_vision.metric_helpers.arrays.regression.gram import centred_gram
    from brainscore_vision.metric_helpers.arrays.regression.pls import pls_predict_splits

    rng = np.random.default_rng(0)
    source = rng.standard_normal((n, p), dtype=np.float32)
    target = source[:, :50] @ rng.normal(size=(50, NEUROIDS)) + rng.normal(size=(n, NEUROIDS))
    splits = [(np.delete(np.arange(n), part), part) for part in np.array_split(np.arange(n), SPLITS)]
    steps = {
        "gram": lambda: centred_gram(source),
        "pls": lambda: np.concatenate(pls_predict_splits(source, target, splits)),
    }
    result = {}
    for name, step in steps.items():
        times = []
        for _ in range(calls):
            with timed() as spent:
                values = step()
            times.append(spent["wall_s"])
        result[name] = {"wall_s": min(times), "sample": values[:: n // 10, 0].tolist()}
    return result


def main():
    """Measure and print."""
    more = [("--stimuli", {"type": int, "default": 3_200}), ("--features", {"type": int, "default": 25_088})]
    options = options_of(__doc__, (), calls=3, more=more)
    if options.measure:
        say(measure(*map(int, options.measure)))
        return
    sizes = map(str, (options.stimuli, options.features, options.calls))
    command = (sys.executable, __file__, "--measure", *sizes)
    one, two = (ask(*command, threads=number) for number in (1, 2))
    for name in one:
        scale = max(map(abs, one[name]["sample"]))
        apart = max(abs(a - b) for a, b in zip(one[name]["sample"], two[name]["sample"], strict=True)) / scale
        walls = [answer[name]["wall_s"] for answer in (one, two)]
        print(f"{name}: {walls[0]:.2f} s with one thread, {walls[1]:.2f} s with two, {walls[0] / walls[1]:.2f}x; "
              f"relative difference {apart:.1e}")  # fmt: skip


if __name__ == "__main__":
    main()
