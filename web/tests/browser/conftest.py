"""Provide a browser, sites on a local server, and pages whose errors or foreign requests fail the test."""

from __future__ import annotations

import json
import random
import shutil
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from brainscore_web.leaderboard.writing import Pages

LEADERBOARD = Path(__file__).parents[2] / "brainscore_web" / "leaderboard"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without logging."""

    def log_message(self, *args):
        """Keep silent."""


@pytest.fixture(scope="session")
def browser():
    """Start one Chromium for all tests."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if CHROMIUM is None:
        pytest.skip("needs chromium, such as Debian's package of that name")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="session")
def serve():
    """Return a function that serves a folder from this machine and returns its address."""
    servers = []

    def start(folder):
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def wait_until(page, expression, arg=None):
    """Wait until an expression is true; Playwright's method evaluates text in the page, which the policy forbids."""
    deadline = time.monotonic() + 60
    while not page.evaluate(expression, arg):
        assert time.monotonic() < deadline, f"never true: {expression}"
        page.wait_for_timeout(20)


ON_PAPER = """() => {
  const wrong = [];
  const shown = (it) => it.checkVisibility({ visibilityProperty: true }) && it.getBoundingClientRect().width > 0;
  for (const it of document.querySelectorAll("button, select, input, summary, nav, .skip")) {
    if (shown(it) && !it.closest("details:not(.menu)")) wrong.push(`control: ${it.outerHTML.slice(0, 80)}`);
  }
  for (const it of document.querySelectorAll("main :is(th, td, p, h1, h2, h3, svg.chart, li)")) {
    const { right } = it.getBoundingClientRect();
    if (shown(it) && right > innerWidth + 1) wrong.push(`cut: ${it.textContent.slice(0, 60)}`);
  }
  for (const it of document.querySelectorAll("svg.chart rect")) if (!shown(it)) wrong.push("a bar is gone");
  return [...wrong, getComputedStyle(document.documentElement).backgroundColor];
}"""


@pytest.fixture
def on_paper():
    """Return a function that lists the faults of a page printed on A4, and its background colour."""

    def look(page):
        page.set_viewport_size({"width": 1032, "height": 700})  # A4 across without margins, at 96 px an inch
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        return page.evaluate(ON_PAPER)

    return look


class Window:
    """A page in its own context, reused by one test after another; collects the errors in it."""

    def __init__(self, browser, options):
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(60_000)  # two busy cores
        self.page = self.context.new_page()
        self.size, self.theme = self.page.viewport_size, options.get("color_scheme", "light")
        self.allowed, self.wrong = (), []
        self.page.wait_for_function = partial(wait_until, self.page)
        self.page.on("console", lambda it: self.wrong.append(f"console: {it.text}") if it.type == "error" else None)
        self.page.on("pageerror", lambda error: self.wrong.append(f"exception on {self.page.url}: {error}"))
        self.page.on("request", self.look_at)
        # This reports policy violations even where the console does not.
        self.page.add_init_script(
            "addEventListener('securitypolicyviolation', (event) => console.error('policy', event.violatedDirective))"
        )

    def look_at(self, request):
        if not request.url.startswith((*self.allowed, "about:")):
            self.wrong.append(f"foreign: {request.url}")

    def open(self, address, also=()):
        origin = "file:///" if address.startswith("file:") else "/".join(address.split("/")[:3]) + "/"
        self.allowed = (origin, "blob:" + origin, "data:", *also)
        self.page.goto(address)
        return self.page

    def reset(self):
        """Reset the page after a test and return the errors in it."""
        if self.page.url != "about:blank":
            self.page.evaluate("localStorage.clear(); sessionStorage.clear()")
            self.context.clear_cookies()
        self.page.goto("about:blank")
        self.page.set_viewport_size(self.size)
        self.page.emulate_media(media="null", color_scheme=self.theme, reduced_motion="null")
        wrong, self.wrong = self.wrong, []
        return wrong


@pytest.fixture(scope="session")
def windows(browser):
    """Keep windows for all tests, by their options."""
    return {}


