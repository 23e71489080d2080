"""Let Lighthouse judge every kind of page of the leaderboard: accessibility and best practices, 0 to 100.

It needs npx of Node.js, which fetches Lighthouse from npm in the version below unless it is installed; nothing of that
is kept in the repository. Exit code 1 if a page has less than 95.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from harness import markdown
from leaderboard_site import measure_site

sys.path.insert(0, str(Path(__file__).parents[1] / "web" / "tests" / "browser"))
LIGHTHOUSE = "lighthouse@13.5.0"
CATEGORIES = {"accessibility": "accessibility", "best-practices": "best practices"}
TARGET = 95
RECORDS = "120x40"


def audit(address, chromium):
    """Return the score of each category, and the audits that did not pass."""
    command = ["npx", "--yes", LIGHTHOUSE, address, f"--only-categories={','.join(CATEGORIES)}", "--output=json"]
    flags = ["--quiet", "--preset=desktop", "--chrome-flags=--headless=new --no-sandbox"]
    environment = {**os.environ, "CHROME_PATH": chromium}
    done = subprocess.run([*command, *flags], capture_output=True, text=True, env=environment, timeout=600, check=True)
    answer = json.loads(done.stdout)
    scores = {name: round(100 * answer["categories"][name]["score"]) for name in CATEGORIES}
    binary = (audit for audit in answer["audits"].values() if audit["scoreDisplayMode"] == "binary")
    return {**scores, "failed": sorted(audit["id"] for audit in binary if not audit["score"])}


def measure(site, address, chromium):
    from pictures import pages_of

    pages = {name: page.partition("#") for name, page in pages_of(site).items()}
    return {
        name: audit(f"{address}{path}.html{hash_}{state}", chromium) for name, (path, hash_, state) in pages.items()
    }


def report(results):
    rows = (
        [page, *(str(result[name]) for name in CATEGORIES), ", ".join(result["failed"]) or "-"]
        for page, result in results.items()
    )
    table = markdown(["page", *CATEGORIES.values(), "not passed"], rows)
    version = LIGHTHOUSE.replace("@", " ").capitalize()
    return f"{table}\n\n{version}, {RECORDS} made-up records, from a local server. At least {TARGET} each."


if __name__ == "__main__":
    results = measure_site(__doc__, RECORDS, measure, report, "Audit of the leaderboard")
    sys.exit(any(result[name] < TARGET for result in results.values() for name in CATEGORIES))
