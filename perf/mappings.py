"""Measure what the metrics that match neuroids or choose for each of them cost beside the metric they rest on.

python perf/mappings.py                    # prints a table and writes results/mappings.json
"""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path

import metric_cases
import numpy as np

from brainscore_vision import load_metric

RESULT = Path(__file__).parent / "results" / "mappings.json"
SIZES = {(200, 1000, 50): 3, (1000, 5000, 150): 1}  # stimuli, features, neuroids: how often it is measured
# metric: its arguments, and what it rests on
RESTS_ON = {
    "one_to_one": ({}, "neuron_to_neuron"),
    "soft_matching": ({}, "neuron_to_neuron"),
    "pls_per_neuron": ({}, "pls"),
    "banded_ridge": ({}, "ridgecv"),
}
LAYERS = 4


def seconds(name, arguments, source, target, repeats):
    """Return the median processor time of a score; the first, which loads libraries, does not count."""
    metric = load_metric(name, **arguments)
    metric(*layered(90, 40, 5))
    times = []
    for _ in range(repeats):
        start = time.process_time()
        metric(source, target)
        times.append(time.process_time() - start)
    return statistics.median(times)


def layered(n, p, q):
    """Make features in some layers of the same size, and neuroids."""
    source, target = metric_cases.pair(n, p, q)
    return [source.assign_coords(layer=("neuroid", np.arange(p) * LAYERS // p)), target]


def main():
    """Measure all."""
    found = {}
    for sizes, repeats in SIZES.items():
        source, target = layered(*sizes)
        for name, (arguments, below) in RESTS_ON.items():
            own = seconds(name, arguments, source, target, repeats)
            kernel = seconds(below, {}, source, target, repeats)
            case = f"{name}-{'x'.join(map(str, sizes))}"
            found[case] = {"cpu_s": own, "rests_on": below, "of_which_cpu_s": kernel, "times": own / kernel}
            print(f"{case}: {own:.2f} s, {own / kernel:.1f} times {below} ({kernel:.2f} s)", flush=True)
    RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