@pytest.fixture
def open_page(browser, windows, tmp_path):
    """Return a function that opens an address in a window; its options are those of `Browser.new_context`.

    Console errors, uncaught exceptions, and requests to other places than the first address or those in `also` fail the
    test at its end. Pages are closed before `tmp_path`, which may contain them, is removed.
    """
    used, expected = [], []

    def open_(address, *, also=(), expected_errors=(), **options):
        key = repr(sorted(options.items()))
        free = [each for each in windows.setdefault(key, []) if each not in used]
        if not free:
            free = [Window(browser, options)]
            windows[key] += free
        used.append(free[0])
        expected.extend(expected_errors)
        return free[0].open(address, also)

    yield open_
    wrong = [message for window in used for message in window.reset()]
    assert [each for each in wrong if not any(text in each for text in expected)] == []


@pytest.fixture(scope="session")
def violations():
    """Return a function that lists the accessibility rules that an open page violates.

    It checks only the first rows of each table: the others are made by the same code and would take most of the time.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]

    def look(page, *, only=None, without="tbody tr:nth-child(n + 6)"):
        rules = {"type": "rule", "values": [only]} if only else {"type": "tag", "values": tags}
        found = axe.run(page, {"exclude": [[without]]}, {"runOnly": rules}).response["violations"]
        return [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in found]

    return look


@pytest.fixture(scope="session")
def render():
    """Return a function that renders a page: ``render('index', board)``."""
    return lambda name, board, root="": Pages(board)._render(name, root=root)


HOSTILE = '=HYPERLINK("http://x") <img src=x onerror=alert(1)>, </script>'
REGIONS = ("V1", "V2", "V4", "IT")


def value_of(column, model):
    """Return the value of a model in a column, whether ranked or not."""
    value = column["value"][model]
    return column["unranked"].get(str(model), [None])[0] if value is None else value


def small_board(n_models=60, n_of_region=8):
    """Return a made-up board and its columns by node, with every code, scores above the ceiling and hostile names."""
    rng = random.Random(0)  # noqa: S311 - made-up scores, no secrets
    nodes = {name: [] for name in ("id", "name", "parent", "depth", "leaf", "region", "kind", "simulated", "counts")}

    def add(name, parent=-1, *, region=None, kind=None, leaf=False, simulated=False):
        label = name.capitalize() if parent < 1 else name
        values = name, label, parent, 0 if parent < 0 else nodes["depth"][parent] + 1
        for key, value in zip(nodes, (*values, leaf, region, kind, simulated, not simulated), strict=True):
            nodes[key].append(value)
        return len(nodes["id"]) - 1

    average = add("average")
    neural = add("neural", average, kind="neural")
    for region in REGIONS:
        place = add(region, neural, region=region, kind="neural")
        group = add(f"Alder1999.{region}", place, region=region, kind="neural")
        for number in range(n_of_region):
            parent = group if number < 2 else place
            add(f"Birch{2000 + number}.{region}-pls", parent, region=region, kind="neural", leaf=True)
    behavior = add("behavior", average, kind="behavior")
    for number in range(3):
        add(f"Cedar{2000 + number}-choices", behavior, kind="behavior", leaf=True)
    engineering = add("engineering", kind="engineering")
    add("Elm2020-top1", engineering, kind="engineering", leaf=True)
    simulated = add("simulated", simulated=True)
    add("Fir2021.V1-pls", simulated, region="V1", kind="neural", leaf=True, simulated=True)

    n = len(nodes["id"])
    nodes["slug"] = nodes["id"]
    of_leaves = {"metric": "Compare what was made up.", "public": True, "ceiling": 0.8}
    for name, value in {**of_leaves, "n_stimuli": 3200, "n_neuroids": 168, "n_subjects": None}.items():
        nodes[name] = [value if leaf or name == "public" else None for leaf in nodes["leaf"]]
    below = [[child for child in range(n) if nodes["parent"][child] == node] for node in range(n)]
    columns = [None] * n
    for node in reversed(range(n)):
        if nodes["leaf"][node]:
            gaps = [12 * (model % 4 == 3) for model in range(n_models)]  # the others are complete
            codes = [rng.choices("snfqrh", (100 - 5 * gap, *[gap] * 5))[0] for gap in gaps]
            values = [rng.uniform(-0.05, 1.1) if code == "s" else None for code in codes]
            missing, counts, unranked = [int(each is None) for each in values], [1] * n_models, {}
        else:
            parts = [columns[child] for child in below[node] if nodes["counts"][child]]
            means = [[value_of(part, model) for part in parts] for model in range(n_models)]
            means = [[each for each in of if each is not None] for of in means]
            missing = [sum(part["missing"][model] for part in parts) for model in range(n_models)]
            counts = [sum(part["n"][model] for part in parts) for model in range(n_models)]
            codes = ["-" if not of else "p" if m else "a" for of, m in zip(means, missing, strict=True)]
            values = [sum(of) / len(of) if code == "a" else None for of, code in zip(means, codes, strict=True)]
            unranked = {
                str(model): [
                    sum(means[model]) / len(means[model]),
                    f"{counts[model] - missing[model]} of {counts[model]}",
                ]
                for model, code in enumerate(codes)
                if code == "p"
            }
        known = [each for each in values if each is not None]
        rank = [None if each is None else 1 + sum(other > each for other in known) for each in values]
        columns[node] = {
            "value": values,
            "low": [None if each is None else each - 0.02 for each in values],
            "high": [None if each is None else each + 0.03 for each in values],
            "bounded": "".join("01"[model % 2] for model in range(n_models)),
            "code": "".join(codes),
            "missing": missing,
            "n": counts,
            "rank": rank,
            "rank_low": [None if each is None else max(1, each - 3) for each in rank],
            "rank_high": [None if each is None else min(len(known), each + 3) for each in rank],
            "group": ["" if each is None else "abcdef"[each // 11] for each in rank],
            "unranked": unranked,
        }
    identifiers = [f"heron_{number:03}" for number in range(n_models)]
    models = {
        "id": [HOSTILE, *identifiers[1:]],
        "slug": identifiers,
        "name": [HOSTILE, *(each.replace("_", " ").capitalize() for each in identifiers[1:])],
        "family": [("Heron", "Lynx", None)[number % 3] for number in range(n_models)],
        "year": [2012 + number % 14 if number % 7 else None for number in range(n_models)],
        "parameters": [10**6 * number if number % 5 else None for number in range(n_models)],
        "training": [("Meadow-1M", "Harbour-400M, filtered")[number % 2] for number in range(n_models)],
        "licence": [("MIT", "Apache-2.0", None)[number % 3] for number in range(n_models)],
        "public": [number % 4 != 1 for number in range(n_models)],
        "imagenet": [None] * n_models,
        "image_size": [(224, 384, None)[number % 3] for number in range(n_models)],
    }
    top = [node for node in range(n) if nodes["depth"][node] < 2 + (not nodes["leaf"][node])]
    made = {"revision": "0123456789abcdef", "newest": "2026-11-20T10:00:00Z", "schema": 1}
    made |= {"repository": "https://example.org/o/r", "notice": "Made up."}
    of_top = {str(node): columns[node] for node in top}
    return {"made": made, "models": models, "nodes": nodes, "top": top, "columns": of_top}, columns


@pytest.fixture(scope="session")
def board_of_table():
    """Return the board of `folder_of_table` and its columns."""
    return small_board()


@pytest.fixture(scope="session")
def folder_of_table(tmp_path_factory, render, board_of_table):
    """Write the table of a small board, with all its data files."""
    board, columns = board_of_table
    site = tmp_path_factory.mktemp("a table")
    shutil.copytree(LEADERBOARD / "static", site / "static")
    (site / "index.html").write_text(render("index", board))

    def put(name, value):
        path = site / "data" / f"{name}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"BrainScore.take({json.dumps(name)}, {json.dumps(value)});\n")

    put("board", board)
    n = len(board["models"]["id"])
    for node, slug in enumerate(board["nodes"]["slug"]):
        if node not in board["top"]:
            put(f"columns/{slug}", columns[node])
        if board["nodes"]["leaf"][node]:
            detail = {"raw": [0.1234] * n, "ceiling": [0.8] * n, "status": ["scored"] * n, "message": [HOSTILE] * n}
            detail |= {"n_stimuli": [3200] * n, "n_neuroids": [168] * n, "version": [2] * n, "library": ["3.0.0"] * n}
            put(f"detail/{slug}", detail)
    return site
