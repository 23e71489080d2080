"""Check that the page about ceilings shows the stored results on bias, and that its conclusions follow from them."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]
RESULTS = json.loads((ROOT / "perf" / "results" / "bias.json").read_text())
FIELDS = ("model", "regression", "n_stimuli", "n_neuroids", "reliability")


def row_of(cell, result):
    model, regression, *sizes = cell.split()
    return {**dict(zip(FIELDS, (model, regression, *map(float, sizes)), strict=True)), **result}


ROWS = [row_of(*item) for item in RESULTS.items()]
PAGE = (ROOT / "docs" / "explanation" / "ceilings.md").read_text()


@pytest.fixture
def bias(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "perf"))
    monkeypatch.delitem(sys.modules, "bias", raising=False)
    import bias

    yield bias
    for name in ("bias", "simulations", "harness"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("which", ["main", "others"])
def test_the_page_shows_tables_of_the_stored_results(bias, which):
    assert {cell: row["n"] for cell, row in RESULTS.items()} == bias.SIMULATION.cells
    assert len(bias.table(RESULTS, which).splitlines()) == 2 + {"main": 16, "others": 7}[which]
    assert f"{{measured}} bias {which}\n" in PAGE


def chosen(estimator, **wanted):
    rows = [row for row in ROWS if all(row[name] in values for name, values in wanted.items())]
    assert rows
    return np.array([row[estimator]["bias"] for row in rows])


MAIN = {"model": ["perfect"], "regression": ["ridge"]}


def test_only_the_share_of_signal_is_nearly_unbiased():
    usual = {**MAIN, "n_neuroids": [20, 40], "reliability": [0.3, 0.5, 0.9]}
    assert np.abs(chosen("signal", **usual)).max() < 0.07
    assert np.abs(chosen("signal", **usual)).mean() < 0.02
    few = {**usual, "n_stimuli": [50], "reliability": [0.3]}
    assert chosen("kfold", **few).max() < -0.15  # smaller than before folds had equal weight
    assert chosen("r2er", **few).max() < -0.2


def test_the_share_of_signal_is_rarely_estimable_without_signal():
    faint = {**MAIN, "reliability": [0.1], "n_neuroids": [20, 40]}
    rows = [row for row in ROWS if all(row[name] in values for name, values in faint.items())]
    assert max(row["signal"]["estimable"] for row in rows) < 0.25
    assert min(row["published"]["estimable"] for row in rows) == 1


def test_a_chosen_penalty_lowers_both_bias_and_spread():
    for n, less in ((100, 0.05), (400, 0.1)):
        one, other = (
            next(row["signal"] for row in ROWS if tuple(row.values())[:5] == ("partial", name, n, 20, 0.2))
            for name in ("ridge", "ridgecv")
        )
        assert one["bias"] > other["bias"] + less
        assert one["sd"] > other["sd"]


def test_one_cell_of_the_simulation_runs(bias):
    cell = "perfect ridge 50 5 0.9"
    row = bias.summary(cell, [bias.estimate(cell, seed) for seed in range(2)])
    assert row["signal"]["estimable"] == 1
    assert abs(row["signal"]["bias"]) < 0.15
    assert re.fullmatch(r"[+-]\d\.\d\d / [+-]\d\.\d\d / [+-]\d\.\d\d / [+-]\d\.\d\d", bias.entry(row))


def test_weak_models_are_covered_and_nearly_unbiased():
    results = json.loads((ROOT / "perf" / "results" / "weak_models.json").read_text())
    assert "{measured} weak_models\n" in PAGE
    found = [(*name.split()[:2], row) for name, row in results.items()]
    cells = [(int(n), int(q), row[q]) for name, n, row in found if name == "ridgecv_kfold" for q in ("3", "10", "40")]
    assert len(cells) == 24 * 3
    assert min(cell["coverage"] for _, _, cell in cells) >= 0.93
    assert max(abs(cell["bias"]) for n, _, cell in cells if n >= 100) < 0.0125
    assert max(abs(cell["bias"]) for _, q, cell in cells if q > 3) < 0.025
    noise = [row[q] for cell, row in results.items() if cell.endswith(" 0.0") for q in ("10", "40")]
    assert len(noise) == 3 * 6 * 2
    assert max(abs(cell["bias"]) for cell in noise) < 0.025
    known = [row[q]["coverage"] for row in results.values() if row["n"] >= 150 for q in ("3", "10", "40")]
    assert min(known) >= 0.93
