"""Look at the built site in headless Chromium: nothing is fetched from elsewhere, nothing is cut off, at three widths.

`python docs/tests/look.py docs/_build FOLDER [PAGE ...]` also takes pictures, light and dark. A page may have a state,
such as `index#sort=V1`. `web/tests/browser/pictures.py` does so for the leaderboard.
"""

from __future__ import annotations

import functools
import http.server
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

WIDTHS = (390, 820, 1440)
PAGES = (
    "index",
    "tutorials/index",
    "tutorials/first_plugin",
    "tutorials/write_a_model",
    "gallery/campaign",
    "explanation/scores",
    "explanation/ceilings",
    "how-to/review_and_merge",
    "reference/metrics",
    "reference/command_line",
    "reference/vision",
    "reference/api/brainscore_core.benchmarks",
)
# What sticks out of the page or is wider than its box, though nothing scrolls there.
CUT_OFF = """() => {
  const found = [];
  const width = document.documentElement.scrollWidth;
  if (width > innerWidth + 1) found.push(`page: ${width}`);
  const boxes = "main :is(p, td, th, h1, h2, h3, dt, li, img, math, code, figcaption), nav a";
  for (const box of document.querySelectorAll(boxes)) {
    if (!box.offsetParent && box.tagName !== "math") continue;
    if (getComputedStyle(box).visibility === "hidden") continue;
    const inside = "pre, dialog, #scroller, [class*=scrollable], [class*=math-], [class*=sidebar-primary]";
    const scrolls = box.closest(`${inside}, [class*=table-room]`);
    const { right } = box.getBoundingClientRect();
    if (right > innerWidth + 1 && !scrolls) found.push(`${box.tagName}: ${box.textContent.trim().slice(0, 60)}`);
  }
  return found;
}"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serve files without a word."""

    def log_message(self, *_):
        pass


@contextmanager
def browser(site: Path) -> Iterator[tuple[object, str]]:
    """Serve a built site and open it: the browser, and the address of the site."""
    handler = functools.partial(Quiet, directory=str(site))
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server,
        sync_playwright() as playwright,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        chromium = playwright.chromium.launch(
            executable_path=find_chromium(), args=["--no-sandbox"]
        )
        yield chromium, f"http://127.0.0.1:{server.server_port}"
        chromium.close()
        server.shutdown()


def find_chromium() -> str | None:
    """Return the program, None if there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if (found := shutil.which(name))), None)


def open_page(
    chromium: object, address: str, page: str, *, width: int, theme: str = "light"
) -> tuple[Page, list[str]]:
    """Open a page; return it, and the list of what it fetches from elsewhere, also later."""
    tab = chromium.new_page(
        viewport={"width": width, "height": 900}, color_scheme=theme
    )
    elsewhere: list[str] = []

    def note(request):
        if not request.url.startswith((address, "data:")):
            elsewhere.append(request.url)

    tab.on("request", note)
    name, mark, state = page.partition("#")
    tab.goto(f"{address}/{name}.html{mark}{state}", wait_until="load")
    return tab, elsewhere


def take_pictures(
    site: Path, folder: Path, pages: Iterable[str], wait: Callable[[Page], None]
) -> int:
    """Take pictures of pages at all widths, light and dark, and say what is wrong; return how much."""
    folder.mkdir(parents=True, exist_ok=True)
    n_wrong = 0
    with browser(site) as (chromium, address):
        for page in pages:
            for width in WIDTHS:
                for theme in ("light", "dark"):
                    tab, elsewhere = open_page(
                        chromium, address, page, width=width, theme=theme
                    )
                    wait(tab)
                    wrong = tab.evaluate(CUT_OFF) + elsewhere
                    n_wrong += len(wrong)
                    sys.stdout.write(
                        f"{page} {width} {theme}: {wrong or 'nothing is cut off'}\n"
                    )
                    name = page.partition("#")[0].replace("/", ".")
                    tab.screenshot(
                        path=folder / f"{name}-{width}-{theme}.png",
                        full_page=width < 1000,
                    )
                    tab.close()
    return n_wrong


def main(arguments: list[str]) -> int:
    """Take pictures and say what is wrong."""
    site, folder, *pages = arguments
    found = take_pictures(Path(site), Path(folder), pages or PAGES, lambda _: None)
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
