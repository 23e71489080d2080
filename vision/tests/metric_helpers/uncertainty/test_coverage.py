"""Check that the page about uncertainty explains the stored coverages, and measure some of them again."""

import json
import re
from pathlib import Path

import pytest

SCRIPT = "coverage.py"
ROOT = Path(__file__).parents[4]
RESULTS = json.loads((ROOT / "perf" / "results" / "coverage.json").read_text())
PAGE = (ROOT / "docs" / "explanation" / "uncertainty.md").read_text()


def test_the_page_shows_every_stored_estimator(coverage):
    assert "{measured} coverage designs\n" in PAGE
    assert "{measured} coverage small\n" in PAGE
    assert {name.partition(": ")[2] for name in RESULTS} <= coverage.ESTIMATORS.keys()


def test_the_page_explains_coverages_out_of_bounds():
    bullets = [line.partition(" in ") for line in re.findall(r"^- `.+?:", PAGE.replace("\n  ", " "), re.MULTILINE)]
    for cell, found in RESULTS.items():
        design, estimator = cell.split(": ")
        if not 0.93 <= found.get("coverage", 0.95) <= 0.97:
            assert any(f"`{estimator}`" in names and f"`{design}`" in designs for names, _, designs in bullets), cell


@pytest.mark.slow  # 60 simulated experiments for each
@pytest.mark.parametrize(
    "cell",
    [
        *("A: ridge", "D: ridge", "counts: ridge", "20 objects: cka", "D: cka", "D: rdm_whitened", "E: procrustes"),
        *("B: cka_noise_corrected", "E: internal_consistency", "B: predictor_consistency"),
    ],
)
def test_intervals_contain_the_mean_about_as_often_as_stated(coverage, cell):
    found = coverage.summary(cell, [coverage.estimate(cell, 10_000 + seed) for seed in range(60)])
    assert found["n_undefined"] == 0
    assert 0.85 <= found["coverage"] <= 1.0  # 57 of 60, with a binomial error of 1.7
    assert 0.7 <= found["error_over_sd"] <= 1.35


@pytest.mark.parametrize("cell", ["12 stimuli: neuron_to_neuron", "200 frames: cka"])
def test_intervals_of_few_stimuli_and_of_sequences_are_valid(coverage, cell):
    """Over single frames, the errors are .7 of the true ones; without the pairs of the test set, .6."""
    found = coverage.summary(cell, [coverage.estimate(cell, 20_000 + seed) for seed in range(40)])
    assert found["n_undefined"] == 0
    assert found["coverage"] >= 0.9
    assert found["error_over_sd"] >= {"12": 0.65, "20": 0.9}[cell[:2]]


def test_an_interrupted_run_resumes(coverage, tmp_path, monkeypatch):
    scratch, cells = tmp_path / "scratch.jsonl", {"E: ridge": 2}
    first = coverage.SIMULATION.run(cells, scratch)
    lines = scratch.read_text().splitlines()
    scratch.write_text(lines[0] + "\n" + lines[1][:20])
    assert coverage.SIMULATION.run(cells, scratch) == first
    assert scratch.read_text().splitlines() == lines
    assert json.loads(lines[1])["seed"] == coverage.SIMULATION.first_seed + 1
    monkeypatch.setattr(coverage, "simulate", None)  # measuring would fail
    assert coverage.SIMULATION.run(cells, scratch) == first


def test_undefined_errors_are_counted_with_a_reason(coverage):
    row = coverage.estimate("one neuroid: ridge", 0)
    assert (row["error"], row["low"]) == (None, None)
    assert row["reason"].startswith("a single neuroid")
    assert coverage.summary("one neuroid: ridge", [row])["n_undefined"] == 1
