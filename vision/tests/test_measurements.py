"""Run every script in perf/ on little data."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = (ROOT / "noxfile.py").read_text().partition("MEASUREMENTS = (")[2].partition(")")[0]
SCRIPTS = re.findall(r'"(\w+)"', NAMES)
NEEDS = {
    "leaderboard_pages": "chromium",
    "isolation": "bwrap",
    "portal": "bwrap",
    "system_calls": "strace",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_script_in_perf_runs(name, tmp_path):
    """`--quick` saves no results; the output contains numbers, in a table or JSON."""
    if name in NEEDS and shutil.which(NEEDS[name]) is None:
        pytest.skip(f"needs {NEEDS[name]}")
    results = {path: path.read_bytes() for path in (ROOT / "perf" / "results").iterdir()}
    command = [sys.executable, "-W", "ignore", str(ROOT / "perf" / f"{name}.py"), "--quick"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert re.search(r"\d", done.stdout)
    assert {path: path.read_bytes() for path in (ROOT / "perf" / "results").iterdir()} == results
