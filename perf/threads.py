"""Measure what a second thread gains in the Gram step and in the whole of a PLS metric.

    python perf/threads.py --stimuli 3200 --features 25088

Prints wall-clock times with one and two threads, each in a process of its own, and how far predictions differ. It needs
two cores that nothing else uses.
"""

import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np

NEUROIDS = 168
SPLITS = 10


def measure(n, p, calls):
    """Measure in this process and print one line of JSON."""
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
        seconds = []
        for _ in range(calls):
            start = time.perf_counter()
            values = step()
            seconds.append(time.perf_counter() - start)
        result[name] = {"wall_s": min(seconds), "sample": values[:: n // 10, 0].tolist()}
    print(json.dumps(result))


def main():
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description="Measure what a second thread gains.")
    parser.add_argument("--stimuli", type=int, default=3_200)
    parser.add_argument("--features", type=int, default=25_088)
    parser.add_argument("--calls", type=int, default=3, help="the best of so many counts")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.stimuli, arguments.features, arguments.calls)
        return
    results = []
    for number in ("1", "2"):
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), number)
        answer = subprocess.run(
            [sys.executable, __file__, "--measure", *sys.argv[1:]],
            env={**os.environ, **threads},
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
        results.append(json.loads(answer.stdout))
    for name in results[0]:
        one, two = (result[name] for result in results)
        scale = np.abs(one["sample"]).max()
        print(
            f"{name}: {one['wall_s']:.2f} s with one thread, {two['wall_s']:.2f} s with two, "
            f"{one['wall_s'] / two['wall_s']:.2f}x; "
            f"relative difference {np.abs(np.subtract(one['sample'], two['sample'])).max() / scale:.1e}"
        )


if __name__ == "__main__":
    main()
