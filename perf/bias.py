"""Measure the bias of estimators of explained variance over numbers of stimuli and neuroids, and reliabilities.

Every data set has new stimuli, neuroids and noise. The responses are mixtures of five features with standard normal
weights, in four repetitions; reliabilities of the mean over them scatter around the given one (standard deviation .5 of
their log odds). The perfect model knows these features; the partial one knows 40 features, ten of which explain 60 % of
the signal. The result is results/bias.json, to which cells are added as they come; docs/explanation/ceilings quotes it.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from brainscore_core.benchmarks import explained_variance
from brainscore_core.errors import CeilingError
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.transform import average_repetition
from brainscore_vision import load_ceiling, load_metric
from brainscore_vision.metric_helpers.arrays.seeds import generator

RESULTS = Path(__file__).parent / "results" / "bias.json"
N_STIMULI = (50, 100, 200, 400)
N_NEUROIDS = (1, 5, 20, 40)
RELIABILITIES = (0.1, 0.2, 0.3, 0.5, 0.9)
N_REPETITIONS = 4
DATA_SETS = {1: 40, 5: 24, 20: 12, 40: 8}  # for each number of neuroids: many scatter less
TRUTH = {"perfect": 1.0, "partial": 0.6}
ESTIMATORS = ("published", "kfold", "r2er", "signal")


class Cell(NamedTuple):
    """One design."""

    model: str
    regression: str
    n_stimuli: int
    n_neuroids: int
    reliability: float

    @property
    def key(self) -> str:
        """Name in the results."""
        return " ".join(map(str, self))


def cells() -> Iterator[Cell]:
    """Yield the designs: all of them for ridge regression and a perfect model, some for others."""
    for n in N_STIMULI:
        for q in N_NEUROIDS:
            for reliability in RELIABILITIES:
                yield Cell("perfect", "ridge", n, q, reliability)
    for reliability in RELIABILITIES:
        for regression in ("pls", "ridgecv"):
            yield Cell("perfect", regression, 100, 20, reliability)
        for regression in ("ridge", "ridgecv"):
            for n in (100, 400):
                yield Cell("partial", regression, n, 20, reliability)


def simulate(cell: Cell, number: int) -> tuple[NeuroidAssembly, NeuroidAssembly]:
    """Return the features of a model and single repetitions of the responses."""
    rng = generator(number, "bias", *map(str, cell[2:]))
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
    return labelled(features[None]), labelled(repeated)


def labelled(values: np.ndarray) -> NeuroidAssembly:
    """Label values of shape (n_repetitions, n_stimuli, n_neuroids)."""
    repetition, stimulus = np.indices(values.shape[:2]).reshape(2, -1)
    coords = {
        "stimulus_id": ("presentation", [f"s{number:03d}" for number in stimulus]),
        "repetition": ("presentation", repetition),
        "neuroid_id": ("neuroid", [f"n{number:02d}" for number in range(values.shape[2])]),
    }
    return NeuroidAssembly(values.reshape(len(stimulus), -1), coords=coords, dims=["presentation", "neuroid"])


def estimates(cell: Cell, number: int) -> dict[str, float]:
    """Return what each estimator says is explained; NaN if it refuses."""
    source, repetitions = simulate(cell, number)
    average = average_repetition(repetitions)
    fewer = {"regression_kwargs": {"n_components": 5}} if cell.regression == "pls" else {}
    found = {}
    for name, metric, ceiling in (
        ("published", cell.regression, "internal_consistency"),
        ("kfold", f"{cell.regression}_kfold", "noise_ceiling"),
    ):
        options = {"n_resamples": 2} if ceiling == "noise_ceiling" else {}
        raw, top = load_metric(metric, **fewer)(source, average), load_ceiling(ceiling, **options)(repetitions)
        try:
            found[name] = float(explained_variance(raw, top))
        except CeilingError:
            found[name] = float("nan")
    for name in ("r2er", "signal"):
        found[name] = float(load_metric(f"{cell.regression}_{name}", **fewer)(source, repetitions))
    return found


def measure(cell: Cell, n_data_sets: int | None = None) -> dict[str, Any]:
    """Return, for each estimator, mean and standard deviation of its bias and how often it gave a number."""
    number = DATA_SETS[cell.n_neuroids] if n_data_sets is None else n_data_sets
    found = [estimates(cell, index) for index in range(number)]
    row: dict[str, Any] = {**cell._asdict(), "data_sets": number}
    for name in ESTIMATORS:
        values = np.array([each[name] for each in found])
        known = values[~np.isnan(values)] - TRUTH[cell.model]
        row[name] = {"estimable": round(len(known) / number, 3)}
        if len(known) > 1:
            numbers = {"bias": known.mean(), "median": np.median(known), "sd": known.std(ddof=1)}
            row[name] |= {key: round(float(value), 3) for key, value in numbers.items()}
    return row


def table(rows: dict[str, Any], cell_rows: list[list[Cell]], heads: list[str]) -> Iterator[str]:
    """Yield the lines of a Markdown table: the bias of each estimator, in parentheses the part that is estimable."""
    yield f"| {' | '.join(heads)} | {' | '.join(f'reliability {r}' for r in RELIABILITIES)} |"
    yield "|" + "---|" * (len(heads) + len(RELIABILITIES))
    for line in cell_rows:
        first = line[0]
        names = {"n": first.n_stimuli, "q": first.n_neuroids, "model": first.model, "regression": first.regression}
        texts = [_text(rows[cell.key]) if cell.key in rows else "" for cell in line]
        yield f"| {' | '.join(str(names[head]) for head in heads)} | {' | '.join(texts)} |"


def _text(row: dict[str, Any]) -> str:
    parts = []
    for name in ESTIMATORS:
        estimate = row[name]
        # Of a few that happen to pass, the mean says nothing.
        text = f"{estimate['bias']:+.2f}" if estimate["estimable"] >= 0.25 else "none"
        parts.append(text if estimate["estimable"] == 1 else f"{text} ({100 * estimate['estimable']:.0f} %)")
    return " / ".join(parts)


def lines(which: str) -> tuple[list[list[Cell]], list[str]]:
    """Return the rows of one of the two tables of the page, and the heads of what names them."""
    chosen: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells():
        main = (cell.model, cell.regression) == ("perfect", "ridge")
        if main == (which == "main") or (which == "others" and cell[:4] == ("perfect", "ridge", 100, 20)):
            chosen.setdefault(tuple(cell[:4]), []).append(cell)
    return list(chosen.values()), ["n", "q"] if which == "main" else ["model", "regression", "n"]


def main() -> None:
    """Measure what is not there yet and write it down, or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true", help="print the kept results as tables, run nothing")
    parser.add_argument("--again", action="store_true", help="measure what is there too")
    options = parser.parse_args()
    rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if options.table:
        for which in ("main", "others"):
            print("\n".join([*table(rows, *lines(which)), ""]))
        return
    for cell in cells():
        if options.again or cell.key not in rows:
            rows[cell.key] = measure(cell)
            print(cell.key, _text(rows[cell.key]), flush=True)
            written = RESULTS.with_suffix(".part")
            written.write_text(
                "{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in rows.items()) + "\n}\n"
            )
            written.replace(RESULTS)


if __name__ == "__main__":
    main()
