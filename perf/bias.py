"""Measure the bias of estimators of explained variance over numbers of stimuli and neuroids, and reliabilities.

Every data set has new stimuli, neuroids and noise. The responses are mixtures of five features with standard normal
weights, in four repetitions; reliabilities of the mean over them scatter around the given one (standard deviation .5 of
their log odds). The perfect model knows these features; the partial one knows 40 features, ten of which explain 60 % of
the signal. The page docs/explanation/ceilings shows the result.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from harness import markdown
from simulations import Row, Simulation, column, labelled

from brainscore_core.benchmarks import explained_variance
from brainscore_core.errors import CeilingError
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.transform import average_repetition
from brainscore_vision import load_ceiling, load_metric
from brainscore_vision.metric_helpers.arrays.seeds import generator

RELIABILITIES = (0.1, 0.2, 0.3, 0.5, 0.9)
N_REPETITIONS = 4
DATA_SETS = {1: 40, 5: 24, 20: 12, 40: 8}  # for each number of neuroids: many scatter less
TRUTH = {"perfect": 1.0, "partial": 0.6}
ESTIMATORS = ("published", "kfold", "r2er", "signal")


class Cell(NamedTuple):
    """A design."""

    model: str
    regression: str
    n_stimuli: int
    n_neuroids: int
    reliability: float


def cells() -> Iterator[Cell]:
    """Yield the designs: all of them for ridge regression and a perfect model, some for others."""
    for n in (50, 100, 200, 400):
        for q in DATA_SETS:
            for reliability in RELIABILITIES:
                yield Cell("perfect", "ridge", n, q, reliability)
    for reliability in RELIABILITIES:
        for regression in ("pls", "ridgecv"):
            yield Cell("perfect", regression, 100, 20, reliability)
        for regression in ("ridge", "ridgecv"):
            for n in (100, 400):
                yield Cell("partial", regression, n, 20, reliability)


CELLS = {" ".join(map(str, cell)): cell for cell in cells()}


def simulate(cell: Cell, seed: int) -> tuple[NeuroidAssembly, NeuroidAssembly]:
    """Return the features of a model and single repetitions of the responses."""
    rng = generator(seed, "bias", *map(str, cell[2:]))
    n, q, truth = cell.n_stimuli, cell.n_neuroids, TRUTH[cell.model]
    features = rng.standard_normal((n, 5 if cell.model == "perfect" else 40))
    sources = [(np.sqrt(truth), features[:, :5] if truth == 1 else features[:, :10])]
    if truth < 1:
        sources.append((np.sqrt(1 - truth), rng.standard_normal((n, 10))))
    signal = np.zeros((n, q))
    for weight, source in sources:
        mixture = rng.standard_normal((source.shape[1], q))
        signal += weight * source @ (mixture / np.linalg.norm(mixture, axis=0))
    odds = cell.reliability / (1 - cell.reliability) * np.exp(0.5 * rng.standard_normal(q))
    noise = np.sqrt(N_REPETITIONS / odds)
    repeated = signal + noise * rng.standard_normal((N_REPETITIONS, n, q))
    return labelled(features, n, region=None), labelled(repeated.reshape(-1, q), n, region=None)


def estimate(name: str, seed: int) -> Row:
    """Return the share that each estimator says is explained; None if it refuses."""
    cell = CELLS[name]
    source, repetitions = simulate(cell, seed)
    average = average_repetition(repetitions)
    fewer = {"regression_kwargs": {"n_components": 5}} if cell.regression == "pls" else {}
    shares: dict[str, float] = {}
    for estimator, metric, ceiling, options in (
        ("published", cell.regression, "internal_consistency", {}),
        ("kfold", f"{cell.regression}_kfold", "noise_ceiling", {"n_resamples": 2}),
    ):
        raw, top = load_metric(metric, **fewer)(source, average), load_ceiling(ceiling, **options)(repetitions)
        try:
            shares[estimator] = float(explained_variance(raw, top))
        except CeilingError:
            shares[estimator] = np.nan
    for estimator in ("r2er", "signal"):
        shares[estimator] = float(load_metric(f"{cell.regression}_{estimator}", **fewer)(source, repetitions))
    return {estimator: share if np.isfinite(share) else None for estimator, share in shares.items()}


def summary(name: str, rows: Sequence[Row]) -> Row:
    """Return, for each estimator, mean, median and standard deviation of its bias and how often it gave a number."""
    result: dict[str, dict[str, float]] = {}
    for estimator in ESTIMATORS:
        shares = column(rows, estimator)
        biases = shares[~np.isnan(shares)] - TRUTH[CELLS[name].model]
        result[estimator] = {"estimable": round(len(biases) / len(rows), 3)}
        if len(biases) > 1:
            numbers = {"bias": biases.mean(), "median": np.median(biases), "sd": biases.std(ddof=1)}
            result[estimator] |= {key: round(float(value), 3) for key, value in numbers.items()}
    return result


def entry(row: Mapping[str, Mapping[str, float]]) -> str:
    """Return the bias of each estimator, in parentheses the part that is estimable."""
    parts = []
    for estimator in ESTIMATORS:
        share = row[estimator]["estimable"]
        # Of a few that happen to pass, the mean says nothing.
        text = f"{row[estimator]['bias']:+.2f}" if share >= 0.25 else "none"
        parts.append(text if share == 1 else f"{text} ({100 * share:.0f} %)")
    return " / ".join(parts)


def table(results: Mapping[str, Row], name: str = "main") -> str:
    rows: dict[tuple[object, ...], list[str]] = {}
    for key, cell in CELLS.items():
        is_main = cell[:2] == ("perfect", "ridge")
        if is_main == (name == "main") or (name == "others" and cell[:4] == ("perfect", "ridge", 100, 20)):
            head = cell[2:4] if name == "main" else cell[:3]
            rows.setdefault(head, []).append(entry(results[key]) if key in results else "")
    heads = ["n", "q"] if name == "main" else ["model", "regression", "n"]
    heads += [f"reliability {reliability}" for reliability in RELIABILITIES]
    return markdown(heads, ([*map(str, head), *cells] for head, cells in rows.items()))


SIMULATION = Simulation(
    "bias",
    {name: DATA_SETS[cell.n_neuroids] for name, cell in CELLS.items()},
    estimate,
    summary,
    table,
    tables=("main", "others"),
)

if __name__ == "__main__":
    SIMULATION.main(__doc__)
