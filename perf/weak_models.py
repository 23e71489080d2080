"""Measure bias and coverage of ``ridgecv_kfold`` for models of noise and weak models.

Every data set has new stimuli, neuroids and noise: ten features, whose best weights predict each neuroid with the given
correlation. The truth is what ten folds can estimate: the correlation over new stimuli of a regression fitted to n(1 -
1/k) stimuli, averaged over fits and neuroids. Stimuli are divided once, the default is three times. The page
docs/explanation/ceilings shows the result.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from harness import markdown
from simulations import Row, Simulation, column, described

from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_metric
from brainscore_vision.metric_helpers.arrays.correlation import pearson_columns
from brainscore_vision.metric_helpers.arrays.seeds import generator

N_STIMULI = (20, 40, 100, 200)
N_NEUROIDS = (1, 3, 10, 40)
PREDICTIVITIES = (0.0, 0.1, 0.3, 0.6)
N_FEATURES, N_NEW = 10, 500


def estimate(cell: str, seed: int) -> Row:
    """Return the score and interval of each number of neuroids, and the correlation of one fit over new stimuli."""
    n, predictivity = int(cell.split()[0]), float(cell.split()[1])
    rng = generator(seed, "weak models", n, int(100 * predictivity))
    x = rng.standard_normal((n + N_NEW, N_FEATURES))
    weights = rng.standard_normal((N_FEATURES, max(N_NEUROIDS)))
    y = predictivity * x @ (weights / np.linalg.norm(weights, axis=0))
    y += np.sqrt(1 - predictivity**2) * rng.standard_normal(y.shape)
    trained, new = np.arange(n - n // min(10, n // 4)), np.arange(n, n + N_NEW)
    (prediction,) = load_metric("ridgecv").regression.estimator.predict_splits(x, y, [(trained, new)])
    row: Row = {"truth": float(np.nanmean(pearson_columns(prediction, y[new])))}
    ids = [f"s{number:03d}" for number in range(n)]
    for q in N_NEUROIDS:
        sides = (assembly_of(values[:n], stimulus_id=ids, object_name=None) for values in (x, y[:, :q]))
        row |= {
            f"{name} {q}": value for name, value in described(load_metric("ridgecv_kfold", repeats=1)(*sides)).items()
        }
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
        ["n", "predictivity", "truth", *(f"q = {q}" for q in N_NEUROIDS)],
        (
            [*cell.split(), f"{row['truth']:.3f}", *(entry(row[str(q)]) for q in N_NEUROIDS)]
            for cell, row in results.items()
        ),
    )


SIMULATION = Simulation(
    "weak_models",
    {f"{n} {predictivity}": 150 for n in N_STIMULI for predictivity in PREDICTIVITIES},
    estimate,
    summary,
    table,
)

if __name__ == "__main__":
    SIMULATION.main(__doc__)
