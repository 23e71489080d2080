"""Test the pages of models and benchmarks, Compare, Explore and Status, as a user would."""

import csv
import dataclasses
import datetime as dt
import io
import math
import os
import re
import shutil
import subprocess
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from PIL import Image
from scipy import stats
from scipy.special import stdtr

from brainscore_core.plots.overviews import standings
from brainscore_core.records.comparison import compare_records
from brainscore_core.records.record import record_path
from brainscore_core.records.store import RUN_FILE, Run
from brainscore_core.statistics.averages import Estimate, average_tree
from brainscore_core.statistics.correlations import correlation_over_models
from brainscore_core.statistics.tests import holm
from brainscore_web.leaderboard.made_up import MadeUp
from brainscore_web.leaderboard.pairs import decode, encode
from brainscore_web.leaderboard.site import build, read_data
from brainscore_web.leaderboard.sources import CommitSource

pytestmark = pytest.mark.slow

MADE = MadeUp.of("24x16", seed=1)
ATTACK = "<img src=x onerror=fooled=1><script>fooled=2</script>"
RECORDS = list(MADE.records())
PLACE = 3  # of the model under test
REASONS = ("incomplete", "no score below")
TIGHT = {"width": 390, "height": 800}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, build_site):
    """Build a site with hostile texts in a model and a benchmark."""
    models, benchmarks = list(MADE.catalogue.models), list(MADE.catalogue.benchmarks)
    attacks = {"bibtex": f"@article{{x,\n  title = {{{ATTACK}}}\n}}", "description": ATTACK, "family": ATTACK}
    models[0] = dataclasses.replace(models[0], name=f"Evil {ATTACK}", **attacks)
    benchmarks[0] = dataclasses.replace(benchmarks[0], name=f"Bench {ATTACK}", paradigm=ATTACK)
    catalogue = dataclasses.replace(MADE.catalogue, models=tuple(models), benchmarks=tuple(benchmarks))
    return build_site(tmp_path_factory.mktemp("pages of a site"), MADE, catalogue)


@pytest.fixture(scope="module")
def board(folder):
    """Return the content of data/board.js."""
    return read_data(folder / "data/board.js")


@pytest.fixture(scope="module")
def columns(folder, board):
    """Return the columns of all nodes."""
    at_once = board["columns"]
    slugs = enumerate(board["nodes"]["slug"])
    return [at_once.get(str(node)) or read_data(folder / f"data/columns/{slug}.js") for node, slug in slugs]


@pytest.fixture(scope="module")
def pages(board):
    """Return the address of each kind of page."""
    slugs, nodes = board["models"]["slug"], board["nodes"]
    leaf = nodes["slug"][nodes["leaf"].index(True)]
    of_attack = nodes["slug"][[name.startswith("Bench ") for name in nodes["name"]].index(True)]
    evil = slugs[[name.startswith("Evil") for name in board["models"]["name"]].index(True)]
    return {
        "model": f"models/{slugs[PLACE]}.html",
        "evil model": f"models/{evil}.html",
        "benchmark": f"benchmarks/{leaf}.html",
        "evil benchmark": f"benchmarks/{of_attack}.html",
        "average": "benchmarks/average.html",
        "compare": f"compare.html#models={slugs[PLACE]},{slugs[5]},{evil}&rows=all",
        "compare nothing": "compare.html",
        "explore": "explore.html",
        "status": "status.html#only=f",
    }


KINDS = (
    *("model", "evil model", "benchmark", "evil benchmark", "average"),
    *("compare", "compare nothing", "explore", "status"),
)


def ready(page):
    # Not `wait_for_function`: the pages' policy refuses expressions that it evaluates later.
    page.locator("html[data-ready]").wait_for(state="attached")
    return page


def is_plain(page):
    return page.evaluate("globalThis.fooled") is None and page.locator("main img[src='x']").count() == 0


