"""Check that the page about ceilings and the pages of metrics quote the kept results of simulations."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RESULTS = json.loads((ROOT / "perf" / "results" / "ceiling_truth.json").read_text())
GEOMETRY = json.loads((ROOT / "perf" / "results" / "geometry_truth.json").read_text())
METRICS = ROOT / "vision" / "brainscore_vision" / "metrics"
PAGE = (ROOT / "docs" / "explanation" / "ceilings.md").read_text()


def test_every_case_is_quoted_with_its_counts():
    rows = {tuple(cell.strip() for cell in line.strip("|").split("|")) for line in PAGE.splitlines() if line[:1] == "|"}
    for case in RESULTS["cases"]:
        held = f"{case['held']} of {case['of']}"
        assert any(row[:2] == (case["metric"], case["ceiling"]) and row[-1] == held for row in rows), case["metric"]


def test_perfect_models_reach_one_about_as_often_as_the_intervals_say():
    held, of = (sum(case[name] for case in RESULTS["cases"]) for name in ("held", "of"))
    assert held / of >= 0.94
    assert all(case["held"] / case["of"] >= 0.85 for case in RESULTS["cases"])
    total = re.search(r"(\d+) of (\d+) intervals", PAGE)
    assert total, "the page says how many intervals hold 1"
    assert [int(number) for number in total.groups()] == [held, of]


def quoted(level):
    lost = f" ({level['undefined']:.0%})" if level["undefined"] else ""
    return f"{level['median']:.2f} ± {level['sd']:.2f}{lost}"


def test_the_geometry_of_the_truth_is_quoted():
    for name, cells in GEOMETRY.items():
        for n_stimuli in (20, 40, 80, 160):
            entries = [quoted(cells[f"{n_stimuli} stimuli, reliability {r}"]) for r in (0.1, 0.2, 0.3, 0.5, 0.9)]
            assert f"| {name} | {n_stimuli} | {' | '.join(entries)} |" in PAGE


def span(name, reliability, what):
    values = [cell[what] for key, cell in GEOMETRY[name].items() if key.endswith(f"reliability {reliability}")]
    return min(values), max(values)


@pytest.mark.parametrize(
    ("name", "reliabilities"), [("rsa_crossnobis", (0.5, 0.3, 0.2, 0.1)), ("cka_noise_corrected", (0.5, 0.3, 0.2))]
)
def test_the_metrics_say_how_far_their_correction_reaches(name, reliabilities):
    text = " ".join((METRICS / name / "metric.py").read_text().split())
    for reliability in reliabilities:
        low, high = (f"{value:.2f}".removeprefix("0") for value in span(name, reliability, "median"))
        assert f"{low} to {high}" in text
    if name == "rsa_crossnobis":
        lost = [round(100 * span(name, reliability, "undefined")[1]) for reliability in (0.3, 0.2, 0.1)]
        assert f"up to {lost[0]}, {lost[1]} and {lost[2]} %" in text


def test_procrustes_has_no_ceiling():
    name = "procrustes / geometry_ceiling"
    assert span(name, 0.1, "median")[1] < 0.9 < span(name, 0.9, "median")[0]
