"""Take pictures of a leaderboard: every kind of page at three widths, light and dark, and those for the docs.

    python web/tests/browser/pictures.py SITE FOLDER     # all of them, and lists truncated texts
    python web/tests/browser/pictures.py                 # made-up records, the pictures in docs/_static/leaderboard
    python web/tests/browser/pictures.py portal          # made-up data, the pictures in docs/_static/portal

A site comes from `brainscore leaderboard build --made-up 120x40 --to SITE`.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT / "docs" / "tests"), str(ROOT / "web" / "tests" / "portal")]

from look import browser, open_page, take_pictures  # noqa: E402 - docs/tests/look.py, which is not a package

from brainscore_web.leaderboard.site import read_data  # noqa: E402 - after the path

if TYPE_CHECKING:
    from playwright.sync_api import Page

PICTURES = ROOT / "docs" / "_static" / "leaderboard"
MADE_UP = "120x40"
WIDTH = 1180
MOST_BYTES = 150_000


def pages_of(site: Path) -> dict[str, str]:
    """Return a page of each kind, with a state if the page needs one to show anything."""
    board = read_data(site / "data/board.js")
    slugs, nodes = board["models"]["slug"], board["nodes"]
    ranked = sorted(range(len(slugs)), key=lambda at: board["columns"]["0"]["rank"][at] or len(slugs))
    best = [slugs[at] for at in ranked[:3]]
    return {
        "table": f"index#open=V1&pin={best[1]}",
        "model": f"models/{best[0]}",
        "benchmark": f"benchmarks/{nodes['slug'][nodes['leaf'].index(True)]}",
        "average": f"benchmarks/{nodes['slug'][0]}",
        "compare": f"compare#models={','.join(best)}",
        "explore": "explore",
        "status": "status#only=f",
    }


def wait_until_drawn(page: Page) -> None:
    """Wait until the scripts of a page have drawn all of it."""
    page.locator("html[data-ready], html[data-page=index]").wait_for(state="attached")
    page.wait_for_timeout(500)  # columns that the table asked for


def take_for_docs() -> None:
    """Rewrite the pictures of docs/how-to/read_the_leaderboard.md."""
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder) / "site"
        build = [
            sys.executable,
            "-m",
            "brainscore_web",
            "leaderboard",
            "build",
            "--made-up",
            MADE_UP,
            "--to",
            str(site),
        ]
        subprocess.run(build, check=True)
        pages = pages_of(site)
        with browser(site) as (chromium, address):
            for name, height in (("table", 780), ("model", 900), ("compare", 1480)):
                tab, _ = open_page(chromium, address, pages[name], width=WIDTH)
                tab.set_viewport_size({"width": WIDTH, "height": height})
                wait_until_drawn(tab)
                keep(tab.screenshot(), PICTURES / f"{name}.webp")


def keep(picture: bytes, path: Path) -> None:
    """Write a picture for the docs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.open(io.BytesIO(picture)).save(path, "WEBP", quality=80, method=6)
    assert path.stat().st_size <= MOST_BYTES, f"{path.name}: {path.stat().st_size} bytes"


def take_portal() -> None:
    """Rewrite the pictures of docs/how-to/upload_your_data.md: package, upload, copy code."""
    from hostile import packaged  # web/tests/portal/hostile.py

    command = [sys.executable, "-m", "brainscore_web", "portal", "serve", "--demo", "--port", "8061"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as portal,
        browser(Path(folder)) as (chromium, _),
    ):
        os.environ["BRAINIO_HOME"] = folder
        packaged(Path(folder))
        while "running on" not in portal.stderr.readline():
            pass
        tab = chromium.new_page()
        tab.goto("http://localhost:8061/sign-in?to=/new")
        tab.get_by_role("button", name="Sign in").click()
        for width in (390, 1440):
            tab.set_viewport_size({"width": width, "height": 760})
            tab.locator("#files").set_input_files(sorted(Path(folder, "out").iterdir()))
            tab.locator("#identifier").fill("Mine2026")
            keep(tab.screenshot(), PICTURES.with_name("portal") / f"new-{width}.webp")
        tab.get_by_role("button", name="Upload").click()
        tab.locator("#code").wait_for(timeout=120_000)
        for width in (390, 1440):
            tab.set_viewport_size({"width": width, "height": 760})
            keep(tab.screenshot(), PICTURES.with_name("portal") / f"code-{width}.webp")
        portal.terminate()


def main(arguments: list[str]) -> int:
    """Take pictures."""
    if not arguments:
        take_for_docs()
        return 0
    if arguments == ["portal"]:
        take_portal()
        return 0
    site, folder = map(Path, arguments)
    return int(take_pictures(site, folder, pages_of(site).values(), wait_until_drawn) > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