@pytest.mark.parametrize("kind", KINDS)
def test_pages_are_accessible_fit_phones_and_print_well(kind, folder, pages, serve, open_page, violations, on_paper):
    """All rules are checked in light mode; in dark mode only contrast, since the rest is the same page."""
    page = ready(open_page(serve(folder) + pages[kind], color_scheme="light"))
    assert is_plain(page)
    assert page.locator("h1").count() == 1
    for theme, rule in (("light", None), ("dark", "color-contrast")):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # otherwise colours are still changing
        assert violations(page, only=rule) == []
    page.set_viewport_size(TIGHT)
    page.reload()
    ready(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= TIGHT["width"]
    assert all(each.bounding_box()["width"] <= TIGHT["width"] for each in page.locator("svg.chart").all())
    page = ready(open_page(f"{folder.as_uri()}/{pages[kind]}", color_scheme="dark"))  # from a file
    assert is_plain(page)
    assert page.locator("h1").count() == 1
    assert on_paper(page) == ["rgb(255, 255, 255)"]
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")


SMALL = """() => {
  const small = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { data, parentElement: it } = texts.currentNode;
    if (!data.trim() || it.closest(".heard, title, desc, noscript") || !it.checkVisibility()) continue;
    const size = Number.parseFloat(getComputedStyle(it).fontSize);
    if (size < 12) small.push(`${size} px: ${data.trim().slice(0, 40)}`);
  }
  return [...new Set(small)];
}"""


@pytest.mark.parametrize("kind", ["table", *KINDS])
def test_text_and_targets_are_large_enough_for_phones(kind, folder, pages, open_page, violations):
    """At least 12 px; targets of 24 px or as far apart, see https://www.w3.org/WAI/WCAG22/Understanding/target-size-minimum."""
    path = {"table": "index.html#open=V1", **pages}[kind]
    page = open_page(f"{folder.as_uri()}/{path}", viewport=TIGHT)
    if kind == "table":
        page.wait_for_function("document.querySelectorAll('#rows td.score .second').length > 10")
    else:
        ready(page)
    assert page.evaluate(SMALL) == []
    assert violations(page, only="target-size") == []


def test_rows_are_visible_at_200_percent_zoom(folder, open_page):
    """At that zoom, a window of 1280 x 800 pixels has 640 x 400."""
    page = open_page(f"{folder.as_uri()}/index.html", viewport={"width": 640, "height": 400})
    page.wait_for_function("document.querySelectorAll('#rows td.score .second').length > 10")
    page.locator("#scroller").scroll_into_view_if_needed()
    page.locator("#board thead").evaluate("(head) => head.scrollIntoView()")
    whole = page.locator("#rows tr[role=row]").evaluate_all(
        """(rows) => rows.filter((row) => {
          const { top, bottom } = row.getBoundingClientRect();
          return top >= document.querySelector("#board thead").getBoundingClientRect().bottom && bottom <= innerHeight;
        }).length"""
    )
    assert whole >= 4


def test_model_scores_are_readable_without_javascript(folder, board, columns, pages, open_page):
    page = open_page(f"{folder.as_uri()}/{pages['model']}", java_script_enabled=False)
    rows = page.locator("table.scores tbody tr")
    for column, cells in zip(columns, rows.all(), strict=True):
        value, text = column["value"][PLACE], cells.inner_text()
        if value is not None:
            assert f"{value:.3f}".replace("-", "\u2212") in text
            assert str(column["rank"][PLACE]) in text
        else:
            assert cells.locator(".reason").inner_text().strip()
    assert MADE.catalogue.model[board["models"]["id"][PLACE]].bibtex in page.locator("main").inner_text()


def test_benchmark_scores_are_readable_without_javascript(folder, board, columns, pages, open_page):
    page = open_page(f"{folder.as_uri()}/{pages['benchmark']}", java_script_enabled=False)
    column = columns[board["nodes"]["leaf"].index(True)]
    there = sorted((value for value in column["value"] if value is not None), reverse=True)
    rows = page.locator("table.scores tbody tr").all()
    assert [row.locator("td").nth(1).inner_text().split()[-1] for row in rows] == [f"{each:.3f}" for each in there]
    page.get_by_text("with reasons").click()
    without = page.get_by_role("region", name="Table of models without a score").locator("tbody tr")
    assert without.count() == 24 - len(there)


def test_differences_equal_python(folder, board, pages, open_page):
    page = ready(open_page(f"{folder.as_uri()}/{pages['compare']}"))
    places = [2, 5, 17, 13]  # in two blocks and unordered
    names = [board["models"]["id"][place] for place in places]
    n_compared = 0
    for compared in compare_records(RECORDS, names):
        node = board["nodes"]["id"].index(compared.name)
        if MADE.catalogue.benchmark[compared.name].shows != "all":
            continue
        found = page.evaluate(
            """async ([places, node, slug]) => {
              const { code } = await BrainScore.pairs.load(places);
              const board = BrainScore.taken("board");
              const column = board.columns[node] ?? (await BrainScore.load(`columns/${slug}`));
              const value = (_, at) => column.value[at];
              return BrainScore.pairs.differences([[node, 1]], places, value, code);
            }""",
            [places, node, board["nodes"]["slug"][node]],
        )
        upper = np.triu_indices(4, 1)
        expected = compared.comparison
        errors, freedom, _ = decode(encode(expected.joint))  # pages have quantised errors
        with np.errstate(invalid="ignore"):  # a model minus itself
            p_holm = holm((2 * stdtr(freedom, -np.abs(expected.differences) / errors))[upper])
        for place, each in enumerate(found):
            pair = upper[0][place], upper[1][place]
            difference, margin = expected.differences[pair], expected.margins[pair]
            assert [each["a"], each["b"]] == [places[pair[0]], places[pair[1]]]
            if np.isnan(difference):
                assert each["difference"] is None
            elif np.isnan(margin):
                assert np.isnan(each["low"])
            else:
                assert each["difference"] == pytest.approx(difference, abs=1e-12)
                assert each["high"] - each["difference"] == pytest.approx(margin, rel=0.02)
                assert each["holm"] == pytest.approx(p_holm[place], rel=1e-6)
                assert each["isMatched"] == expected.joint.is_matched[pair]
                n_compared += 1
    assert n_compared > 40


def test_bold_marks_significant_differences_after_holm(folder, board, open_page):
    slugs = board["models"]["slug"]
    for number in (3, 5):
        chosen = ",".join(slugs[place] for place in (2, 5, 17, 13, 9)[:number])
        page = ready(open_page(f"{folder.as_uri()}/compare.html#models={chosen}&rows=all"))
        cells = page.evaluate(
            """[...document.querySelectorAll(".differences tbody td")].map((cell) => {
              const texts = [cell, ...cell.querySelectorAll("*")].filter((each) => each.textContent.trim());
              const isBold = texts.some((each) => getComputedStyle(each).fontWeight >= 600);
              return [isBold, / p (< 0.001|= (0\\.\\d+))/.exec(cell.textContent)];
            })"""
        )
        bold = [is_bold for is_bold, _ in cells]
        assert bold == [bool(p) and float(p[2] or 0) <= 0.05 for _, p in cells]
        assert any(bold)
        assert not all(bold)


def test_averages_are_compared_over_common_benchmarks(folder, board, columns, pages, open_page):
    page = ready(open_page(f"{folder.as_uri()}/{pages['compare']}"))
    nodes, places = board["nodes"], [2, 5, 19]
    found = page.evaluate(
        """async (places) => {
          const { value, code } = await BrainScore.pairs.load(places);
          const { nodes } = BrainScore.taken("board");
          return [...BrainScore.pairs.common(nodes, places, value)].map(([node, { parts, n, of }]) => {
            const pairs = BrainScore.pairs.differences(parts, places, value, code);
            return { node, parts, n, of, pairs, codes: parts.map(([part]) => code(part, places[0], places[1])) };
          });
        }""",
        places,
    )
    children = {node: [at for at, above in enumerate(nodes["parent"]) if above == node] for node in range(len(columns))}

    def leaves(node):
        below = [leaf for child in children[node] for leaf in leaves(child)]
        return below or ([node] if nodes["leaf"][node] and nodes["counts"][node] else [])

    def is_common(leaf):
        return all(columns[leaf]["value"][place] is not None for place in places)

    def mean(node, place):
        if nodes["leaf"][node]:
            return columns[node]["value"][place]
        kept = [child for child in children[node] if any(is_common(leaf) for leaf in leaves(child))]
        return sum(mean(child, place) for child in kept) / len(kept)

    n_partial = 0
    for each in found:
        node = each["node"]
        below = leaves(node)
        shared = [leaf for leaf in below if is_common(leaf)]
        assert (each["n"], each["of"]) == (len(shared), len(below))
        for pair in each["pairs"] if shared else []:
            assert pair["difference"] == pytest.approx(mean(node, pair["a"]) - mean(node, pair["b"]), abs=1e-12)
        if 1 < len(shared) < len(below):
            first = each["pairs"][0]
            errors, freedom, _ = decode(np.array(each["codes"], dtype=np.uint16))
            weights = np.array([weight for _, weight in each["parts"]])
            assert weights.sum() == pytest.approx(1)
            if np.isnan(errors).any():
                assert np.isnan(first["low"])
                continue
            error, spread = weights @ errors, weights @ (errors / np.sqrt(freedom))
            margin = error * stats.t.ppf(0.975, (error / spread) ** 2)
            assert first["high"] - first["difference"] == pytest.approx(margin, rel=1e-6)
            n_partial += 1
    assert n_partial > 1
    assert page.locator("#table-differences").get_by_text("over ").first.inner_text().endswith("benchmarks")


def test_models_can_be_added_and_removed(folder, board, open_page):
    page = ready(open_page(f"{folder.as_uri()}/compare.html"))
    names, slugs = board["models"]["name"], board["models"]["slug"]
    field = page.get_by_label("Add a model")
    for place in (3, 6, 10):
        field.fill(names[place])
        field.press("Enter")
    ready(page)
    assert [each.inner_text() for each in page.locator(".chips a").all()] == [names[place] for place in (3, 6, 10)]
    assert page.evaluate("BrainScore.state.list('models')") == [slugs[place] for place in (3, 6, 10)]
    field.fill("no such model")
    field.press("Enter")
    assert "No other model" in page.locator("#told").inner_text()
    page.get_by_role("button", name=f"Remove {names[6]}").click()
    ready(page)
    head = page.locator("#table-differences thead th")
    assert [each.inner_text() for each in head.all()][1:] == [names[3], names[10], f"{names[10]} \u2212 {names[3]}"]
    first = page.locator("#table-differences tbody tr .value").first.inner_text()
    page.get_by_label("Difference from", exact=True).select_option(slugs[10])
    ready(page)
    page.locator("#table-differences thead th:last-child", has_text=f"{names[3]} \u2212 ").wait_for()
    turned = page.locator("#table-differences tbody tr .value").first.inner_text()
    assert {first[0], turned[0]} == {"+", "\u2212"}
    assert first[1:] == turned[1:]
    page.reload()
    assert page.locator("#reference").input_value() == slugs[10]
    for place in (1, 5, 7, 8):
        field.fill(names[place])
        field.press("Enter")
    assert "At most 5 models" in page.locator("#told").inner_text()
    page.go_back()
    page.locator(".chips li").nth(4).wait_for(state="detached")
    assert page.locator(".chips li").count() == 4
    page = ready(open_page(f"{folder.as_uri()}/compare.html#models={slugs[3]},nobody"))
    assert page.locator("#told").inner_text() == "No model of this board is called \u201cnobody\u201d."


def test_students_t_equals_scipy_and_holm_equals_core(folder, open_page):
    page = ready(open_page(f"{folder.as_uri()}/compare.html"))
    t = [0, 1e-6, 0.1, 1, 1.96, 2.5, 4.2, 6, 20]
    for freedom in (1, 1.5, 4, 11, 40, 1000, np.inf):
        given = "Infinity" if np.isinf(freedom) else freedom
        found = page.evaluate(f"(all) => all.map((t) => BrainScore.statistics.twoSided(t, {given}))", t)
        np.testing.assert_allclose(found, 2 * stats.t.sf(t, freedom), rtol=1e-7)
        quantile = page.evaluate(f"BrainScore.statistics.quantile({given})")
        assert quantile == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-8)
    for p in ([0.01, 0.04, 0.03, None], [0.5, 0.5, 1.0], [1e-9, 0.2, 0.2, 0.01, None, None], []):
        expected = [None if np.isnan(each) else each for each in holm([np.nan if each is None else each for each in p])]
        assert page.evaluate("(p) => BrainScore.statistics.holm(p)", p) == pytest.approx(expected)


