"""A browser, sites on a local server, and pages on which an error or a request to elsewhere fails the test."""

from __future__ import annotations

import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

LEADERBOARD = Path(__file__).parents[2] / "brainscore_web" / "leaderboard"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

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
    """Return the function that serves a folder from this machine and returns the address."""
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


@pytest.fixture
def open_page(browser):
    """Return the function that opens an address in a new window; arguments are those of `Browser.new_context`.

    What the console calls an error, an exception that nobody caught, and a request to another place than the first
    one's fail the test at its end.
    """
    contexts, wrong = [], []

    def watch(page, origin):
        page.on(
            "console", lambda message: wrong.append(f"console: {message.text}") if message.type == "error" else None
        )
        page.on("pageerror", lambda error: wrong.append(f"exception: {error}"))
        allowed = (origin, "blob:" + origin, "data:")
        page.on("request", lambda it: None if it.url.startswith(allowed) else wrong.append(f"foreign: {it.url}"))
        # A policy that is broken is told here even where the console says nothing.
        page.add_init_script(
            "addEventListener('securitypolicyviolation', (event) => console.error('policy', event.violatedDirective))"
        )

    def open_(address, *, expected_errors=(), **options):
        context = browser.new_context(**options)
        contexts.append((context, tuple(expected_errors)))
        context.set_default_timeout(60_000)  # two busy cores
        page = context.new_page()
        origin = "file:///" if address.startswith("file:") else "/".join(address.split("/")[:3]) + "/"
        watch(page, origin)
        page.goto(address)
        return page

    yield open_
    expected = [text for _, texts in contexts for text in texts]
    for context, _ in contexts:
        context.close()
    assert [each for each in wrong if not any(text in each for text in expected)] == []


@pytest.fixture(scope="session")
def render():
    """Return the function that renders a page from its template, in the way that the site is built."""
    jinja2 = pytest.importorskip("jinja2", reason="needs jinja2")
    pages = jinja2.Environment(
        loader=jinja2.FileSystemLoader(LEADERBOARD / "pages"), autoescape=True, undefined=jinja2.StrictUndefined
    )

    def render_(template, **variables):
        return pages.get_template(template).render(**variables)

    return render_
