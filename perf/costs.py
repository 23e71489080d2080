"""Measure what a metric costs beside the kernel or the metric it rests on, and what its error and interval add.

    python perf/costs.py            # everything, results/costs.json
    python perf/costs.py --only errors

Processor time of one thread, after a call that loads libraries.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before NumPy is imported

from functools import partial  # noqa: E402 - after the number of threads is set
from unittest import mock  # noqa: E402

import metric_cases  # noqa: E402
import numpy as np  # noqa: E402
from harness import cpu_s, keep, median_cpu_s, options_of, read  # noqa: E402

from brainscore_core.testing.synthetic import assembly_of  # noqa: E402
from brainscore_vision import load_ceiling, load_metric  # noqa: E402
from brainscore_vision.metric_helpers.arrays.geometry.cka import cka, linear_hsic  # noqa: E402
from brainscore_vision.metric_helpers.arrays.geometry.crossnobis import unbiased_distances  # noqa: E402
from brainscore_vision.metric_helpers.arrays.geometry.rdm import (  # noqa: E402
    correlation_distances,
    rdm_similarity,
    squared_distances,
)
from brainscore_vision.metric_helpers.arrays.influence import OnMedians  # noqa: E402
from brainscore_vision.metric_helpers.labelled.repetitions import divide_repetitions  # noqa: E402
from brainscore_vision.metric_helpers.regression import metrics as regression  # noqa: E402
from brainscore_vision.metrics.internal_consistency import ceiling as consistency  # noqa: E402
from brainscore_vision.metrics.noise_ceiling import ceiling as noise  # noqa: E402
from brainscore_vision.metrics.predictor_consistency import ceiling as predictor  # noqa: E402

GEOMETRY = ((500, 1000, 168, 4), (1000, 1000, 168, 10))  # stimuli, features, neuroids, repetitions
MAPPINGS = ((200, 1000, 50), (1000, 5000, 150))  # stimuli, features, neuroids
RESTS_ON = {
    "one_to_one": "neuron_to_neuron",
    "soft_matching": "neuron_to_neuron",
    "pls_per_neuron": "pls",
    "banded_ridge": "ridgecv",
}
LAYERS = 4


def _no_influence(_parts, n_stimuli, correlations, _slopes):
    n = correlations.shape[1]
    return OnMedians(np.zeros((n_stimuli, n)), np.arange(n), np.zeros(n), n - 1.0)


WITHOUT_ERRORS = {
    "internal_consistency": (consistency, {"median_of_correlations": _no_influence}),
    "predictor_consistency": (
        predictor,
        {"median_of_correlations": _no_influence, "correlation_slopes": lambda _function, r: np.zeros_like(r)},
    ),
    "noise_ceiling": (
        noise,
        {
            "reliability_influence": lambda responses, _n: np.zeros(responses.means.shape),
            "median_of_columns": lambda r, cells: OnMedians(cells, np.arange(len(r)), np.zeros(len(r)), len(r) - 1.0),
        },
    ),
}
"""Ceiling -> its module and replacements of its influences that cost nothing."""


def errors():
    """Return the time that errors and intervals add, at the size of MajajHong2015: 3200 stimuli, 168 neuroids."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((3200, 1000))
    responses = features[:, :168] + rng.standard_normal((3200, 168))
    stimuli = [f"s{number:04d}" for number in range(3200)]
    source, target = (assembly_of(values, stimulus_id=stimuli) for values in (features, responses))
    added = {}
    for name in ("ridge", "pls", "linear_predictivity"):
        metric = load_metric(name)
        whole = median_cpu_s(lambda metric=metric: metric(source, target))
        with mock.patch.object(regression, "note_uncertainty"):
            added[name] = whole / median_cpu_s(lambda metric=metric: metric(source, target)) - 1
    repeated = np.concatenate([responses[:800] + rng.standard_normal((800, 168)) for _ in range(10)])
    repetition = np.repeat(np.arange(10), 800)
    measured = assembly_of(repeated, stimulus_id=stimuli[:800] * 10, repetition=("presentation", repetition))
    for name, (module, replacements) in WITHOUT_ERRORS.items():
        ceiling = load_ceiling(name)
        whole = median_cpu_s(lambda ceiling=ceiling: ceiling(measured))
        with mock.patch.multiple(module, **replacements):
            added[name] = whole / median_cpu_s(lambda ceiling=ceiling: ceiling(measured)) - 1
    return added


def geometry():
    """Return the times of metrics of geometry, errors included, beside their kernels."""
    results = {}
    for n, p, q, n_repetitions in GEOMETRY:
        source, target = metric_cases.pair(n, p, q)
        noisy = target.values + np.random.default_rng(1).normal(size=(n_repetitions, n, q))
        repeated = metric_cases.neuroid_assembly(noisy.reshape(-1, q), n, n_repetitions)
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
            own = cpu_s(lambda metric=metric, source=source, measured=measured: metric(source, measured))
            results[f"{name}-{n}x{p}x{q}x{n_repetitions}"] = beside(own, "its kernel", cpu_s(kernel))
    return results


def mappings():
    """Return the times of metrics that match neuroids, or choose for each, beside the metric they rest on."""
    results = {}
    for n, p, q in MAPPINGS:
        source, target = metric_cases.pair(n, p, q)
        source = source.assign_coords(layer=("neuroid", np.arange(p) * LAYERS // p))
        for name, below in RESTS_ON.items():
            own, kernel = (median_cpu_s(partial(load_metric(each), source, target), 1) for each in (name, below))
            results[f"{name}-{n}x{p}x{q}"] = beside(own, below, kernel)
    return results


def beside(own, what, kernel):
    """Return a time beside that of what it rests on."""
    return {"cpu_s": own, "rests_on": what, "of_which_cpu_s": kernel, "times": own / kernel}


def main():
    """Measure and print."""
    kinds = {"errors": errors, "geometry": geometry, "mappings": mappings}
    options = options_of(__doc__, kinds)
    results = read("costs") if options.only else {}
    for kind in options.only or kinds:
        results[kind] = kinds[kind]()
        for name, value in results[kind].items():
            cost = value if isinstance(value, float) else value["times"]
            print(f"{kind}, {name}: {cost:.2f} times", flush=True)
    keep("costs", results)


if __name__ == "__main__":
    main()