def test_correlations_equal_core(folder, board, open_page):
    page = ready(open_page(f"{folder.as_uri()}/explore.html"))
    rng = np.random.default_rng(0)
    x = rng.integers(0, 9, 30).astype(float)
    y = x + rng.standard_normal(30).round(0)
    for ranked in (False, True):
        found = page.evaluate(
            "([x, y, ranked]) => BrainScore.statistics.correlation(x, y, {ranked})", [x.tolist(), y.tolist(), ranked]
        )
        expected = correlation_over_models(x, y, ranked=ranked)
        assert found == pytest.approx(expected._asdict(), abs=1e-9)
    few = page.evaluate("BrainScore.statistics.correlation([1, 2, null], [2, 3, 4])")
    assert few["n"] == 2
    assert np.isnan(few["r"])


def trees_of(board, columns, rule):
    """Return core's averages of each model by a rule, and the parents of nodes, keyed by node index."""
    nodes = board["nodes"]
    leaves = {at: columns[at] for at, is_leaf in enumerate(nodes["leaf"]) if is_leaf and nodes["counts"][at]}
    counted = [str(at) for at, counts in enumerate(nodes["counts"]) if counts]
    parents = {at: str(nodes["parent"][int(at)]) for at in counted if nodes["parent"][int(at)] >= 0}
    trees = []
    for model in range(len(board["models"]["id"])):
        scores = {
            str(at): Estimate(math.nan if column["value"][model] is None else column["value"][model])
            for at, column in leaves.items()
        }
        trees.append(average_tree(scores, parents, missing=rule))
    return trees, parents


