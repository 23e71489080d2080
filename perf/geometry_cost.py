"""Measure what the metrics of geometry cost, with their errors, beside the kernels they rest on.

python perf/geometry_cost.py                    # prints the ratios and writes results/geometry_cost.json
"""

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from metric_cases import neuroid_assembly, pair

from brainscore_vision import load_metric
from brainscore_vision.metric_helpers.arrays.geometry.cka import cka, linear_hsic
from brainscore_vision.metric_helpers.arrays.geometry.crossnobis import unbiased_distances
from brainscore_vision.metric_helpers.arrays.geometry.rdm import (
    correlation_distances,
    rdm_similarity,
    squared_distances,
)
from brainscore_vision.metric_helpers.labelled.repetitions import divide_repetitions

RESULT = Path(__file__).parent / "results" / "geometry_cost.json"
SIZES = ((500, 1000, 168, 4), (1000, 1000, 168, 10))  # stimuli, features, neuroids, repetitions


def seconds(call: Callable[[], object]) -> float:
    """Return the least processor time of three calls, after one that loads libraries."""
    call()
    times = []
    for _ in range(3):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Measure all."""
    found = {}
    for n, p, q, n_repetitions in SIZES:
        source, target = pair(n, p, q)
        rng = np.random.default_rng(1)
        noisy = target.values + rng.normal(size=(n_repetitions, n, q))
        repeated = neuroid_assembly(noisy.reshape(-1, q), n, n_repetitions)
        x, y = source.values, target.values
        centred = [side - side.mean(axis=0) for side in (x, y)]
        halves = [(noisy[h].mean(0), noisy[~h].mean(0)) for h in divide_repetitions(n_repetitions, most=20, seed=0)]
        cases = {
            "rdm_rho_a": (target, lambda x=x, y=y: rdm_similarity(correlation_distances(x), correlation_distances(y))),
            "procrustes": (target, lambda c=centred: np.linalg.svd(c[0].T @ c[1], full_matrices=False)),
            "rdm_whitened": (repeated, lambda x=x, z=noisy: (squared_distances(x), unbiased_distances(z))),
            "cka_noise_corrected": (
                repeated,
                lambda x=x, y=y, h=halves: (cka(x, y), [linear_hsic(*both) for both in h]),
            ),
        }
        for name, (measured, kernel) in cases.items():
            metric = load_metric(name)
            own = seconds(lambda metric=metric, source=source, measured=measured: metric(source, measured))
            below = seconds(kernel)
            found[f"{name}-{n}x{p}x{q}x{n_repetitions}"] = {"cpu_s": own, "kernel_cpu_s": below, "times": own / below}
            print(f"{name}, {n} stimuli: {own:.3f} s, {own / below:.1f} times its kernel ({below:.3f} s)", flush=True)
    RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
