"""Check that the page about ceilings and the metrics' docstrings agree with the stored simulation results."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RESULTS = json.loads((ROOT / "perf" / "results" / "ceiling_truth.json").read_text())
GEOMETRY = json.loads((ROOT / "perf" / "results" / "geometry_truth.json").read_text())
METRICS = ROOT / "vision" / "brainscore_vision" / "metrics"
PAGE = (ROOT / "docs" / "explanation" / "ceilings.md").read_text()


def test_the_page_shows_the_stored_results():
    assert "{measured} ceiling_truth\n" in PAGE
    assert "{measured} geometry_truth\n" in PAGE


def test_intervals_of_perfect_models_contain_one_often_enough():
    counts = Counter()
    for cell, row in RESULTS.items():
        counts.update({cell.partition(": ")[0]: row["held"], "held": row["held"], "of": row["n"]})
    held, of = counts.pop("held"), counts.pop("of")
    assert held / of >= 0.94
    assert min(counts.values()) / (of / len(counts)) >= 0.85
    total = re.search(r"(\d+) of (\d+) intervals", PAGE)
    assert total, "the page says how many intervals hold 1"
    assert [int(number) for number in total.groups()] == [held, of]


def span(name, reliability, what):
    ends = f"{name}: ", f"reliability {reliability}"
    values = [row[what] for cell, row in GEOMETRY.items() if cell.startswith(ends[0]) and cell.endswith(ends[1])]
    return min(values), max(values)


@pytest.mark.parametrize(("name", "least", "lower"), [("rsa_crossnobis", 0.3, 0.2), ("cka_noise_corrected", 0.5, 0.3)])
def test_metrics_state_the_limit_of_their_correction(name, least, lower):
    text = " ".join((METRICS / name / "metric.py").read_text().split())
    assert f"falls below with a reliability below {str(least).removeprefix('0')}" in text
    assert "docs/explanation/ceilings.md" in text
    assert span(name, lower, "median")[0] < 0.9 < span(name, least, "median")[0]


def test_the_procrustes_ceiling_is_wrong_for_low_reliability():
    name = "procrustes / geometry_ceiling"
    assert span(name, 0.1, "median")[1] < 0.9 < span(name, 0.9, "median")[0]