@pytest.mark.parametrize("rule", ["left out", "zero"])
def test_rule_for_missing_scores_applies_to_all_pages(folder, board, columns, open_page, rule):
    """Averages, the order of rows and both charts equal Python's under the rule in the address."""
    nodes, word = board["nodes"], rule.replace(" ", "-")
    trees, parents = trees_of(board, columns, rule)
    v1, it = (str(nodes["id"].index(name)) for name in ("V1", "IT"))
    page = open_page(f"{folder.as_uri()}/index.html")
    told = "(node) => BrainScore.loadColumn(node).then(({ value }) => value.map((x) => x ?? NaN))"
    at_first = page.evaluate(told, 0)
    page.locator("#missing").select_option(word)
    assert page.url.endswith(f"#missing={word}")
    for node in {*parents.values()}:
        expected = [tree[node].value for tree in trees]
        assert page.evaluate(told, int(node)) == pytest.approx(expected, abs=1e-12, nan_ok=True)
    assert page.evaluate(told, 0) != pytest.approx(at_first, nan_ok=True)
    page.wait_for_function("BrainScore.view.column(0)")
    top = page.evaluate("BrainScore.view.rows().rest[0]")
    assert trees[top]["0"].value == max(tree["0"].value for tree in trees if not tree["0"].is_missing)
    page.locator("nav").get_by_text("Explore").click()
    ready(page)
    assert page.locator("#missing").input_value() == word
    both = [(tree[v1].value, tree[it].value) for tree in trees if not (tree[v1].is_missing or tree[it].is_missing)]
    r = np.corrcoef(np.array(both).T)[0, 1]
    assert page.locator("#correlation").inner_text().startswith(f"Pearson {r:.2f} [".replace("-", "\u2212"))
    assert f"n = {len(both)} models" in page.locator("#correlation").inner_text()
    page.locator("#missing").select_option("complete")
    assert "missing" not in page.url
    page.go_back()
    page.wait_for_function("(word) => document.getElementById('missing').value === word", word)


@pytest.mark.parametrize("rule", ["zero", "left-out", "complete"])
def test_comparison_charts_and_table_agree_on_signs(folder, board, columns, open_page, rule):
    """Charts and table average a complete and two incomplete models over their common benchmarks."""
    lacking = columns[0]["missing"]
    places = [
        lacking.index(0),
        *[at for at, lacks in enumerate(lacking) if lacks and columns[0]["code"][at] == "p"][:2],
    ]
    slugs = ",".join(board["models"]["slug"][at] for at in places)
    page = ready(open_page(f"{folder.as_uri()}/compare.html#models={slugs}&missing={rule}"))
    names = [board["models"]["name"][at] for at in places]
    (description,) = page.locator("#chart-slope svg desc").all_text_contents()
    shown = [part.rpartition(": ")[2].split(", ") for part in description.split("; ")]
    rows = page.locator("#table-differences tbody tr").all()
    heads = [row.locator("th").inner_text() for row in rows]
    nodes = [at for at in board["top"] if not board["nodes"]["leaf"][at] and board["nodes"]["name"][at] in heads]
    cells = {head: row.locator("td").all_inner_texts() for head, row in zip(heads, rows, strict=True)}
    scored = [node for node in nodes if "no benchmark" not in cells[board["nodes"]["name"][node]][3]]
    assert len(scored) > 3
    signs = []
    for column, node in enumerate(scored):
        of_table = cells[board["nodes"]["name"][node]]
        values = [float(of_model[column].replace("\u2212", "-")) for of_model in shown]
        assert [f"{value:.3f}" for value in values] == [
            text.split()[0].replace("\u2212", "-").replace("-0.000", "0.000") for text in of_table[:3]
        ]
        for at in (1, 2):
            difference = float(of_table[2 + at].split()[0].split("[")[0].replace("\u2212", "-").replace("+", ""))
            assert difference == pytest.approx(values[at] - values[0], abs=0.0011), (names, node)
            signs.append(difference * (values[at] - values[0]))
    assert min(signs) >= -1e-6
    of_zero = [columns[0]["value"][at] for at in places]
    assert of_zero[1:] == [None, None]


@pytest.mark.parametrize("rule", ["zero", "left out", "complete"])
def test_model_and_average_pages_follow_the_missing_rule(folder, board, columns, open_page, rule):
    trees, word = trees_of(board, columns, rule)[0], rule.replace(" ", "-")
    of_present = trees_of(board, columns, "left out")[0]
    is_complete = [not tree["0"].is_missing for tree in trees_of(board, columns, "complete")[0]]
    shown = [
        {node: of_present[at][node] if each.is_missing else each for node, each in tree.items()}
        for at, tree in enumerate(trees)
    ]
    place = is_complete.index(False)
    page = ready(open_page(f"{folder.as_uri()}/models/{board['models']['slug'][place]}.html"))
    rows = page.locator("tr[data-average]")
    written = rows.evaluate_all("(all) => all.map((row) => row.innerHTML)")
    before = "left-out" if rule == "zero" else "zero"
    page.locator("#missing").select_option(before)
    first = "document.querySelector('tr[data-average] td')"
    page.wait_for_function(f"!{first}.className")
    page.locator("#missing").select_option(word)
    page.wait_for_function(f"(text) => {first}.textContent.endsWith(text)", f"{shown[place]['0'].value:.3f}")
    page.wait_for_function(f"({first}.className === 'part') === {str(rule == 'complete').lower()}")
    nodes = rows.evaluate_all("(all) => all.map((row) => row.dataset.average)")
    for node, row in zip(nodes, rows.all(), strict=True):
        expected, text = shown[place][node], row.locator("td").first.inner_text()
        assert text in REASONS if expected.is_missing else text.endswith(f"{expected.value:.3f}"), node
    if rule == "complete":
        assert rows.evaluate_all("(all) => all.map((row) => row.innerHTML)") == written
        assert "not ranked" in written[0]
    tile = page.locator(".tiles .tile").first
    assert tile.locator(".tile-value").inner_text() == f"{shown[place]['0'].value:.3f}"
    assert tile.locator(".tile-detail").inner_text().endswith("not ranked")
    page.go_back()
    page.wait_for_function(f"document.getElementById('missing').value === '{before}'")

    page = ready(open_page(f"{folder.as_uri()}/benchmarks/average.html#missing={word}"))
    page.evaluate("BrainScore.longTables.show()")
    there = [
        (rule == "complete" and not whole, -tree["0"].value) for whole, tree in zip(is_complete, shown, strict=True)
    ]
    values = [-value for _, value in sorted(each for each in there if not math.isnan(each[1]))]
    cells = page.locator("#rows-scores td:nth-child(3)").all_inner_texts()
    assert [text.split()[-1] for text in cells] == [f"{value:.3f}" for value in values]
    assert page.locator("#rows-without tr").count() == len(trees) - len(values)
    n_drawn = sum(is_complete) if rule == "complete" else len(values)
    assert page.locator("#chart-distribution").get_by_text(f"{n_drawn} models;").count() == 1


