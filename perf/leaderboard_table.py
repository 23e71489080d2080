"""Time the table of the leaderboard in Chromium: first paint, sorting, filtering, expanding, scrolling, and its size.

From a local server and from the folder. Each step is timed in the page until its layout is done; scrolling until the
next frame has been painted. The 95th percentile counts.
"""

import gzip
from pathlib import Path

import numpy as np
from harness import markdown
from leaderboard_site import measure_site

RECORDS = "741x289"
MOST_MS = {"sort": 100, "filter": 100, "expand": 100, "scroll": 100, "first_paint": 1_000}
ELEMENTS_TARGET, CODE_TARGET_KB = 2_500, 250
STEPS = Path(__file__).with_suffix(".js").read_text()


def visit(address, chromium):
    """Return ms of each kind of step, and the largest number of elements."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(address)
        steps = page.evaluate(STEPS)
        browser.close()
    slow = {f"{name}_ms": round(float(np.quantile(steps[name], 0.95)), 1) for name in MOST_MS if name in steps}
    return {**slow, "first_paint_ms": round(steps["paint"]), "elements": steps["elements"]}


def measure(site, address, chromium):
    code = [path.read_bytes() for path in sorted((site / "static").iterdir()) if path.suffix in {".js", ".css"}]
    visits = {"server": f"{address}index.html", "folder": (site.resolve() / "index.html").as_uri()}
    code_kb = round(sum(len(gzip.compress(text, 9)) for text in code) / 1_000, 1)
    return {"visits": {name: visit(page, chromium) for name, page in visits.items()}, "code_kb": code_kb}


def report(results):
    rows = []
    for name, most in {**{f"{step}_ms": most for step, most in MOST_MS.items()}, "elements": ELEMENTS_TARGET}.items():
        values = [str(numbers[name]) for numbers in results["visits"].values()]
        rows.append([name.removesuffix("_ms").replace("_", " "), *values, str(most)])
    table = markdown(["95th percentile, ms", *results["visits"], "at most"], rows)
    code = f"Code, compressed: {results['code_kb']} kB of at most {CODE_TARGET_KB} kB."
    return f"{table}\n\n{RECORDS} in headless Chromium, 1440 x 900 pixels. {code}"


if __name__ == "__main__":
    measure_site(__doc__, RECORDS, measure, report, "Table of the leaderboard")
