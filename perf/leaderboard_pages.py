"""Measure the pages of a leaderboard of made-up records in Chromium.

`table`: first paint, sorting, filtering, expanding and scrolling of 741 x 289, and their size, from a local server and
from the folder. Each step is timed in the page until its layout is done; scrolling until the next frame has been
painted. The 95th percentile counts; once all columns are open, the median. `pages`: elements and cumulative layout
shift of every kind of page of 741 x 289. `audit`: Lighthouse judges every kind of page of 120 x 40, 0 to 100, on a
desktop and its speed on a phone; npx of Node.js fetches it from npm in the version below unless it is installed.
"""

import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
from harness import keep, markdown, options_of, size

RECORDS = {"table": "741x289", "pages": "741x289", "audit": "120x40"}
MOST_MS = {"sort": 100, "filter": 100, "expand": 100, "scroll": 100, "first_paint": 1_000}
MOST_MEDIAN_MS = {"sort_all": 60, "expand_all": 60}
MOST_ELEMENTS, MOST_SHIFT = 4_000, 0.1
SHIFTS = """globalThis.shift = 0;
const add = (list) => list.getEntries().forEach((it) => (shift += it.value));
new PerformanceObserver(add).observe({ type: "layout-shift" });
"""
ELEMENTS_TARGET, CODE_TARGET_KB = 2_500, 250
LIGHTHOUSE = "lighthouse@13.5.0"
CATEGORIES = {"accessibility": "accessibility", "best-practices": "best practices", "performance": "performance"}
AT_LEAST = {**dict.fromkeys(CATEGORIES, 95), "phone": 85}
ROOT = Path(__file__).parents[1]


class Compressed(SimpleHTTPRequestHandler):
    """Serves files compressed, as GitHub's pages does."""

    def send_head(self):
        """Answer with a file."""
        path = self.translate_path(self.path)
        if not Path(path).is_file():
            return super().send_head()
        content = gzip.compress(Path(path).read_bytes())
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        return io.BytesIO(content)

    def log_message(self, *_):
        """Log nothing."""