@pytest.mark.parametrize("rule", ["zero", "left out", "complete"])
def test_profile_of_a_model_equals_python(folder, board, open_page, rule):
    nodes = board["nodes"]
    shown = {entry.identifier: entry.parent for entry in MADE.catalogue.nodes if entry.parent is not None}
    shown |= {one.identifier: one.parent for one in MADE.catalogue.benchmarks if one.parent and not one.simulated}
    identifier, slug = (board["models"][name][PLACE] for name in ("id", "slug"))
    expected = {row.name: row for row in standings(RECORDS, identifier, parents=shown, missing=rule)}
    page = ready(open_page(f"{folder.as_uri()}/models/{slug}.html#missing={rule.replace(' ', '-')}"))
    rows = page.evaluate(f"BrainScore.profile(BrainScore.taken('board'), {PLACE})")
    names = dict(zip(nodes["name"], nodes["id"], strict=True))
    found = {names[row["label"]]: row for row in rows if row["marked"][0]["value"] is not None}
    assert len(found) == len(set(found) & set(expected)) > 3 or rule == "complete"
    for name, row in found.items():
        (mark,) = row["marked"]
        numbers = [mark["value"], mark["low"], mark["high"], row["best"], row["median"]]
        numbers = [math.nan if number is None else number for number in numbers]
        theirs = expected[name]
        wanted = [theirs.score, *theirs.interval, theirs.best, theirs.median]
        assert numbers == pytest.approx(wanted, abs=1e-12, nan_ok=True), name
    chart = page.locator("#chart-distribution svg")
    assert chart.locator(".best").count() == chart.locator(".median").count() >= len(found)


def test_explore_plots_any_two_benchmarks(folder, board, columns, open_page):
    page = ready(open_page(f"{folder.as_uri()}/explore.html"))
    places = [[place for place, leaf in enumerate(board["nodes"]["leaf"]) if leaf][at] for at in (0, 3)]
    x, y = (board["nodes"]["slug"][place] for place in places)
    page.get_by_label("Horizontal axis").select_option(x)
    page.get_by_label("Vertical axis").select_option(y)
    values = [np.array(columns[place]["value"], dtype=float) for place in places]
    both = np.isfinite(values[0]) & np.isfinite(values[1])
    r = stats.pearsonr(values[0][both], values[1][both]).statistic
    page.locator("#correlation").get_by_text(f"n = {both.sum()} models").wait_for()
    assert f"Pearson {r:.2f}".replace("-", "\u2212") in page.locator("#correlation").inner_text()
    assert page.locator("#chart-against circle.dot").count() == both.sum()
    page.reload()
    ready(page)
    assert page.get_by_label("Horizontal axis").input_value() == x
    assert f"Pearson {r:.2f}".replace("-", "\u2212") in page.locator("#correlation").inner_text()


def test_pareto_front_and_links_of_the_similarity_map(folder, open_page):
    page = ready(open_page(f"{folder.as_uri()}/explore.html"))
    rng = np.random.default_rng(2)
    points = [{"x": float(x), "y": float(y)} for x, y in rng.integers(0, 20, (80, 2))]
    found = page.evaluate("(p) => BrainScore.charts.paretoFront(p)", points)
    beaten = {
        (one["x"], one["y"])
        for one in points
        if any(o["x"] <= one["x"] and o["y"] >= one["y"] and (o["x"], o["y"]) != (one["x"], one["y"]) for o in points)
    }
    assert {(points[at]["x"], points[at]["y"]) for at in found} == {(each["x"], each["y"]) for each in points} - beaten
    plot = page.locator("#chart-similar .plot")
    plot.focus()
    plot.press("ArrowDown")  # the first cell
    plot.press("ArrowRight")
    said = page.locator("#chart-similar [aria-live]").inner_text()
    plot.press("Enter")
    page.wait_for_url("**#*x=*")
    chosen = [page.locator(f"#{axis} option:checked").inner_text().strip() for axis in ("x", "y")]
    assert said.startswith(f"{chosen[0]} and {chosen[1]}:")
    assert "n = " in said


def test_cost_chart_shows_the_details(folder, board, open_page):
    page = ready(open_page(f"{folder.as_uri()}/explore.html"))
    leaf = board["nodes"]["slug"][board["nodes"]["leaf"].index(True)]
    assert page.locator("#price option:not([disabled])").count() == 1
    page.get_by_label("Score", exact=True).select_option(leaf)
    page.locator("#price option:not([disabled])").nth(2).wait_for(state="attached")
    page.get_by_label("Cost", exact=True).select_option("duration_s")
    page.locator("#chart-cost").get_by_text("Time to score (s)", exact=True).wait_for()
    detail, column = (read_data(folder / f"data/{kind}/{leaf}.js") for kind in ("detail", "columns"))
    pairs = zip(detail["duration_s"], column["value"], strict=True)
    n = sum(cost is not None and value is not None for cost, value in pairs)
    assert page.locator("#chart-cost circle.dot").count() == n


@pytest.fixture(scope="module")
def branch_site(tmp_path_factory):
    """Build the site of a branch with replaced records."""
    base, made = tmp_path_factory.mktemp("branch"), MadeUp.of("6x8", seed=2)
    (base / "branch").mkdir()
    build(made.commit(base / "branch"), made.catalogue, base / "site")
    return base / "site"


