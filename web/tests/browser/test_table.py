"""Test the table as users do: from a server and from a file, with the mouse, the keyboard and the address."""

import csv
import dataclasses
import io
import json
import shutil

import pytest

from brainscore_web.leaderboard.catalogue import Catalogue
from brainscore_web.leaderboard.made_up import MadeUp
from brainscore_web.leaderboard.site import build
from brainscore_web.leaderboard.sources import FolderSource

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def table_address(folder_of_table, serve):
    """Return the address of the table on a server."""
    return serve(folder_of_table) + "index.html"


@pytest.fixture
def table(table_address, open_page):
    """Return a function that opens the table with a state in the address."""
    return lambda state="", **options: open_page(table_address + state, **options)


def names(page):
    """Return the names of the visible models, in order."""
    return page.locator("#board tbody th.model a").all_inner_texts()


def headings(page):
    """Return the names of the visible score columns."""
    return [text.replace("\n", "") for text in page.locator("#board thead th.score .name").all_inner_texts()]


def expected_order(columns, node, *, descending=True):
    """Return the models with a value at a node, sorted by it; ties keep the order of names."""
    values = columns[node]["value"]
    sign = -1 if descending else 1
    there = [model for model in range(len(values)) if values[model] is not None]
    return sorted(there, key=lambda model: sign * values[model])


def slugs(page, board):
    """Return the slugs of the visible models."""
    links = page.locator("#board tbody th.model a").evaluate_all("(all) => all.map((a) => a.getAttribute('href'))")
    return [link.removeprefix("models/").removesuffix(".html") for link in links]


def test_first_rows_are_readable_without_scripts(folder_of_table, board_of_table, open_page):
    board, columns = board_of_table
    page = open_page((folder_of_table / "index.html").as_uri(), java_script_enabled=False)
    order = expected_order(columns, 0)[:25]
    assert slugs(page, board) == [board["models"]["slug"][model] for model in order]
    first = page.locator("#rows tr").first
    value, low, high = (columns[0][name][order[0]] for name in ("value", "low", "high"))
    assert f"{value:.3f}" in first.inner_text()
    bounded = columns[0]["bounded"][order[0]] == "1"
    assert f"{low:.2f}\u2013{high:.2f}{'*' * bounded}" in first.inner_text().split()
    assert "The first 25 of 60 models" in page.locator("noscript").inner_text()
    assert not page.locator("#q").is_visible()  # controls that need scripts are hidden


@pytest.mark.parametrize("where", ["server", "file"])
def test_table_opens_sorted_by_the_average(where, folder_of_table, board_of_table, table_address, open_page):
    board, columns = board_of_table
    page = open_page(table_address if where == "server" else (folder_of_table / "index.html").as_uri())
    assert headings(page) == ["Average", "Neural", "V1", "V2", "V4", "IT", "Behavior", "Engineering", "Simulated"]
    order = expected_order(columns, 0)
    shown = slugs(page, board)
    assert shown == [board["models"]["slug"][model] for model in order[: len(shown)]]
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("Average")
    assert page.locator("#board").get_attribute("aria-rowcount") == "61"
    assert page.locator("#board").get_attribute("aria-colcount") == str(3 + 9)
    page.locator("#scroller").evaluate("(it) => it.scrollTo(0, 1e6)")
    last = board["models"]["slug"][order[-1]]
    page.wait_for_function("(slug) => document.querySelector(`#rows a[href*=${slug}]`)", arg=last)
    assert page.locator("#rows tr[aria-rowindex='61']").count() == 1


def test_sorts_by_any_column_in_both_directions(table, board_of_table):
    board, columns = board_of_table
    page = table()
    v4 = board["nodes"]["id"].index("V4")
    for descending in (True, False):
        page.locator("thead .sort", has_text="V4").click()
        order = expected_order(columns, v4, descending=descending)
        shown = slugs(page, board)
        assert shown == [board["models"]["slug"][model] for model in order[: len(shown)]]
        kind = "descending" if descending else "ascending"
        assert page.locator(f"th[aria-sort={kind}]").count() == 1
    page.reload()
    assert slugs(page, board) == shown
    # Ranks refer to the sorted column.
    assert page.locator("#rows td.rank .value").first.inner_text() == str(columns[v4]["rank"][order[0]])
    page.locator("thead .sort", has_text="Model").click()
    assert names(page)[:2] == ["Heron 001", "Heron 002"] or names(page)[1:3] == ["Heron 001", "Heron 002"]


