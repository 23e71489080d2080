import dataclasses
import json
import sys
from pathlib import Path

import pytest

SCRIPT = "coverage_behaviour.py"
ROOT = Path(__file__).parents[4]
RESULTS = json.loads((ROOT / "perf" / "results" / "coverage_behaviour.json").read_text())
PAGE = (ROOT / "docs" / "explanation" / "uncertainty.md").read_text()


def test_the_page_shows_the_stored_results(coverage):
    assert "{measured} coverage_behaviour\n" in PAGE
    assert {cell: row["n"] for cell, row in RESULTS.items()}.items() <= coverage.SIMULATION.cells.items()


def test_most_intervals_have_nominal_coverage():
    held = [cell["coverage"] for cell in RESULTS.values()]
    assert min(held) > 0.8  # the page says which ones, and why
    assert sum(0.93 <= each <= 0.97 for each in held) > len(held) / 2


def test_complete_cells_are_kept_and_others_measured(coverage, tmp_path, monkeypatch):
    """One cell has as many data sets as requested, the other has fewer."""
    stored, written = {"A: accuracy": {"n": 2}, "B: accuracy": {"n": 1}}, {}
    shared = sys.modules[coverage.Simulation.__module__]
    monkeypatch.setattr(shared, "read", lambda name: dict(stored))
    monkeypatch.setattr(shared, "keep", lambda name, results, **_: written.update(results))
    cells = dict.fromkeys(stored, 2)
    simulation = dataclasses.replace(coverage.SIMULATION, cells=cells, table=lambda results: "")
    monkeypatch.setattr(sys, "argv", ["", "--scratch", str(tmp_path / "scratch"), "--processes", "1"])
    simulation.main("")
    rows = [coverage.estimate("B: accuracy", seed) for seed in range(2)]
    assert written == {**stored, "B: accuracy": {"n": 2, **coverage.summary("B: accuracy", rows)}}


@pytest.mark.slow  # 60 simulated experiments for each
@pytest.mark.parametrize(
    "cell",
    [
        *("A: error_consistency", "B: error_consistency ceiling", "D: accuracy_distance", "E: accuracy", "A: i2n raw"),
        *("A: i2n ceiled", "C: leave_one_subject_out", "A: leave_one_subject_out, ten variables"),
        "A: threshold ceiling",
    ],
)
def test_intervals_contain_the_mean_about_as_often_as_stated(coverage, cell):
    found = coverage.summary(cell, [coverage.estimate(cell, seed) for seed in range(60)])
    assert 0.86 <= found["coverage"] <= 1
    assert 0.75 <= found["error_over_sd"] <= 1.35