def test_board_as_of_a_day_uses_the_scores_of_that_day(branch_site, open_page):
    """It follows the rule for missing scores and omits benchmarks without any score; Back undoes the slider."""
    board = read_data(branch_site / "data/board.js")
    nodes, slugs = board["nodes"], board["models"]["slug"]
    histories = [read_data(branch_site / f"data/models/{slug}.js")["history"] for slug in slugs]
    page = open_page(f"{branch_site.as_uri()}/index.html")
    page.get_by_text("Date", exact=True).click()
    slider = page.get_by_label("Scores as of")
    page.wait_for_function("document.getElementById('at').max > 3")
    n_states = int(slider.get_attribute("max"))
    averages = [str(at) for at, leaf in enumerate(nodes["leaf"]) if nodes["counts"][at] and not leaf]
    n_replaced = n_empty = 0
    for state in (n_states // 8, n_states // 2, n_states - 2):
        slider.fill(str(state))
        day = page.locator("#day").inner_text()
        assert page.url.endswith(f"at={day}")
        then = []
        for history in histories:
            scores = {}
            for entry in reversed(history):  # replaced ones come first, oldest first
                if entry["created"][:10] <= day and day < entry.get("replaced", "9999")[:10]:
                    scores[entry["benchmark"]] = entry["score"]
                    n_replaced += "replaced" in entry
            then.append(scores)
        had_score = {leaf for scores in then for leaf in scores if nodes["counts"][leaf]}
        parents = {}
        for leaf in had_score:
            at = leaf
            while nodes["parent"][at] >= 0:
                parents[str(at)] = str(nodes["parent"][at])
                at = nodes["parent"][at]
        trees = [
            average_tree(
                {str(at): Estimate(s) for at, s in scores.items() if at in had_score}, parents, missing="complete"
            )
            for scores in then
        ]
        page.wait_for_function("BrainScore.view.column(0)")
        for node in averages:
            expected = [tree[node].value if node in tree else math.nan for tree in trees]
            value = page.evaluate("(node) => BrainScore.view.column(node).value.map((x) => x ?? NaN)", int(node))
            assert value == pytest.approx(expected, abs=1e-12, nan_ok=True), (day, nodes["id"][int(node)])
            n_empty += np.isnan(expected).all()
        assert page.locator("#notes").inner_text().startswith(f"Scores as of {day}")
    assert n_replaced > 0
    assert n_empty > 0
    page.go_back()
    page.wait_for_function("(day) => document.getElementById('day').textContent !== day", day)
    page.reload()
    page.wait_for_function("BrainScore.view.column(0)?.reweighted")
    page.locator("#notes").get_by_role("button", name="Back to today").click()
    assert page.evaluate("BrainScore.view.column(0).value") == board["columns"]["0"]["value"]


def test_scores_as_of_a_rollout_day_equal_a_build_of_that_day(tmp_path, open_page):
    """One model a day is rescored on version 2 of a benchmark: the browser uses the version that counted that day."""
    made = MadeUp.of("12x3", seed=5)
    folder, benchmark = tmp_path / "branch", made.catalogue.benchmarks[0].identifier
    (folder / "records").mkdir(parents=True)
    made.write(folder / "records")

    def commit(day):
        as_somebody = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        dates = {**os.environ, **dict.fromkeys(("GIT_COMMITTER_DATE", "GIT_AUTHOR_DATE"), f"{day}T12:00:00Z")}
        for command in (["add", "-A"], [*as_somebody, "commit", "-qm", day]):
            subprocess.run(["git", "-C", folder, *command], check=True, env=dates)

    subprocess.run(["git", "-C", folder, "init", "-q", "-b", "scores"], check=True)
    commit("2026-03-01")
    scored = [record for record in made.records() if record.benchmark == benchmark and record.score is not None]
    for number, record in enumerate(scored):
        day = f"2026-03-{number + 2:02}"
        half = {"score": record.score / 2, "normalization": None, "created": f"{day}T01:00:00+00:00"}
        newer = dataclasses.replace(record, benchmark_version=2, **half)
        newer.write(record_path(folder / "records", record.model, benchmark))
        commit(day)
    build(CommitSource.of(folder, "scores"), made.catalogue, tmp_path / "site")
    node = read_data(tmp_path / "site/data/board.js")["nodes"]["id"].index(benchmark)
    page = open_page((tmp_path / "site/index.html").as_uri())
    page.evaluate("BrainScore.load('dates')")
    counted = []
    for number in (0, 1, 2, len(scored) - 3, len(scored) - 2, len(scored) - 1, len(scored)):
        day = dt.date(2026, 3, 1 + number)
        build(CommitSource.of(folder, "scores", day), made.catalogue, tmp_path / "then", gone=None)
        then = read_data(tmp_path / "then/data/board.js")
        slug = then["nodes"]["slug"][node]
        expected = then["columns"].get(str(node)) or read_data(tmp_path / f"then/data/columns/{slug}.js")
        page.evaluate(f"BrainScore.state.set({{ at: '{day}' }})")
        page.evaluate("(node) => BrainScore.view.need(node)", node)
        column = page.evaluate("(node) => BrainScore.view.column(node)", node)
        for name in ("value", "unranked", "rank", "code"):
            assert column[name] == expected[name], (day, name)
        counted.append((sum(value is not None for value in column["value"]), len(column["unranked"])))
    n = len(scored)
    assert counted[:3] == [(n, 0)] * 3
    assert counted[-1] == (n, 0)
    assert counted[-2] == (n - 1, 1)  # 90 % have version 2: the last one is shown with version 1


def test_model_page_shows_the_history(branch_site, open_page):
    slug = read_data(branch_site / "data/board.js")["models"]["slug"][0]
    history = read_data(branch_site / f"data/models/{slug}.js")["history"]
    earlier = [each for each in history if "replaced" in each]
    page = ready(open_page(f"{branch_site.as_uri()}/models/{slug}.html"))
    rows = page.get_by_role("region", name="Table of replaced records").locator("tbody tr")
    assert rows.count() == len(earlier) > 0
    assert "version of the benchmark, code of the benchmark" in rows.first.inner_text()
    assert page.locator("#chart-history svg").count() == 1


def test_benchmark_explains_its_metric(folder, board, open_page):
    nodes = board["nodes"]
    node = next(at for at, sentence in enumerate(nodes["metric"]) if sentence and nodes["parent"][at] > 0)
    entry = MADE.catalogue.benchmark[nodes["id"][node]]
    page = open_page(f"{folder.as_uri()}/index.html#open={nodes['slug'][nodes['parent'][node]]}")
    header = page.locator(f"#board th[data-node='{node}'] .sort")
    assert header.get_attribute("title") == entry.metric == nodes["metric"][node]
    page = open_page(f"{folder.as_uri()}/index.html#cell={board['models']['slug'][PLACE]},{nodes['slug'][node]}")
    more = page.locator("#panel").get_by_text(entry.metric).get_by_role("link")
    more.click()
    page.wait_for_url(f"**/benchmarks/{nodes['slug'][node]}.html#metric")
    assert page.locator("#metric").inner_text() == f"Metric: {entry.metric}"


def test_status_page_counts_and_filters(folder, board, open_page):
    page = ready(open_page(f"{folder.as_uri()}/status.html"))
    codes = "".join(read_data(folder / "data/status.js")["codes"])
    run = Run.from_json((folder.parent / "records" / RUN_FILE).read_bytes())
    told = page.locator("header.page-head").inner_text()
    assert all(each in told for each in ("scored merge", "c0ffeec0ffee", run.started[:16].replace("T", " ")))
    assert re.search(r", after \d+ (s|min|h)", told)
    assert f"{run.n_planned} pairs were planned" in told
    page.get_by_text("Planned pairs without a record").click()
    missing = page.get_by_role("region", name="Table of planned pairs without a record").locator("tbody tr")
    assert missing.count() == run.n_missing > 0
    assert f"{len(codes)} pairs of 16 benchmarks and 24 models" in page.locator("#shown").inner_text()
    page.get_by_label("Show", exact=True).select_option("f")
    rows = page.get_by_role("region", name="Pairs: failed").locator("tbody tr")
    rows.first.wait_for()
    assert rows.count() == codes.count("f") > 0
    assert all("failed:" in each.inner_text() for each in rows.all())
    page.reload()
    assert page.get_by_label("Show", exact=True).input_value() == "f"
    assert f"{codes.count('f')} pairs" in page.locator("#shown").inner_text()


def download_from(page, button):
    """Return the bytes of the file saved by clicking a button."""
    with page.expect_download() as download:
        button.click()
    return download.value.path().read_bytes()


def test_citation_can_be_copied_and_saved(folder, pages, serve, open_page):
    page = ready(open_page(serve(folder) + pages["evil model"], permissions=["clipboard-read", "clipboard-write"]))
    bibtex = read_data(folder / "data" / pages["evil model"].replace(".html", ".js"))["facts"]["bibtex"]
    page.get_by_role("button", name="Copy: BibTeX").click()
    page.get_by_role("button", name="Copy: BibTeX").get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == bibtex
    assert download_from(page, page.get_by_role("button", name="Save as")).decode() == bibtex + "\n"


def test_visible_benchmarks_citations_are_saved_once_each(folder, board, open_page):
    nodes = board["nodes"]
    page = open_page(f"{folder.as_uri()}/index.html#without=neural")
    page.locator("#take summary").click()
    text = download_from(page, page.locator("#bibtex")).decode()

    def is_below(node, above):
        return node >= 0 and (nodes["id"][node] == above or is_below(nodes["parent"][node], above))

    shown = [at for at, leaf in enumerate(nodes["leaf"]) if leaf and not is_below(at, "neural")]
    cited = {MADE.catalogue.benchmark[nodes["id"][at]].bibtex for at in shown} - {None}
    assert len(cited) > 2
    assert sorted(text.strip().split("\n\n")) == sorted(each.strip() for each in cited)


@pytest.mark.parametrize("origin", ["server", "file"])
def test_figures_can_be_saved(origin, folder, pages, serve, open_page):
    page = ready(open_page((serve(folder) if origin == "server" else folder.as_uri() + "/") + pages["model"]))
    svg, png = (
        download_from(page, page.get_by_role("button", name=f"Save {kind} of").first) for kind in ("SVG", "PNG")
    )
    root = ET.fromstring(svg)  # noqa: S314  # the file was made above
    width, height = (float(each) for each in root.get("viewBox").split()[2:])
    marks = root.findall(".//{http://www.w3.org/2000/svg}circle")
    assert marks
    assert all(each.get("fill").startswith("rgb") for each in marks)
    assert not root.findall(".//*[@class]")
    with Image.open(io.BytesIO(png)) as picture:
        assert picture.size == (2 * int(width), 2 * int(height))
        assert len(picture.convert("RGB").getcolors(100_000)) > 10


def test_chart_values_can_be_saved(folder, board, open_page):
    page = ready(open_page(f"{folder.as_uri()}/explore.html"))
    charts = (page.locator(f"#chart-{chart}") for chart in ("against", "similar"))
    against, similar = (
        download_from(page, chart.get_by_role("button", name="Save CSV of")).decode() for chart in charts
    )
    head, *rows = csv.reader(io.StringIO(against))
    assert head == ["model", "V1", "IT"]
    nodes, models = board["nodes"], board["models"]
    x, y = (board["columns"][str(nodes["id"].index(name))]["value"] for name in ("V1", "IT"))
    both = zip(models["name"], x, y, strict=True)
    expected = [(name, a, b) for name, a, b in both if a is not None and b is not None]
    assert [(name, float(a), float(b)) for name, a, b in rows] == expected
    head, *rows = csv.reader(io.StringIO(similar))
    assert [row[0] for row in rows] == head[1:]
    assert all(row[place + 1] == "" for place, row in enumerate(rows))  # correlation with itself
    assert sum(cell != "" for row in rows for cell in row[1:]) > len(rows)
    page = ready(open_page(f"{folder.as_uri()}/status.html"))
    assert page.get_by_role("button", name="Save SVG of").is_visible()
    assert not page.get_by_role("button", name="Save CSV of").is_visible()


def test_model_page_has_a_table_of_contents(folder, board, open_page):
    page = open_page(f"{folder.as_uri()}/models/{board['models']['slug'][PLACE]}.html", viewport=TIGHT)
    titles = page.locator("article h2")
    assert page.locator(".contents a").all_inner_texts() == titles.all_inner_texts()
    assert page.locator(".contents a").evaluate_all(
        "(all) => all.map((it) => it.hash.slice(1))"
    ) == titles.evaluate_all("(all) => all.map((it) => it.id)")


def test_charts_handle_the_largest_board(folder, open_page):
    page = ready(open_page(f"{folder.as_uri()}/status.html"))
    assert page.evaluate(
        """() => {
          const values = Array.from({ length: 741 }, () => Array.from({ length: 289 }, (_, at) => at));
          const heat = BrainScore.charts.heat(values, values[0], values, { title: "all" });
          const histogram = BrainScore.charts.histogram(values.flat(), { title: "all" });
          return [heat, histogram].every((chart) => chart instanceof SVGElement);
        }"""
    )


def test_all_pages_open_at_the_size_of_the_published_board(tmp_path, serve, open_page, build_site):
    """A page fails if it throws, logs an error or never finishes."""
    site = build_site(tmp_path, MadeUp.of("741x289"))
    shutil.rmtree(tmp_path / "records")  # 1.5 GB
    address, board = serve(site), read_data(site / "data/board.js")
    slugs, nodes = board["models"]["slug"], board["nodes"]
    n_charts = {
        f"models/{slugs[PLACE]}.html": 1,
        f"benchmarks/{nodes['slug'][nodes['leaf'].index(True)]}.html": 3,
        "benchmarks/average.html": 3,
        f"compare.html#models={','.join(slugs[:5])}": 2,
        "explore.html": 3,
        "status.html": 1,
    }
    for path, number in n_charts.items():
        page = ready(open_page(address + path))
        assert page.locator("svg.chart").count() >= number, path
    page = open_page(f"{address}index.html#open=V1")
    page.wait_for_function("document.querySelectorAll('#rows td.score .value').length > 100")


@pytest.fixture(scope="module")
def long_pages(tmp_path_factory, build_site):
    """Return the address of a benchmark page with 90 models, and the links of its rows."""
    site = build_site(tmp_path_factory.mktemp("long"), MadeUp.of("90x2", seed=1))
    page = next((site / "benchmarks").glob("*-*.html"))
    table = re.search(r'<table class="facts-table scores">.*?</table>', page.read_text(), re.DOTALL)[0]
    return page.as_uri(), re.findall(r'href="\.\./models/([^"]+)"', table)


@pytest.mark.parametrize("need", ["scroll", "walk", "search", "search by the menu", "print"])
def test_long_table_adds_rows_on_demand(long_pages, open_page, need):
    address, models = long_pages
    page = ready(open_page(address))
    links, details = page.locator("table.scores tbody a"), page.locator("details", has_text="with reasons").first
    assert links.count() == 60 < len(models)
    assert page.locator("table.scores").get_attribute("aria-rowcount") == str(len(models) + 1)
    {
        "scroll": lambda: page.locator(".table-room.tall").first.evaluate("(it) => it.scrollTo(0, 200)"),
        "walk": lambda: page.locator(".table-room.tall").first.focus(),
        "search": lambda: page.keyboard.press("Control+f"),
        "search by the menu": lambda: page.evaluate("dispatchEvent(new Event('blur'))"),
        "print": lambda: page.evaluate("dispatchEvent(new Event('beforeprint'))"),
    }[need]()
    page.wait_for_function("(n) => document.querySelectorAll('table.scores tbody a').length === n", len(models))
    assert [link.get_attribute("href").removeprefix("../models/") for link in links.all()] == models
    if need in ("scroll", "walk"):
        assert details.locator("tbody tr").count() == 0
        details.locator("summary").click()
    page.wait_for_function("(n) => document.querySelectorAll('details tbody a').length === n", 90 - len(models))


def test_rows_by_another_rule_are_not_duplicated(long_pages, open_page):
    page = ready(open_page(re.sub(r"[^/]+$", "average.html", long_pages[0]) + "#missing=left-out"))
    rows = page.locator("#rows-scores tr")
    assert rows.count() == 60
    page.evaluate("BrainScore.longTables.show()")
    scored = page.evaluate("BrainScore.column(0).value.filter((value) => value !== null).length")
    assert rows.count() == scored > 60
    assert len({*page.locator("#rows-scores a").all_inner_texts()}) == scored


SHIFTS = """globalThis.shift = 0;
const add = (list) => list.getEntries().forEach((it) => (shift += it.value));
new PerformanceObserver(add).observe({ type: "layout-shift" });
"""


@pytest.mark.parametrize("kind", ["model", "benchmark", "compare", "explore", "status"])
def test_layout_does_not_shift_while_loading(folder, pages, browser, kind):
    """Cumulative layout shift, https://web.dev/articles/cls: below 0.1 is good."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.add_init_script(SHIFTS)
    page.goto(f"{folder.as_uri()}/{pages[kind]}")
    ready(page)
    page.wait_for_timeout(200)
    shift = page.evaluate("shift")
    page.close()
    assert shift < 0.1


def test_chart_points_work_with_the_keyboard(folder, board, pages, open_page):
    page = ready(open_page(f"{folder.as_uri()}/{pages['benchmark']}"))
    plot = page.locator("#chart-parameters .plot")
    plot.focus()
    plot.press("End")
    said = page.locator("#chart-parameters [aria-live]").inner_text()
    column = pages["benchmark"].replace("benchmarks/", "columns/").replace(".html", ".js")
    values, models = read_data(folder / "data" / column)["value"], board["models"]
    sizes = zip(models["parameters"], models["name"], values, strict=True)
    largest = max((size, name) for size, name, value in sizes if size is not None and value is not None)[1]
    assert said.startswith(f"{largest}: ")
    assert page.locator("#chart-parameters .tip").inner_text() == said
    plot.press("Escape")
    assert page.locator("#chart-parameters .tip").is_hidden()
    plot.press("End")
    plot.press("Enter")
    page.wait_for_url("**/models/**")
    assert page.locator("h1").inner_text() == largest


def test_charts_follow_width_and_theme(folder, pages, open_page):
    page = ready(open_page(f"{folder.as_uri()}/{pages['status']}", color_scheme="light"))
    chart = page.locator("#chart-pairs svg")
    before = page.locator("#chart-pairs image").get_attribute("href")
    wide, width = chart.bounding_box()["width"], chart.get_attribute("width")
    page.get_by_role("button", name="Dark").click()
    page.locator(f"#chart-pairs image:not([href='{before}'])").wait_for()
    page.set_viewport_size(TIGHT)
    page.locator(f"#chart-pairs svg:not([width='{width}'])").wait_for()
    assert chart.bounding_box()["width"] < wide
