"""Measure bias and coverage of regressions that choose penalties, for models of noise and weak models.

Every data set has new stimuli, neuroids and noise: ten features in two bands, whose best weights predict each neuroid
with the given correlation. The truth is what ten folds can estimate: the correlation over new stimuli of a regression
fitted to n(1 - 1/k) stimuli, averaged over fits and neuroids. ``ridgecv_kfold`` divides stimuli once, the default is
three times. The page docs/explanation/ceilings shows the result.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from harness import markdown
from simulations import Row, Simulation, column, described

from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_metric
from brainscore_vision.metric_helpers.arrays.correlation import pearson_columns
from brainscore_vision.metric_helpers.arrays.regression.banded import band_weights
from brainscore_vision.metric_helpers.arrays.seeds import generator
from brainscore_vision.metric_helpers.regression.estimators import BandedRidge

METRICS: dict[str, dict[str, object]] = {"ridgecv_kfold": {"repeats": 1}, "ridgecv": {}, "banded_ridge": {}}
N_STIMULI = (20, 40, 60, 80, 100, 200)
N_NEUROIDS = (1, 3, 10, 40)
PREDICTIVITIES = (0.0, 0.1, 0.3, 0.6)
N_FEATURES, N_NEW = 10, 500
BANDS = np.arange(N_FEATURES) // (N_FEATURES // 2)


def estimate(cell: str, seed: int) -> Row:
    """Return the score and interval of each number of neuroids, and the correlation of one fit over new stimuli."""
    metric, n, predictivity = cell.split()[0], int(cell.split()[1]), float(cell.split()[2])
    rng = generator(seed, "weak models", n, int(100 * predictivity))
    x = rng.standard_normal((n + N_NEW, N_FEATURES))
    weights = rng.standard_normal((N_FEATURES, max(N_NEUROIDS)))
    y = predictivity * x @ (weights / np.linalg.norm(weights, axis=0))
    y += np.sqrt(1 - predictivity**2) * rng.standard_normal(y.shape)
    trained, new = np.arange(n - n // min(10, n // 4)), np.arange(n, n + N_NEW)
    regression = load_metric(metric.removesuffix("_kfold")).regression.estimator
    if metric == "banded_ridge":
        regression = BandedRidge(BANDS, band_weights(2, 10, 0))
    (prediction,) = regression.predict_splits(x, y, [(trained, new)])
    row: Row = {"truth": float(np.nanmean(pearson_columns(prediction, y[new])))}
    ids = [f"s{number:03d}" for number in range(n)]
    for q in N_NEUROIDS:
        source = assembly_of(x[:n], stimulus_id=ids, object_name=None, layer=("neuroid", BANDS.astype(str)))
        target = assembly_of(y[:n, :q], stimulus_id=ids, object_name=None)
        score = load_metric(metric, **METRICS[metric])(source, target)
        row |= {f"{name} {q}": value for name, value in described(score).items()}
    return row


def summary(cell: str, rows: Sequence[Row]) -> Row:  # noqa: ARG001 -- simulations pass it
    """Return the truth, and for each number of neuroids the bias, its standard error and the coverage of the truth."""
    truth = float(column(rows, "truth").mean())
    result: Row = {"truth": truth}
    for q in N_NEUROIDS:
        score, low, high = (column(rows, f"{name} {q}") for name in ("score", "low", "high"))
        known = np.isfinite(low)
        result[str(q)] = {
            "bias": float(score.mean() - truth),
            "bias_error": float(score.std(ddof=1) / np.sqrt(len(score))),
            "coverage": float(np.mean((low <= truth) & (truth <= high), where=known)) if known.any() else None,
        }
    return result


def table(results: Mapping[str, Row]) -> str:
    """Return bias ± standard error, and in brackets the coverage, as Markdown."""

    def entry(cell: Mapping[str, float]) -> str:
        coverage = "" if cell["coverage"] is None else f" ({cell['coverage']:.2f})"
        return f"{cell['bias']:+.3f} ± {cell['bias_error']:.3f}{coverage}"

    return markdown(
        ["metric", "n", "predictivity", "truth", *(f"q = {q}" for q in N_NEUROIDS)],
        (
            [f"`{name}`", *rest, f"{row['truth']:.3f}", *(entry(row[str(q)]) for q in N_NEUROIDS)]
            for name, *rest in map(str.split, SIMULATION.cells)
            if (row := results.get(" ".join((name, *rest))))
        ),
    )


SIMULATION = Simulation(
    "weak_models",
    {
        f"{metric} {n} {predictivity}": {100: 50, 200: 20}.get(n, 150) if metric == "banded_ridge" else 150
        for metric in METRICS
        for n in N_STIMULI
        for predictivity in PREDICTIVITIES
    },
    estimate,
    summary,
    table,
)

if __name__ == "__main__":
    SIMULATION.main(__doc__)