def test_models_without_a_score_come_last_in_both_directions(table, board_of_table):
    board, columns = board_of_table
    leaf = board["nodes"]["id"].index("Birch2003.V1-pls")
    without = [model for model, value in enumerate(columns[leaf]["value"]) if value is None]
    assert without
    for descending in ("1", "0"):
        page = table(f"#open=V1&sort=Birch2003.V1-pls&desc={descending}")
        page.wait_for_function("BrainScore.view.column(BrainScore.view.sorting().by)")
        last = page.evaluate("BrainScore.view.rows().rest")[-len(without) :]
        assert set(last) == set(without)


def test_parent_column_expands_to_its_children(table):
    page = table()
    assert page.locator("th.score[data-node='2'] .expand").get_attribute("aria-expanded") == "false"
    page.locator("th.score[data-node='2'] .expand").click()
    assert headings(page)[:6] == ["Average", "Neural", "V1", "Alder1999.V1", "Birch2002.V1-pls", "Birch2003.V1-pls"]
    page.wait_for_function("!document.querySelector('#rows').innerText.includes('\u2026')")
    assert page.locator("#board").get_attribute("aria-colcount") == str(3 + 9 + 7)
    page.locator("th.score[data-node='3'] .expand").click()  # the group of two below it
    assert "#open=V1,Alder1999.V1" in page.url
    page.reload()
    assert headings(page)[3:6] == ["Alder1999.V1", "Birch2000.V1-pls", "Birch2001.V1-pls"]
    page.locator("th.score[data-node='1'] .expand").click()
    assert headings(page) == ["Average", "Neural", "Behavior", "Engineering", "Simulated"]
    assert "closed=neural" in page.url


def test_cells_without_a_score_give_the_reason(table, board_of_table):
    board, columns = board_of_table
    page = table("#open=V1,simulated")
    page.wait_for_function("!document.querySelector('#rows').innerText.includes('\u2026')")
    texts = page.locator("#rows td.score").evaluate_all("(all) => all.map((cell) => cell.innerText.trim())")
    assert texts
    assert all(texts)
    words = {"n": "n/a", "f": "failed", "q": "not run", "r": "running", "h": "private"}
    leaf = board["nodes"]["id"].index("Birch2002.V1-pls")
    for code, word in words.items():
        model = columns[leaf]["code"].index(code)
        page = table(f"#open=V1&q={board['models']['slug'][model]}")
        at = page.locator(f"th[data-node='{leaf}']").get_attribute("aria-colindex")
        page.wait_for_function("!document.querySelector('#rows').innerText.includes('\u2026')")
        assert word in page.locator(f"#rows td[aria-colindex='{at}']").inner_text()


def test_search_and_filters_select_models(table, board_of_table):
    board, _ = board_of_table
    models = board["models"]
    page = table()
    page.locator("#q").fill("heron 01")
    assert page.locator("#found").inner_text() == "11 of 60 models"  # 001, and 010 to 019
    assert all("01" in name for name in names(page))
    page.locator("#q").fill("nobody")
    assert page.get_by_text("No model matches").is_visible()
    page.locator("#q").fill("")
    page.locator("#filters summary").click()
    page.locator("#access").select_option("private")
    page.locator("#ymin").fill("2015")
    page.locator("#pmax").fill("40")
    page.locator("#training").select_option("Harbour-400M, filtered")
    expected = [
        slug
        for slug, public, year, parameters, training in zip(
            *(models[name] for name in ("slug", "public", "year", "parameters", "training")), strict=True
        )
        if not public and year and year >= 2015 and parameters and parameters <= 40e6 and "Harbour" in training
    ]
    assert sorted(slugs(page, board)) == expected
    page.reload()
    assert sorted(slugs(page, board)) == expected
    assert page.locator("#chips .chip").count() == 4
    page.get_by_role("button", name="Remove the filter private").click()
    assert len(slugs(page, board)) > len(expected)
    page.locator("#filters summary").click()
    page.locator("#clear").click()
    page.locator("#licence").select_option("MIT")
    assert len(slugs(page, board)) == models["licence"].count("MIT")
    page.locator("#clear").click()
    assert page.locator("#found").inner_text() == "60 of 60 models"
    assert "#" not in page.url
    page.locator("#smin").fill("300")
    assert sorted(slugs(page, board)) == [
        slug for slug, size in zip(models["slug"], models["image_size"], strict=True) if size == 384
    ]


