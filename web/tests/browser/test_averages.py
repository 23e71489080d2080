"""Averages over chosen benchmarks in the browser equal those of Python, and the table uses them."""

import math
import random
from typing import get_args

import pytest

from brainscore_core.records.comparison import counting_version
from brainscore_core.statistics.averages import Estimate, Missing, average_tree

pytestmark = pytest.mark.slow

PARENTS = {
    "neural": "average",
    "behavior": "average",
    **dict.fromkeys(("V1", "V2", "IT"), "neural"),
    **dict.fromkeys(("group", "a", "b", "c", "never"), "V1"),
    **dict.fromkeys(("d", "e", "f"), "group"),
    "g": "V2",
    **dict.fromkeys(("h", "i", "j", "k", "l"), "IT"),
    **dict.fromkeys(("m", "n"), "behavior"),
    **dict.fromkeys(("o", "p", "q"), "engineering"),
    **dict.fromkeys(("r", "s"), "simulated"),
}
ROOTS = ("average", "engineering", "simulated")
APART = {"r", "s", "never"}  # part of no average: simulated, or without any score
N_MODELS, N_SUBSETS = 6, 300
COMBINE = """([nodes, columns, subsets, size, missing]) => subsets.map((subset) => {
  const { averages } = BrainScore;
  const chosen = new Set(subset);
  const { parts, without } = averages.plan(nodes, (leaf) => chosen.has(leaf));
  const of = [...columns];
  const made = [...parts].map(([node, some]) => {
    const column = (of[node] = averages.combine(some.map((part) => of[part]), size, missing));
    const { value, low, high, rank, missing: lacking, n, code, unranked } = column;
    return [node, [value, low, high, rank, lacking, n, code, unranked]];
  });
  return { made, without: [...without] };
})"""


@pytest.fixture(scope="module")
def tree():
    """Return the names of all nodes, parents before children, the leaves, and the arrays of the data files."""
    names, waiting = [], list(reversed(ROOTS))
    while waiting:
        names.append(waiting.pop())
        waiting += [child for child, parent in reversed(PARENTS.items()) if parent == names[-1]]
    leaves = set(names) - set(PARENTS.values())
    nodes = {
        "parent": [names.index(PARENTS[name]) if name in PARENTS else -1 for name in names],
        "leaf": [name in leaves for name in names],
        "counts": [name not in APART | {"simulated"} for name in names],
    }
    return names, sorted(leaves), nodes


def expected_of(scores, chosen, missing):
    """Average in Python over the chosen benchmarks that count."""
    counted = {leaf: scores[leaf] for leaf in chosen if leaf not in APART}
    parents, above = {}, list(counted)
    while above:
        name = above.pop()
        if name in PARENTS and name not in parents:
            parents[name] = PARENTS[name]
            above.append(PARENTS[name])
    return average_tree(counted, parents, missing=missing)


@pytest.mark.parametrize("rule", get_args(Missing))
def test_averages_equal_python_on_random_subsets(tree, folder_of_table, open_page, rule):
    names, leaves, nodes = tree
    rng = random.Random(1)  # noqa: S311 - made-up scores, no secrets
    of_models = []
    for model in range(N_MODELS):
        missing = (0.0, 0.1, 0.3, 0.6, 0.9, 0.9)[model]
        drawn = {leaf: (rng.uniform(-0.2, 1.2), rng.uniform(0, 0.1)) for leaf in leaves}
        gaps = {leaf for leaf in leaves if rng.random() < missing or leaf == "never"}
        of_models.append({leaf: Estimate(*(drawn[leaf] if leaf not in gaps else (float("nan"),))) for leaf in leaves})
    of_models[4] = of_models[3]  # a tie

    whole = [expected_of(scores, leaves, rule) for scores in of_models]
    of_present = [expected_of(scores, leaves, "left out") for scores in of_models]
    columns = []
    for name in names:
        estimates = [of[name] if name in of else each.get(name) for of, each in zip(of_models, whole, strict=True)]
        estimates = [Estimate(float("nan")) if each is None else each for each in estimates]
        numbers = [numbers_of(each) for each in estimates]
        below = [leaf for leaf in leaves if name in node_and_ancestors(leaf) and leaf not in APART]
        counts = {
            "missing": [sum(of[leaf].is_missing for leaf in below) for of in of_models],
            "n": [len(below)] * N_MODELS,
        }
        is_part = [0 < lacks < n for lacks, n in zip(counts["missing"], counts["n"], strict=True)]
        codes = [
            "p" if part else "q" if value is None else "s" for part, (value, *_) in zip(is_part, numbers, strict=True)
        ]
        beside = {
            str(at): [of[name].value, ""]
            for at, of in enumerate(of_present)
            if is_part[at] and numbers[at][0] is None and name not in leaves
        }
        of_name = dict(zip(("value", "low", "high"), zip(*numbers, strict=True), strict=True))
        columns.append(of_name | counts | {"code": "".join(codes), "unranked": beside})

    subsets = [rng.sample(leaves, rng.randint(0, len(leaves))) for _ in range(N_SUBSETS)]
    page = open_page((folder_of_table / "index.html").as_uri())
    places = [[names.index(each) for each in subset] for subset in subsets]
    told = page.evaluate(COMBINE, [nodes, columns, places, N_MODELS, rule.replace(" ", "-")])
    n_compared = n_beside = 0
    for subset, answer in zip(subsets, told, strict=True):
        expected = [expected_of(scores, subset, rule) for scores in of_models]
        left_out = [expected_of(scores, subset, "left out") for scores in of_models]
        without = {name for name in names if not any(name in node_and_ancestors(leaf) for leaf in subset)}
        assert {names[node] for node in answer["without"]} == without
        for node, (values, lows, highs, ranks, missing, n, code, unranked) in answer["made"]:
            of_node = [each.get(names[node], Estimate(float("nan"))) for each in expected]
            below = [leaf for leaf in subset if names[node] in node_and_ancestors(leaf) and leaf not in APART]
            assert n == [len(below)] * N_MODELS
            assert missing == [sum(of[leaf].is_missing for leaf in below) for of in of_models]
            for model, estimate in enumerate(of_node):
                if estimate.is_missing:
                    assert values[model] is lows[model] is ranks[model] is None
                    assert code[model] == ("-" if missing[model] == n[model] else "p")
                    if code[model] == "p":
                        mean, why = unranked[str(model)]
                        assert abs(mean - left_out[model][names[node]].value) <= 1e-12
                        assert why == f"{n[model] - missing[model]} of {n[model]}"
                        n_beside += 1
                    continue
                n_compared += 1
                assert abs(values[model] - estimate.value) <= 1e-12
                assert str(model) not in unranked
                for end, python in zip((lows[model], highs[model]), numbers_of(estimate)[1:], strict=True):
                    assert end is python or abs(end - python) <= 1e-12
                assert code[model] == ("p" if missing[model] else "a")
                # Values that differ only by rounding are equal.
                better = [each for each in of_node if each.is_compared and each.value > estimate.value + 1e-12]
                assert ranks[model] == (1 + len(better) if estimate.is_compared else None)
    assert n_beside > (500 if rule == "complete" else -1)
    assert n_compared > (1_000 if rule == "complete" else 2_500)