def visit(address, chromium):
    """Return ms of each kind of step, and the largest number of elements."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(address)
        steps = page.evaluate(Path(__file__).with_suffix(".js").read_text())
        browser.close()
    slow = {f"{name}_ms": round(float(np.quantile(steps[name], 0.95)), 1) for name in MOST_MS if name in steps}
    slow |= {f"{name}_ms": round(float(np.median(steps[name])), 1) for name in MOST_MEDIAN_MS}
    return {**slow, "first_paint_ms": round(steps["paint"]), "elements": steps["elements"]}


def measure_table(site, address, chromium):
    code = [path.read_bytes() for path in sorted((site / "static").iterdir()) if path.suffix in {".js", ".css"}]
    visits = {"server": f"{address}index.html", "folder": (site.resolve() / "index.html").as_uri()}
    code_kb = round(sum(len(gzip.compress(text, 9)) for text in code) / 1_000, 1)
    return {"visits": {name: visit(page, chromium) for name, page in visits.items()}, "code_kb": code_kb}


def report_table(results):
    rows = []
    steps = {f"{step}_ms": most for step, most in {**MOST_MS, **MOST_MEDIAN_MS}.items()}
    for name, most in {**steps, "elements": ELEMENTS_TARGET}.items():
        values = [str(numbers[name]) for numbers in results["visits"].values()]
        rows.append(
            [
                name.removesuffix("_ms").replace("_all", ", all columns open: median").replace("_", " "),
                *values,
                str(most),
            ]
        )
    code = f"Code, compressed: {results['code_kb']} kB of at most {CODE_TARGET_KB} kB."
    remark = f"{RECORDS['table']} in headless Chromium, 1440 x 900 pixels. {code}"
    return f"{markdown(['95th percentile, ms', *results['visits'], 'at most'], rows)}\n\n{remark}"


def pages_in(site):
    sys.path.insert(0, str(ROOT / "web" / "tests" / "browser"))
    from pictures import pages_of

    pages = {name: page.partition("#") for name, page in pages_of(site).items()}
    return {name: f"{path}.html{hash_}{state}" for name, (path, hash_, state) in pages.items()}


def measure_pages(site, address, chromium):
    """Return the number of elements and the layout shift of each page, once it is drawn."""
    from playwright.sync_api import sync_playwright

    results = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, path in pages_in(site).items():
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.add_init_script(SHIFTS)
            page.goto(f"{address}{path}")
            page.locator("html[data-ready], html[data-page=index]").wait_for(state="attached")
            page.wait_for_timeout(1_000)
            elements, shift = page.evaluate("[document.querySelectorAll('*').length, shift]")
            results[name] = {"elements": elements, "shift": round(shift, 3)}
            page.close()
        browser.close()
    return results


def report_pages(results):
    rows = [[name, str(page["elements"]), str(page["shift"])] for name, page in results.items()]
    targets = (
        f"At most {MOST_ELEMENTS:,} elements on pages of models and benchmarks, layout shift of at most {MOST_SHIFT}."
    )
    how = f"{RECORDS['pages']} in headless Chromium, 1440 x 900 pixels, from a local server. {targets}"
    return f"{markdown(['page', 'elements', 'layout shift'], rows)}\n\n{how}"


def lighthouse(address, chromium, categories, *flags):
    """Return the score of each category, and the audits that did not pass."""
    command = ["npx", "--yes", LIGHTHOUSE, address, f"--only-categories={','.join(categories)}", "--output=json"]
    flags = ["--quiet", *flags, "--chrome-flags=--headless=new --no-sandbox"]
    environment = {**os.environ, "CHROME_PATH": chromium}
    done = subprocess.run([*command, *flags], capture_output=True, text=True, env=environment, timeout=600, check=True)
    answer = json.loads(done.stdout)
    scores = {name: round(100 * answer["categories"][name]["score"]) for name in categories}
    binary = (audit for audit in answer["audits"].values() if audit["scoreDisplayMode"] == "binary")
    return {**scores, "failed": sorted(audit["id"] for audit in binary if not audit["score"])}


def audit(address, chromium):
    """Return the scores as of a desktop computer, and the performance as of a phone."""
    phone = lighthouse(address, chromium, ["performance"])
    return {**lighthouse(address, chromium, CATEGORIES, "--preset=desktop"), "phone": phone["performance"]}


def measure_audit(site, address, chromium):
    return {name: audit(f"{address}{path}", chromium) for name, path in pages_in(site).items()}


def report_audit(results):
    rows = (
        [page, *(str(result[name]) for name in AT_LEAST), ", ".join(result["failed"]) or "-"]
        for page, result in results.items()
    )
    table = markdown(["page", *CATEGORIES.values(), "performance, phone", "not passed"], rows)
    how = f"{LIGHTHOUSE.replace('@', ' ').capitalize()}, {RECORDS['audit']} made-up records, served compressed."
    return f"{table}\n\n{how} At least {', '.join(map(str, AT_LEAST.values()))}."


MEASURES = {
    "table": (measure_table, report_table, "Table of the leaderboard"),
    "pages": (measure_pages, report_pages, "Pages of the leaderboard"),
    "audit": (measure_audit, report_audit, "Audit of the leaderboard"),
}

if __name__ == "__main__":
    options = options_of(
        __doc__,
        only=([], "table, pages or audit"),
        site=(None, "folder of a site; without it one of made-up records is built; its results are not kept"),
    )
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("This needs chromium, such as Debian's package of that name.")
    for kind in options.only or (MEASURES if shutil.which("npx") else ["table", "pages"]):
        measure, report, title = MEASURES[kind]
        with tempfile.TemporaryDirectory() as folder:
            site = Path(options.site or Path(folder) / "site")
            if not options.site:
                build = [sys.executable, "-m", "brainscore_web", "leaderboard", "build", "--made-up"]
                subprocess.run([*build, RECORDS[kind] if size(1, 0) else "12x6", "--to", str(site)], check=True)
            with ThreadingHTTPServer(("127.0.0.1", 0), partial(Compressed, directory=str(site))) as server:
                threading.Thread(target=server.serve_forever, daemon=True).start()
                results = measure(site, f"http://127.0.0.1:{server.server_port}/", chromium)
                server.shutdown()
        if options.site:
            print(report(results))
        else:
            keep(f"leaderboard_{kind}", results, title=title, text=report(results))
        if kind == "audit" and any(
            result[name] < least for result in results.values() for name, least in AT_LEAST.items()
        ):
            sys.exit(1)