def test_search_supports_and_or_and_not(table, board_of_table):
    models, page = board_of_table[0]["models"], table()
    texts = [f"{models['name'][at]} {models['id'][at]}".lower() for at in range(60)]
    for asked, passes in (
        ("001 OR 002", lambda name: "001" in name or "002" in name),
        ("heron 01 NOT 012", lambda name: "01" in name and "012" not in name),
        ("01 AND NOT 012 OR 059", lambda name: ("01" in name and "012" not in name) or "059" in name),
        ("059 OR ", lambda name: "059" in name),
        ("OR", lambda name: "or" in name),
        ("NOT", lambda _: True),
    ):
        page.locator("#q").fill(asked)
        assert page.locator("#found").inner_text().startswith(f"{sum(map(passes, texts))} of 60"), asked


@pytest.fixture
def open_changed(folder_of_table, open_page, tmp_path):
    """Return a function that opens the table of a changed board."""

    def open_(board, state=""):
        site = shutil.copytree(folder_of_table, tmp_path / "site")
        (site / "data/board.js").write_text(f"BrainScore.take('board', {json.dumps(board)});")
        return open_page((site / "index.html").as_uri() + state)

    return open_


def test_benchmarks_can_be_selected_by_their_properties(board_of_table, open_changed):
    board, _ = board_of_table
    nodes = board["nodes"]
    leaves = [at for at, leaf in enumerate(nodes["leaf"]) if leaf]
    ceilings = [0.4 + 0.01 * at if leaf else None for at, leaf in enumerate(nodes["leaf"])]
    public = [not leaf or at % 2 == 0 for at, leaf in enumerate(nodes["leaf"])]
    page = open_changed(board | {"nodes": nodes | {"ceiling": ceilings, "public": public}})
    chosen = f"{leaves}.filter(BrainScore.view.isChosenAmong(BrainScore.view.nodesIn('without')))"
    page.locator("#columns summary").first.click()
    page.get_by_label("Only public measurements").check()
    assert page.evaluate(chosen) == [at for at in leaves if public[at]]
    page.get_by_label("Minimum ceiling").fill("0.6")
    expected = [at for at in leaves if public[at] and ceilings[at] >= 0.6]
    assert page.evaluate(chosen) == expected
    assert "V1" in page.evaluate("BrainScore.state.list('without')")  # including all its children
    page.reload()
    assert page.evaluate(chosen) == expected
    page.locator("#columns summary").first.click()
    page.get_by_label("Minimum stimuli").fill("1000000")
    assert page.evaluate(chosen) == []
    page.get_by_role("button", name="Select all").click()
    assert page.evaluate(chosen) == leaves


def test_pinned_rows_stay_visible(table, board_of_table):
    board, columns = board_of_table
    last = board["models"]["slug"][expected_order(columns, 0)[-1]]
    page = table(f"#pin={last}&q=nobody")
    assert slugs(page, board) == [last]  # a search does not hide it
    page.locator("#q").fill("")
    page.locator("#rows .pin").first.click()
    assert page.locator("#pinned tr").count() == 2
    page.get_by_role("link", name="Compare 2 pinned").wait_for()
    assert last in page.get_by_role("link", name="Compare 2 pinned").get_attribute("href")
    page.reload()
    assert page.locator("#pinned tr").count() == 2
    page.locator("#scroller").evaluate("(it) => it.scrollTo(0, 1000)")
    box, frame = page.locator("#pinned tr").first.bounding_box(), page.locator("#scroller").bounding_box()
    assert frame["y"] < box["y"] < frame["y"] + 150
    page.locator("#unpin").click()
    assert page.locator("#pinned tr").count() == 0


