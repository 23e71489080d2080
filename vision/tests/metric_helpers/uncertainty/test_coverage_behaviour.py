"""Measure a few coverages of intervals of behavioural metrics, and check that the page shows the kept ones."""

import json
import sys
from pathlib import Path

import pytest

SCRIPT = "coverage_behaviour.py"
ROOT = Path(__file__).parents[4]
RESULTS = json.loads((ROOT / "perf" / "results" / "coverage_behaviour.json").read_text())
PAGE = (ROOT / "docs" / "explanation" / "uncertainty.md").read_text()


def test_the_page_shows_the_kept_results(coverage):
    assert "{measured} coverage_behaviour\n" in PAGE
    assert RESULTS["cells"].keys() <= coverage.CASES.keys()
    assert RESULTS["designs"].keys() == coverage.DESIGNS.keys()


def test_most_intervals_hold_what_they_say():
    held = [cell["held"] for cells in RESULTS["cells"].values() for cell in cells.values()]
    assert min(held) > 0.8  # the page says which, and why
    assert sum(0.93 <= each <= 0.97 for each in held) > len(held) / 2


def test_cells_that_are_there_are_kept(coverage, tmp_path, monkeypatch):
    out, case = tmp_path / "out.json", "accuracy"
    command = [SCRIPT, "--out", str(out), "--scratch", str(tmp_path / "scratch"), "--cases", case, "--designs"]
    for designs in (["B"], ["B", "A"]):
        monkeypatch.setattr(sys, "argv", [*command, *designs, "--sets", "2"])
        coverage.main()
        cells = json.loads(out.read_text())["cells"]
        assert cells[case].keys() == set(designs)
        assert cells[case]["B"] == coverage.summary([coverage.estimates("B", case, seed) for seed in range(2)])
        (tmp_path / "scratch").unlink()
        with monkeypatch.context() as nothing_is_measured:
            nothing_is_measured.setitem(coverage.CASES, case, None)
            coverage.main()
        assert json.loads(out.read_text())["cells"] == cells


@pytest.mark.slow  # 60 simulated experiments for each
@pytest.mark.parametrize(
    ("case", "design"),
    [
        ("error_consistency", "A"),
        ("error_consistency ceiling", "B"),
        ("accuracy_distance", "D"),
        ("accuracy", "E"),
        ("i2n ceiled", "A"),
        ("leave_one_subject_out", "C"),
        ("threshold ceiling", "A"),
    ],
)
def test_intervals_hold_the_mean_about_as_often_as_they_say(coverage, case, design):
    found = coverage.summary([coverage.estimates(design, case, seed) for seed in range(60)])
    assert 0.86 <= found["held"] <= 1
    assert 0.75 <= found["ratio"] <= 1.35