def numbers_of(estimate):
    """Return value, low and high in the form of the columns."""
    if estimate.is_missing:
        return (None,) * 3
    return (estimate.value, *(None if math.isnan(end) else end for end in estimate.interval()))


def node_and_ancestors(name):
    """Return a node and its ancestors."""
    return {name} | (node_and_ancestors(PARENTS[name]) if name in PARENTS else set())


def test_counting_version_equals_python(folder_of_table, open_page):
    rng = random.Random(2)  # noqa: S311 - no secrets
    cases = [
        [set(rng.choices((None, 1, 2, 3), k=rng.randint(0, 3))) for _ in range(rng.randint(0, 12))] for _ in range(400)
    ]
    cases += [[{1}] * (n - k) + [{1, 2}] * k for n in range(1, 41) for k in range(n + 1)]
    page = open_page((folder_of_table / "index.html").as_uri())
    told = page.evaluate(
        "(cases) => cases.map(BrainScore.averages.countingVersion)", [[list(own) for own in case] for case in cases]
    )
    assert told == [counting_version(case) for case in cases]


def test_fsum_is_exact(folder_of_table, open_page):
    page = open_page((folder_of_table / "index.html").as_uri())
    some = ([0.1] * 10, 1.0), ([1e16, 1, -1e16], 1), ([1, 1e100, 1, -1e100], 2), ([1e-16, 1, 1e16], 1e16 + 2)
    for numbers, total in (([], 0), *some):
        assert page.evaluate("BrainScore.averages.fsum", numbers) == total == math.fsum(numbers)


def test_average_can_use_only_the_selected_benchmarks(folder_of_table, board_of_table, open_page):
    board, columns = board_of_table
    names = board["nodes"]["id"]
    page = open_page((folder_of_table / "index.html").as_uri())
    before = page.locator("#rows tr[aria-rowindex='2'] td.score .value").first.inner_text()
    page.locator("#columns summary").first.click()
    page.get_by_label("Average", exact=True).wait_for()
    page.locator("#choices > li").first.locator("> details > summary").click()
    page.get_by_label("Behavior", exact=True).uncheck()
    assert "Behavior" not in page.locator("#board thead").inner_text()
    assert (
        page.locator("#rows tr[aria-rowindex='2'] td.score .value").first.inner_text() == before
    )  # the column is only hidden
    page.get_by_label("Average only the selected benchmarks").check()
    page.get_by_text("averages and ranks use 34 of 37 benchmarks").wait_for()
    neural = columns[names.index("neural")]["value"]
    best = max(range(len(neural)), key=lambda model: neural[model] or 0)
    # Without behavior, the average is that of neural benchmarks.
    first = page.locator("#rows tr[aria-rowindex='2']")
    assert first.locator("td.score .value").first.inner_text() == f"{neural[best]:.3f}"
    assert first.locator("td.rank").inner_text().split() == ["1"]  # without an interval, as stated above the table
    assert page.evaluate("BrainScore.view.column(0).value") == pytest.approx(neural, abs=1e-12)
    page.reload()
    assert first.locator("td.score .value").first.inner_text() == f"{neural[best]:.3f}"
    page.get_by_role("button", name="Back to all").click()
    assert page.locator("#rows tr[aria-rowindex='2'] td.score .value").first.inner_text() == before


def test_average_without_some_benchmarks_loads_their_columns(folder_of_table, board_of_table, open_page):
    board, columns = board_of_table
    names = board["nodes"]["id"]
    state = "#weigh=chosen&without=Birch2002.V1-pls,Alder1999.V1&sort=V1"
    page = open_page((folder_of_table / "index.html").as_uri() + state)
    page.wait_for_function("BrainScore.view.column(2)")
    kept = [columns[names.index(f"Birch200{number}.V1-pls")]["value"] for number in range(3, 8)]
    for model, value in enumerate(page.evaluate("BrainScore.view.column(2).value")):
        there = [column[model] for column in kept]
        assert (value is None) == (None in there)
        if value is not None:
            assert value == pytest.approx(sum(there) / 5, abs=1e-12)
    page.wait_for_function("document.querySelector('#rows tr[aria-rowindex=\"2\"] td.rank .value').innerText === '1'")