def test_clicking_a_score_shows_its_details(table, board_of_table):
    board, columns = board_of_table
    leaf = board["nodes"]["id"].index("Birch2002.V1-pls")
    above = next(model for model, value in enumerate(columns[leaf]["value"]) if value is not None and value > 1.03)
    slug = board["models"]["slug"][above]
    page = table(f"#open=V1&q={slug}")
    at = page.locator(f"th[data-node='{leaf}']").get_attribute("aria-colindex")
    page.locator(f"#rows td[aria-colindex='{at}']", has_text="▲").click()
    panel = page.locator("#panel")
    panel.get_by_text("Raw score").wait_for()
    text = panel.inner_text()
    value, low, high = (columns[leaf][name][above] for name in ("value", "low", "high"))
    assert ("* The interval is an upper bound" in text) == (columns[leaf]["bounded"][above] == "1")
    expected = (f"{value:.3f}", f"{low:.3f}\u2013{high:.3f}", "0.1234", "0.8000", "3,200", "168", "Above the ceiling")
    assert [part for part in expected if part not in text] == []
    assert panel.get_by_role("link", name="All about Birch2002.V1-pls").get_attribute("href").startswith("benchmarks/")
    assert f"cell={slug},Birch2002.V1-pls" in page.url
    page.reload()
    panel.get_by_text("Raw score").wait_for()
    page.keyboard.press("Escape")
    assert not panel.is_visible()
    assert "cell" not in page.url


def test_average_panel_lists_its_parts(table):
    page = table("#cell=heron_005,neural")
    panel = page.locator("#panel")
    panel.get_by_text("benchmarks have a score").wait_for()
    assert panel.locator(".parts button").all_inner_texts() == ["V1", "V2", "V4", "IT"]
    panel.get_by_role("button", name="V2").click()
    panel.get_by_role("button", name="Birch2007.V2-pls").wait_for()


TAB_STOPS = """() => [...document.querySelectorAll('#board [tabindex="0"]')]
    .map((cell) => [cell.getAttribute('aria-colindex'), cell.parentElement.getAttribute('aria-rowindex')].join(' '))
    .join()"""


def test_tab_reaches_the_first_row_after_an_empty_search(table):
    page = table()
    page.wait_for_function(f"({TAB_STOPS})() === '2 2'")
    page.locator("#q").fill("no model has this name")
    page.wait_for_function(f"({TAB_STOPS})() === '2 1'")  # a heading
    page.locator("#q").fill("")
    page.wait_for_function(f"({TAB_STOPS})() === '2 2'")


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def test_table_works_with_the_keyboard(table):
    page = table()
    page.wait_for_function(f"({TAB_STOPS})() === '2 2'")  # until rows are drawn, Tab leads to a heading
    page.locator("#take summary").focus()
    page.keyboard.press("Tab")  # one stop leads into the grid
    attributes = "document.activeElement.getAttribute('aria-colindex'), document.activeElement.parentElement"
    focused = f"[{attributes}.getAttribute('aria-rowindex')].join(' ')"
    assert page.evaluate(focused) == "2 2"
    for keys, cell in (
        (["ArrowRight"] * 2 + ["ArrowDown"], "4 3"),
        (["Control+End"], "12 61"),
        (["PageUp", "Control+Home"], "1 2"),
        (["ArrowRight", "p"], "2 2"),
    ):
        press(page, *keys)
        assert page.evaluate(focused) == cell
    assert page.locator("#pinned tr").count() == 1
    assert "pinned" in page.locator("#said").inner_text()
    press(page, "p", "Control+Home", "ArrowUp", *["ArrowRight"] * 5)
    assert page.evaluate("document.activeElement.dataset.node") == "2"
    page.keyboard.press("Enter")
    assert "sort=V1" in page.url
    page.keyboard.press("Space")
    assert "open=V1" in page.url
    assert "expanded" in page.locator("#said").inner_text()
    assert page.evaluate("document.activeElement.dataset.node") == "2"  # the focus has not moved
    press(page, "ArrowDown", "Enter")
    page.locator("#panel").get_by_text("benchmarks have a score").wait_for()
    assert page.evaluate("document.activeElement.id") == "panel-title"
    page.keyboard.press("Escape")
    assert page.evaluate(focused) == "6 2"
    page.keyboard.press("Tab")  # one more stop leads out
    assert not page.evaluate("document.getElementById('board').contains(document.activeElement)")


def test_keys_work_while_the_focused_cell_is_out_of_view(table):
    page = table()
    page.locator("#rows td.score").first.focus()
    page.locator("#scroller").evaluate("(it) => it.scrollTo(0, 1e6)")
    page.wait_for_function("!document.querySelector('#rows tr[aria-rowindex=\"2\"]')")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.parentElement.getAttribute('aria-rowindex')") == "3"


