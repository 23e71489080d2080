"""Check that the page about ceilings quotes the kept results of its simulations."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
RESULTS = json.loads((ROOT / "perf" / "results" / "ceiling_truth.json").read_text())
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
