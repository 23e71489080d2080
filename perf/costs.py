"""Measure what a metric costs beside the kernel or the metric it rests on, and what its error and interval add.

Processor time of one thread, after a call that loads libraries.
"""

import statistics
from functools import partial
from unittest import mock

import made_up_data
import numpy as np
from harness import keep, options_of, read, size, times_of, with_one_thread

from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_ceiling, load_metric
from brainscore_vision.metric_helpers.arrays.geometry.cka import cka, linear_hsic
from brainscore_vision.metric_helpers.arrays.geometry.crossnobis import unbiased_distances
from brainscore_vision.metric_helpers.arrays.geometry.rdm import (
    correlation_distances,
    rdm_similarity,
    squared_distances,
)
from brainscore_vision.metric_helpers.arrays.influence import OnMedians
from brainscore_vision.metric_helpers.labelled.repetitions import divide_repetitions
from brainscore_vision.metric_helpers.regression import metrics as regression
from brainscore_vision.metrics.internal_consistency import ceiling as consistency
from brainscore_vision.metrics.noise_ceiling import ceiling as noise
from brainscore_vision.metrics.predictor_consistency import ceiling as predictor

GEOMETRY = ((500, 1000, 168, 4), (1000, 1000, 168, 10))[: size(2, 1)]  # stimuli, features, neuroids, repetitions
MAPPINGS = ((200, 1000, 50), (1000, 5000, 150))[: size(2, 1)]  # stimuli, features, neuroids
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


def median_s(call, calls=5):
    return statistics.median(times_of(call, calls))


def errors():
    """Return the time that errors and intervals add, at the size of MajajHong2015: 3200 stimuli, 168 neuroids."""
    rng, n = np.random.default_rng(0), size(3200, 320)
    features = rng.standard_normal((n, 1000))
    responses = features[:, :168] + rng.standard_normal((n, 168))
    stimuli = [f"s{number:04d}" for number in range(n)]
    source, target = (assembly_of(values, stimulus_id=stimuli) for values in (features, responses))
    added = {}
    for name in ("ridge", "pls", "linear_predictivity"):
        score = partial(load_metric(name), source, target)
        whole = median_s(score)
        with mock.patch.object(regression, "note_uncertainty"):
            added[name] = whole / median_s(score) - 1
    m = n // 4
    repeated = np.concatenate([responses[:m] + rng.standard_normal((m, 168)) for _ in range(10)])
    measured = assembly_of(repeated, stimulus_id=stimuli[:m] * 10, repetition=np.repeat(np.arange(10), m))
    for name, (module, replacements) in WITHOUT_ERRORS.items():
        estimate = partial(load_ceiling(name), measured)
        whole = median_s(estimate)
        with mock.patch.multiple(module, **replacements):
            added[name] = whole / median_s(estimate) - 1
    return added


def geometry():
    """Return the times of metrics of geometry, errors included, beside their kernels."""
    results = {}
    for n, p, q, n_repetitions in GEOMETRY:
        source, target = made_up_data.pair(n, p, q)
        noisy = target.values + np.random.default_rng(1).normal(size=(n_repetitions, n, q))
        repeated = made_up_data.neuroid_assembly(noisy.reshape(-1, q), n, n_repetitions)
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
            own = min(times_of(partial(metric, source, measured)))
            results[f"{name}-{n}x{p}x{q}x{n_repetitions}"] = beside(own, "its kernel", min(times_of(kernel)))
    return results


def mappings():
    """Return the times of metrics that match neuroids, or choose for each, beside the metric they rest on."""
    results = {}
    for n, p, q in MAPPINGS:
        source, target = made_up_data.pair(n, p, q)
        source = source.assign_coords(layer=("neuroid", np.arange(p) * LAYERS // p))
        for name, below in RESTS_ON.items():
            own, kernel = (median_s(partial(load_metric(metric), source, target), 1) for metric in (name, below))
            results[f"{name}-{n}x{p}x{q}"] = beside(own, below, kernel)
    return results


def beside(own, what, kernel):
    return {"cpu_s": own, "rests_on": what, "of_which_cpu_s": kernel, "times": own / kernel}


if __name__ == "__main__":
    with_one_thread()
    KINDS = {"errors": errors, "geometry": geometry, "mappings": mappings}
    options = options_of(__doc__, only=([], f"{', '.join(KINDS)}; may be repeated"))
    results = read("costs") if options.only else {}
    for kind in options.only or KINDS:
        results[kind] = KINDS[kind]()
        for name, value in results[kind].items():
            print(f"{kind}, {name}: {value if isinstance(value, float) else value['times']:.2f} times", flush=True)
    keep("costs", results)