@pytest.mark.parametrize("state", ["", "#open=V1&sort=V2&desc=0&q=heron&pin=heron_003,heron_000&without=behavior"])
def test_export_contains_the_whole_view(table, board_of_table, state):
    board, columns = board_of_table
    page = table(state)
    page.locator("#take summary").click()
    texts = []
    for kind in ("csv", "json"):
        with page.expect_download() as download:
            page.locator(f"#{kind}").click()
        texts.append(download.value.path().read_bytes().decode())
    rows, told = list(csv.DictReader(io.StringIO(texts[0]))), json.loads(texts[1])
    order = page.evaluate("BrainScore.table.order()")
    shown = [board["nodes"]["id"][node] for node in page.evaluate("BrainScore.table.columns()")]
    assert len(rows) == len(order) == 60
    assert ("behavior" in shown) == ("without" not in state)
    for row, entry, model in zip(rows, told["models"], order, strict=True):
        name = board["models"]["id"][model]
        assert entry["model"] == name
        assert row["model"] == ("'" + name if name.startswith("=") else name)
        assert list(entry["scores"]) == shown
        for node in shown:
            column = columns[board["nodes"]["id"].index(node)]
            value = column["value"][model]
            assert entry["scores"][node]["value"] == value
            assert row[node] == "" if value is None else float(row[node]) == value
            assert row[f"{node} status"]
            assert (float(row[f"{node} low"]) if row[f"{node} low"] else None) == column["low"][model]
            assert row[f"{node} bounded"] == str(entry["scores"][node]["bounded"]).lower()
            assert entry["scores"][node]["bounded"] == (column["bounded"][model] == "1")


def test_pinned_rows_are_copied_as_text(table, board_of_table):
    page = table("#pin=heron_004,heron_007", permissions=["clipboard-read", "clipboard-write"])
    page.locator("#pinned td.score").first.focus()
    page.keyboard.press("Control+c")
    page.wait_for_function("document.getElementById('said').textContent === '2 rows copied'")
    lines = page.evaluate("navigator.clipboard.readText()").split("\n")
    assert len(lines) == 3
    assert lines[0].split("\t")[:2] == ["model", "name"]
    assert {line.split("\t")[0] for line in lines[1:]} == {"heron_004", "heron_007"}


def test_back_undoes_changes_of_the_view_one_by_one(table):
    page = table("#sort=V2")
    view_now = "[BrainScore.view.sorting().by, BrainScore.table.columns().length, found.innerText]"
    views = [page.evaluate(view_now)]
    for step in (
        lambda: page.locator("thead .sort", has_text="V4").click(),
        lambda: page.locator("th.score[data-node='2'] .expand").click(),
        lambda: page.locator("#q").press_sequentially("heron 00"),  # typing counts as one step
        lambda: (page.locator("#filters summary").click(), page.locator("#family").select_option("Lynx")),
    ):
        step()
        views.append(page.evaluate(view_now))
    assert [len({view[part] for view in views}) for part in range(3)] == [2, 2, 3]
    for view in reversed(views[:-1]):
        page.go_back()
        assert page.evaluate(view_now) == view
    assert page.locator("#q").input_value() == page.locator("#family").input_value() == ""


CUT_OFF = """(node) => {
  const head = document.querySelector(`th[data-node="${node}"]`);
  const parts = [...head.querySelectorAll(".name span, .second > *")];
  const isInside = (it, around) => {
    const { left, right, bottom } = around.getBoundingClientRect();
    return [...it.getClientRects()].every((box) => box.left >= left && box.right <= right && box.bottom <= bottom);
  };
  const cells = `#rows td[aria-colindex="${head.getAttribute("aria-colindex")}"] .tight`;
  const intervals = [...document.querySelectorAll(cells)];
  const isCut = (it) => it.scrollWidth > it.clientWidth || !isInside(it, it.parentElement);
  return {
    parts: parts.map((it) => it.innerText),
    cut: parts.filter((it) => !isInside(it, head)).length + intervals.filter(isCut).length,
    broken: parts.filter((it) => it.getClientRects().length > 1).length,
    intervals: intervals.length > 5,
  };
}"""


