"""Measure what a metric that matches neuroids, or chooses for each, costs beside the metric it rests on.

Processor time of one thread, the median of five calls after one that loads libraries.
"""

import statistics
from functools import partial

import numpy as np
from harness import keep, options_of, size, times_of, with_one_thread
from made_up_data import pair

from brainscore_vision import load_metric

SIZES = ((200, 1000, 50), (1000, 5000, 150))[: size(2, 1)]  # stimuli, features, neuroids
RESTS_ON = {
    "one_to_one": "neuron_to_neuron",
    "soft_matching": "neuron_to_neuron",
    "pls_per_neuron": "pls",
    "banded_ridge": "ridgecv",
}
LAYERS = 4

if __name__ == "__main__":
    with_one_thread()
    options_of(__doc__)
    results = {}
    for n, p, q in SIZES:
        source, target = pair(n, p, q)
        source = source.assign_coords(layer=("neuroid", np.arange(p) * LAYERS // p))
        for name, below in RESTS_ON.items():
            calls = (partial(load_metric(metric), source, target) for metric in (name, below))
            own, kernel = (statistics.median(times_of(call, 5)) for call in calls)
            results[f"{name}-{n}x{p}x{q}"] = {"cpu_s": own, "rests_on": below, "of_which_cpu_s": kernel}
            print(f"{name}-{n}x{p}x{q}: {own / kernel:.2f} times {below}", flush=True)
    keep("costs", results)
