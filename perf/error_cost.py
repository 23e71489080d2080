"""Measure what errors and intervals cost: the processor time of metrics and ceilings with them and without."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np

from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_ceiling, load_metric
from brainscore_vision.metric_helpers.arrays.influence import OnMedians
from brainscore_vision.metric_helpers.regression import metrics as regression
from brainscore_vision.metrics.internal_consistency import ceiling as consistency
from brainscore_vision.metrics.noise_ceiling import ceiling as noise
from brainscore_vision.metrics.predictor_consistency import ceiling as predictor

RESULT = Path(__file__).parent / "results" / "error_cost.json"
REPEATS = 5


def seconds(call: Callable[[], object]) -> float:
    """Return the median processor time of a call."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return statistics.median(times)


def _nothing(_parts: object, n_stimuli: int, correlations: np.ndarray, _slopes: object) -> object:
    n = correlations.shape[1]
    return OnMedians(np.zeros((n_stimuli, n)), np.arange(n), np.zeros(n), n - 1.0)


CEILINGS = {
    "internal_consistency": (consistency, {"median_of_correlations": _nothing}),
    "predictor_consistency": (
        predictor,
        {"median_of_correlations": _nothing, "correlation_slopes": lambda _function, r: np.zeros_like(r)},
    ),
    "noise_ceiling": (
        noise,
        {
            "reliability_influence": lambda responses, _n: np.zeros(responses.means.shape),
            "median_of_columns": lambda r, cells: OnMedians(cells, np.arange(len(r)), np.zeros(len(r)), len(r) - 1.0),
        },
    ),
}
"""Modules of ceilings and what stands for their influences, at no cost."""


def main() -> None:
    """Measure the size of MajajHong2015: 3200 stimuli, 168 neuroids, a model of 1000 features, ten repetitions."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((3200, 1000))
    responses = features[:, :168] + rng.standard_normal((3200, 168))
    stimuli = [f"s{number:04d}" for number in range(3200)]
    source, target = (assembly_of(values, stimulus_id=stimuli) for values in (features, responses))
    found = {}
    for name in ("ridge", "pls", "linear_predictivity"):
        metric = load_metric(name)
        metric(source, target)
        with_error = seconds(lambda metric=metric: metric(source, target))
        with mock.patch.object(regression, "note_uncertainty"):
            found[name] = with_error / seconds(lambda metric=metric: metric(source, target)) - 1
    repeated = np.concatenate([responses[:800] + rng.standard_normal((800, 168)) for _ in range(10)])
    repetition = np.repeat(np.arange(10), 800)
    measured = assembly_of(repeated, stimulus_id=stimuli[:800] * 10, repetition=("presentation", repetition))
    for name, (module, patches) in CEILINGS.items():
        ceiling = load_ceiling(name)
        with_error = seconds(lambda ceiling=ceiling: ceiling(measured))
        with mock.patch.multiple(module, **patches):
            found[name] = with_error / seconds(lambda ceiling=ceiling: ceiling(measured)) - 1
    for name, cost in found.items():
        print(f"{name}: errors and interval cost {cost:.2f} times the score")
    RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