@pytest.mark.parametrize("width", [1440, 390])
def test_headings_and_negative_intervals_are_not_cut_off(table, board_of_table, width):
    """Names break only at dots and before capitals; the tag, the number of neuroids and the arrow are visible."""
    node = board_of_table[0]["nodes"]["id"].index("Fir2021.V1-pls")
    page = table("#open=simulated&sort=Fir2021.V1-pls&closed=average", viewport={"width": width, "height": 900})
    page.wait_for_function("(node) => BrainScore.view.column(node)", node)
    page.evaluate(
        """(node) => {
          BrainScore.view.nodes.name[node] = "SimulatedCortex2026.V1-pls";
          const column = BrainScore.view.column(node);
          Object.assign(column, { low: column.low.map(() => -0.12), high: column.high.map(() => -0.05) });
          BrainScore.table.update();
          document.getElementById("scroller").scrollLeft = 1e4;
        }""",
        node,
    )
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    parts = ["Simulated", "Cortex2026.", "V1-", "pls", "168 neuroids", "simulated", "\u2193"]
    assert page.evaluate(CUT_OFF, node) == {"parts": parts, "cut": 0, "broken": 0, "intervals": True}


def test_models_without_any_score_come_last(board_of_table, open_changed):
    board, columns = board_of_table
    leaf = board["nodes"]["id"].index("Birch2003.V1-pls")
    without = [model for model, value in enumerate(columns[leaf]["value"]) if value is None]
    of_top = {
        place: {**column, "value": [*column["value"]], "unranked": {**column["unranked"]}}
        for place, column in board["columns"].items()
    }
    for column in of_top.values():
        column["value"][without[0]] = None
        column["unranked"].pop(str(without[0]), None)
    page = open_changed({**board, "columns": of_top}, "#open=V1&sort=Birch2003.V1-pls")
    page.wait_for_function("BrainScore.view.column(BrainScore.view.sorting().by)")
    last = page.evaluate("BrainScore.view.rows().rest")[-len(without) :]
    assert last == [*without[1:], without[0]]


def test_filters_without_values_are_hidden(board_of_table, open_changed):
    board, _ = board_of_table
    unknown = dict.fromkeys(("family", "licence", "year"), [None] * len(board["models"]["id"]))
    page = open_changed({**board, "models": board["models"] | unknown})
    page.locator("#filters summary").click()
    ids = ("family", "training", "licence", "pmin", "ymin", "smin")
    assert [page.locator(f"#{name}").is_visible() for name in ids] == [False, True, False, True, False, True]


def test_invalid_state_in_the_address_is_ignored(table):
    page = table("#sort=nothing&open=x,V1&pin=nobody&cell=a,b&pmin=abc&without=%&below=x&desc=7")
    assert headings(page)[2] == "V1"
    assert page.locator("#found").inner_text() == "60 of 60 models"


def test_untrusted_text_is_neither_html_nor_formula(table):
    page = table("#cell=heron_000,Birch2002.V1-pls&pin=heron_000")
    page.locator("#panel").get_by_text("Raw score").wait_for()
    assert page.locator("img[src='x']").count() == 0
    assert page.locator("#panel h2").inner_text().startswith("=HYPERLINK")
    for text in ("=1", "+1", "-1", "@x", "\t=1", "\r=1", " =1", "\uff1d1", "\uff20x", "\u200b=1", "|x", "%x", "'=1"):
        assert page.evaluate("(text) => BrainScore.cellText(text)", text).lstrip('"').startswith("'")
    assert page.evaluate("BrainScore.cellText(-0.5)") == "-0.5"


def test_failed_column_shows_not_loaded(folder_of_table, open_page, tmp_path):
    site = shutil.copytree(folder_of_table, tmp_path / "broken")
    (site / "data/columns/Birch2002.V1-pls.js").unlink()
    page = open_page((site / "index.html").as_uri() + "#open=V1", expected_errors=["ERR_FILE_NOT_FOUND"])
    page.get_by_text("not loaded").first.wait_for()
    page.locator("td.score", has_text="not loaded").first.click()
    page.locator("#panel").get_by_text("could not be loaded").wait_for()


def test_only_visible_cells_are_in_the_page(table):
    page = table("#open=V1,V2,V4,IT,behavior,engineering", viewport={"width": 1440, "height": 900})
    for at in range(0, 4_000, 400):
        page.locator("#scroller").evaluate("(it, at) => it.scrollTo(at, at)", at)
        page.evaluate("new Promise(requestAnimationFrame)")
        assert page.evaluate("document.querySelectorAll('*').length") < 2_500
        # Headings are aligned with their columns.
        lefts = "[...document.querySelectorAll(selector)].map((each) => Math.round(each.getBoundingClientRect().left))"
        heads, cells = page.evaluate(
            f"['thead th.score', '#rows tr[aria-rowindex]:nth-child(2) td.score'].map((selector) => {lefts})"
        )
        assert heads == cells


