"""Time the table of the leaderboard in Chromium: first paint, sorting, filtering, expanding, scrolling, and its size.

    python perf/leaderboard_table.py                  # builds 741 x 289, results/leaderboard_table.json and RESULTS.md
    python perf/leaderboard_table.py --site FOLDER    # a site that is there

From a local server and from the folder. Each step is timed in the page until its layout is done; scrolling until the
next frame has been painted. The 95th percentile counts.
"""

import argparse
import gzip
import shutil
import sys
from pathlib import Path

import numpy as np
from harness import keep, markdown
from leaderboard_site import served

SIZE = "741x289"
STEP_TARGET_MS, PAINT_TARGET_MS, ELEMENTS_TARGET, CODE_TARGET_KB = 100, 1_000, 2_500, 250
STEPS = """async () => {
  const { view, table } = BrainScore;
  const found = { sort: [], filter: [], expand: [], scroll: [] };
  let elements = 0;
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const step = async (name, act) => {
    await frame();
    const before = performance.now();
    act();
    document.body.getBoundingClientRect();
    found[name].push(performance.now() - before);
    await frame();
    elements = Math.max(elements, document.querySelectorAll("*").length);
  };
  const search = document.getElementById("q");
  for (let i = 0; i < 60; i++) await step("sort", () => { view.setSort(table.columns()[i % 8]); table.update(); });
  for (const text of ["h", "he", "her", "l", "ly", "m1", "9", "zz", ""].flatMap((each) => Array(5).fill(each))) {
    await step("filter", () => { search.value = text; search.dispatchEvent(new Event("input")); });
  }
  const inner = view.nodes.leaf.flatMap((leaf, node) => (leaf ? [] : [node]));
  for (const node of [...inner, ...inner]) {
    await step("expand", () => { view.setOpen(node, !view.isOpen(node)); table.update(); });
  }
  for (const node of inner) view.setOpen(node, true);
  table.update();
  const scroller = document.getElementById("scroller");
  for (let i = 1; i <= 40; i++) {
    const before = performance.now();
    scroller.scrollTo(((i * 7) % 40) * 700, ((i * 11) % 40) * 800);
    await frame();
    found.scroll.push(performance.now() - before);
    elements = Math.max(elements, document.querySelectorAll("*").length);
  }
  const paint = performance.getEntriesByName("first-contentful-paint")[0].startTime;
  return { ...found, elements, paint };
}"""


def measure(address, chromium):
    """Return what one visit took: ms of each kind of step, and the most elements there were."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(address)
        found = page.evaluate(STEPS)
        browser.close()
    return {
        **{f"{name}_ms": round(float(np.quantile(found[name], 0.95)), 1) for name in ("sort", "filter", "expand")},
        "scroll_ms": round(float(np.quantile(found["scroll"], 0.95)), 1),
        "first_paint_ms": round(found["paint"]),
        "elements": found["elements"],
    }


def code_kb(site):
    """Return how large the code of all pages is together, compressed."""
    files = [path for path in sorted((site / "static").iterdir()) if path.suffix in {".js", ".css"}]
    return round(sum(len(gzip.compress(path.read_bytes(), 9)) for path in files) / 1_000, 1)


def report(found):
    """Return the section of RESULTS.md."""
    rows = []
    for name, most in (
        *((f"{step}_ms", STEP_TARGET_MS) for step in ("sort", "filter", "expand", "scroll")),
        ("first_paint_ms", PAINT_TARGET_MS),
        ("elements", ELEMENTS_TARGET),
    ):
        values = [str(visit[name]) for visit in found["visits"].values()]
        rows.append([name.removesuffix("_ms").replace("_", " "), *values, str(most)])
    table = markdown(["95th percentile, ms", *found["visits"], "at most"], rows)
    code = f"Code, compressed: {found['code_kb']} kB of at most {CODE_TARGET_KB} kB."
    return f"{table}\n\n{SIZE} in headless Chromium, 1440 x 900 pixels. {code}"


def main():
    """Parse, measure, write the table."""
    parser = argparse.ArgumentParser(description="Time the table of the leaderboard in Chromium.")
    parser.add_argument("--site", type=Path, help="one that is there; without, one of made-up records is built")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("This needs chromium, such as Debian's package of that name.")
    with served(options.site, SIZE) as (site, address):
        visits = {
            "server": measure(f"{address}index.html", chromium),
            "folder": measure((site.resolve() / "index.html").as_uri(), chromium),
        }
        found = {"visits": visits, "code_kb": code_kb(site)}
    print(report(found))
    if options.site is None:
        keep("leaderboard_table", found, title="Table of the leaderboard", text=report(found))


if __name__ == "__main__":
    main()
