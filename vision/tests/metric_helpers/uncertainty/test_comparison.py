import json
from pathlib import Path

import numpy as np
import pytest

SCRIPT = "comparison.py"
ROOT = Path(__file__).parents[4]
RESULTS = json.loads((ROOT / "perf" / "results" / "comparison.json").read_text())
PAGE = (ROOT / "docs" / "explanation" / "comparing_models.md").read_text()


def test_the_page_shows_the_stored_results():
    assert "{measured} comparison\n" in PAGE
    assert "{measured} comparison metrics\n" in PAGE


def test_stored_shares_of_means_are_nominal():
    for name, cell in RESULTS.items():
        if name.endswith(": means"):
            spread = 3 * np.sqrt(0.05 * 0.95 / cell["n"])
            assert min(cell["tests"], cell["ranks"]) > 0.95 - spread, name
            assert cell["interval"] > 0.95 - spread / 2, name  # ten pairs per experiment


def test_copies_of_a_model_rarely_differ():
    copies = [cell for name, cell in RESULTS.items() if "copies" in name]
    assert len(copies) == 10
    assert max(max(cell["exact"], cell["recorded"]) for cell in copies) <= 0.06


def test_every_cell_is_stored(coverage):
    assert {cell: row["n"] for cell, row in RESULTS.items()} == coverage.SIMULATION.cells


@pytest.mark.slow  # 100 simulated experiments for each
@pytest.mark.parametrize(
    "cell",
    [
        *("100 x 20: means", "few subjects: means", "both few: means"),
        *("shared noise: sketches", "few subjects: averages", "A: ridge", "A: error_consistency"),
    ],
)
def test_comparisons_are_correct_about_as_often_as_stated(coverage, cell):
    found = coverage.summary(cell, [coverage.estimate(cell, seed) for seed in range(100)])
    assert 0.9 < found["interval"] <= 1
    assert min(found["tests"], found["ranks"]) > 0.88
    assert 0.8 < found["error"] < 1.6