def test_print_shows_all_rows_and_counts_omitted_columns(table, on_paper):
    page = table("#open=V1,V2", color_scheme="dark")
    assert on_paper(page) == ["rgb(255, 255, 255)"]
    assert page.locator("#rows tr[aria-rowindex]").count() == 60
    n_shown, n_all = page.locator("#head th.score").count(), page.evaluate("BrainScore.table.columns().length")
    assert page.locator("#left-out").inner_text().startswith(f"{n_all - n_shown} more columns")
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#rows tr[aria-rowindex]").count() < 60
    assert not page.locator("#left-out").is_visible()


def test_page_does_not_overflow_horizontally(table):
    page = table("#open=V1&pin=heron_001")
    for width in (390, 820, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        page.reload()
        assert page.evaluate("document.documentElement.scrollWidth") == width


STATES = {
    "first": "",
    "wide open": "#open=V1,simulated&pin=heron_003,heron_004&access=public&below=n",
    "score": "#cell=heron_005,Birch2002.V1-pls",
    "average": "#cell=heron_005,neural",
    "weighed": "#weigh=chosen&without=behavior&below=rank",
    "empty": "#q=nobody",
}


@pytest.mark.parametrize(
    ("state", "menu", "width", "theme"),
    [
        *((state, None, 1440, "light") for state in STATES),
        *((state, None, 390, "dark") for state in ("wide open", "score")),
        *(("first", menu, 390, "dark") for menu in ("filters", "take", "columns")),
    ],
)
def test_table_is_accessible(table, violations, state, menu, width, theme):
    page = table(STATES[state], color_scheme=theme, viewport={"width": width, "height": 900})
    page.wait_for_function("!document.querySelector('#rows').innerText.includes('\u2026')")
    if "cell" in STATES[state]:
        page.locator("#panel .links").wait_for()
    if menu:
        page.locator(f"#{menu} > summary").click()
    assert violations(page) == []


def test_all_rows_of_the_table_are_accessible(table, violations):
    page = table(viewport={"width": 1440, "height": 900})
    page.wait_for_function("!document.querySelector('#rows').innerText.includes('\u2026')")
    assert violations(page, without="no-such-thing") == []


def test_all_files_and_links_of_a_built_site_exist(tmp_path, serve, open_page, build_site):
    page = open_page(serve(build_site(tmp_path, MadeUp.of("30x24", seed=3))) + "index.html")
    assert page.locator("#found").inner_text() == "30 of 30 models"
    everything = "BrainScore.view.nodes.slug.filter((_, node) => !BrainScore.view.nodes.leaf[node]).join(',')"
    page.evaluate(f"location.hash = 'open=' + {everything}")
    page.wait_for_function("BrainScore.table.columns().length === BrainScore.view.nodes.id.length")
    page.evaluate("Promise.all(BrainScore.table.columns().map(BrainScore.view.need))")
    for link in page.locator("a[href]").evaluate_all("(all) => [...new Set(all.map((a) => a.href.split('#')[0]))]"):
        assert page.request.get(link).ok, link
    page.locator("#rows td.score").first.click()
    page.locator("#panel .links a").first.click()
    page.wait_for_load_state()
    assert "/models/" in page.url


def test_purely_simulated_board_is_sorted_by_a_benchmark(tmp_path, open_page, build_site):
    made = MadeUp.of("12x4", seed=5)
    simulated = tuple(dataclasses.replace(each, simulated=True) for each in made.catalogue.benchmarks)
    catalogue = dataclasses.replace(made.catalogue, benchmarks=simulated)
    address = (build_site(tmp_path, made, catalogue) / "index.html").as_uri()
    for scripts in (False, True):
        page = open_page(address, java_script_enabled=scripts)
        assert headings(page)[0].strip() == "Simulated"
        assert len(headings(page)) == 5
        assert page.locator("#rows td.rank .value").first.inner_text() == "1"
        assert "no mean" in page.locator("#rows td.score").first.inner_text()
    assert page.locator("thead .tag", has_text="simulated").count() == 4


def test_boards_without_scores_or_models(tmp_path, open_page):
    (tmp_path / "records").mkdir()
    for name, catalogue in (("models", MadeUp.of("6x4").catalogue), ("nothing", Catalogue())):
        build(FolderSource(tmp_path / "records"), catalogue, tmp_path / name)
        page = open_page((tmp_path / name / "index.html").as_uri())
        assert page.locator("#rows th.model").count() == len(catalogue.models)
        assert {text.split()[0] for text in page.locator("#rows td.score").all_inner_texts()} <= {"none"}
        assert page.get_by_text("No model yet.").is_visible() == (name == "nothing")


CELLS = """() => [...document.querySelectorAll('#board tr')].map((row) => [...row.children].map((cell) => {
  const copy = cell.cloneNode(true);
  for (const each of [copy, ...copy.querySelectorAll('*')]) each.removeAttribute('tabindex');
  return copy.outerHTML;
}))"""


def test_reused_rows_equal_new_ones(table):
    page = table("#open=V1", viewport={"width": 1000, "height": 700})
    scroller = page.locator("#scroller")
    for step in ("sort=V2", "sort=Birch2002.V1-pls&desc=0", "q=1", "below=n", "pin=heron_004", "without=neural"):
        scroller.evaluate("(it) => it.scrollTo(0, 900)")
        page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        page.evaluate("(step) => (location.hash += `&${step}`)", step)
        page.wait_for_function(f"BrainScore.state.get('{step.split('=')[0]}') !== null")
        scroller.evaluate("(it) => it.scrollTo(0, 0)")
        page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        page.wait_for_function("!document.querySelector('#rows').innerText.includes('\u2026')")
        used = page.evaluate(CELLS)
        page.evaluate("document.querySelectorAll('#rows tr, #pinned tr').forEach((row) => delete row.dataset.cells)")
        page.evaluate("BrainScore.table.update()")
        assert page.evaluate(CELLS) == used, step
        assert len(used) > 2


def test_filters_models_by_their_share_of_scores(table, board_of_table):
    _, columns = board_of_table
    page = table()
    page.locator("#filters summary").click()
    page.get_by_label("Minimum share of scored benchmarks (%)").fill("80")
    missing, n = columns[0]["missing"], columns[0]["n"]
    expected = sum(100 * (of - lacking) >= 80 * of for lacking, of in zip(missing, n, strict=True))
    assert 0 < expected < len(n)
    page.locator("#found").get_by_text(f"{expected} of {len(n)} models").wait_for()
    assert page.url.endswith("#scored=80")
    assert page.locator("#chips").inner_text().startswith("\u2265 80 % scored")
    page.go_back()
    page.locator("#found").get_by_text(f"{len(n)} of {len(n)} models").wait_for()


def test_phone_shows_two_full_columns_and_skips_ties(table):
    page = table(viewport={"width": 390, "height": 800})
    scores = page.locator("#rows tr").first.locator("td.score")
    edges = scores.evaluate_all("(all) => all.map((it) => it.getBoundingClientRect().right)")
    assert edges[1] <= 390
    assert not page.get_by_text("share a letter").first.is_visible()
    page.locator("#rows th.model").first.press("ArrowRight")
    assert page.evaluate("document.activeElement.className").startswith("score")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.className").startswith("model")
    page.get_by_role("button", name="Take a tour").click()
    assert page.get_by_role("dialog").locator("p").first.inner_text().startswith("1 of 4.")


def test_tour_works_with_the_keyboard_and_can_be_dismissed(table, violations):
    page = table()
    page.get_by_role("button", name="Take a tour").press("Enter")
    dialog = page.get_by_role("dialog")
    assert violations(page) == []
    for step in range(1, 6):
        assert dialog.locator("p").first.inner_text().startswith(f"{step} of 5.")
        assert page.locator(".toured").count() == 1
        if step < 5:
            dialog.get_by_role("button", name="Next").press("Enter")
            assert page.evaluate("document.activeElement.id") == "tour-text"
    page.keyboard.press("Escape")
    assert dialog.count() == page.locator(".toured").count() == 0
    assert page.evaluate("document.activeElement.textContent") == "Take a tour"
    page.keyboard.press("Enter")
    dialog.get_by_role("button", name="Don't show again").press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.reload()
    page.locator("#rows td.score").first.wait_for()
    assert not page.locator("#offer").is_visible()
