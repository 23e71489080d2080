"""Let Lighthouse judge every kind of page of the leaderboard: accessibility and best practices, 0 to 100.

    python perf/leaderboard_audit.py                # made-up records, results/leaderboard_audit.json and RESULTS.md
    python perf/leaderboard_audit.py --site FOLDER  # a site that is there, nothing is written

It needs npx of Node.js, which fetches Lighthouse from npm in the version below where it is not there yet; nothing of
that is kept in the repository. Exit code 1 if a page has less than 95.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from harness import keep, markdown
from leaderboard_site import served

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "web" / "tests" / "browser"))
LIGHTHOUSE = "lighthouse@13.5.0"
CATEGORIES = {"accessibility": "accessibility", "best-practices": "best practices"}
TARGET = 95
SIZE = "120x40"


def audit(address, chromium):
    """Return the score of each category, and the audits that did not pass."""
    command = ["npx", "--yes", LIGHTHOUSE, address, f"--only-categories={','.join(CATEGORIES)}", "--output=json"]
    flags = ["--quiet", "--preset=desktop", "--chrome-flags=--headless=new --no-sandbox"]
    environment = {**os.environ, "CHROME_PATH": chromium}
    told = subprocess.run([*command, *flags], capture_output=True, text=True, env=environment, timeout=600, check=True)
    found = json.loads(told.stdout)
    scores = {name: round(100 * found["categories"][name]["score"]) for name in CATEGORIES}
    failed = [
        each["id"] for each in found["audits"].values() if each["scoreDisplayMode"] == "binary" and not each["score"]
    ]
    return {**scores, "failed": sorted(failed)}


def report(found):
    """Return the section of RESULTS.md."""
    rows = [
        [page, *(str(result[name]) for name in CATEGORIES), ", ".join(result["failed"]) or "-"]
        for page, result in found.items()
    ]
    table = markdown(["page", *CATEGORIES.values(), "not passed"], rows)
    version = LIGHTHOUSE.replace("@", " ").capitalize()
    return f"{table}\n\n{version}, {SIZE} made-up records, from a local server. At least {TARGET} each."


def main():
    """Parse, audit, write the table."""
    parser = argparse.ArgumentParser(description="Let Lighthouse judge the pages of the leaderboard.")
    parser.add_argument("--site", type=Path, help="one that is there; without, one of made-up records is built")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None or shutil.which("npx") is None:
        sys.exit("This needs chromium and npx, such as Debian's packages chromium and npm.")
    from pictures import pages_of

    found = {}
    with served(options.site, SIZE) as (site, address):
        for name, page in pages_of(site).items():
            path, hash_, state = page.partition("#")
            found[name] = audit(f"{address}{path}.html{hash_}{state}", chromium)
    print(report(found))
    if options.site is None:
        keep("leaderboard_audit", found, title="Audit of the leaderboard", text=report(found))
    if any(of[name] < TARGET for of in found.values() for name in CATEGORIES):
        sys.exit(1)


if __name__ == "__main__":
    main()
