"""Measure building the leaderboard of 741 models and 289 benchmarks from made-up records, by its command.

Counted too: the averages over all benchmarks that have an interval, how many ranks the intervals of ranks span, and the
size of the first data file that each page loads.
The records (1.5 GB) and the site are removed afterwards. Linux only.
"""

import gzip
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from harness import cpu_of_tree, keep, options_of, size, timed

from brainscore_web.leaderboard.made_up import MadeUp


def build(folder: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "brainscore_web", "leaderboard", "build", "--records", folder / "records"]
    command += ["--catalogue", folder / "catalogue.json", "--to", folder / "site"]
    peak, cpu_s, pipes = 0, 0.0, {"stderr": subprocess.PIPE, "text": True}
    with timed() as spent, subprocess.Popen(command, **pipes, start_new_session=True) as process:
        while process.poll() is None:
            peak = max(peak, memory_of_session(process.pid))
            with suppress(OSError):  # a process has ended
                cpu_s = max(cpu_s, cpu_of_tree(process.pid))
            time.sleep(0.2)
        said = process.stderr.read()
    if process.returncode:
        raise SystemExit(f"The build failed: {said}")
    return {
        "seconds": round(spent["wall_s"], 2),
        "cpu_seconds": round(cpu_s, 2),
        "n_records": int(re.search(r"([\d,]+) records", said)[1].replace(",", "")),
        "peak_gb_of_all_processes": round(peak / 1e9, 3),
    }


def memory_of_session(session: int) -> int:
    """Return the bytes of memory of all processes of a session; shared memory counts once."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(folder.name)) == session:
                lines = (folder / "smaps_rollup").read_text().splitlines()
                total += sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        except OSError:  # it has ended
            continue
    return total


def precision(board: Path) -> dict[str, float]:
    """Return how precise the averages over all benchmarks are; see the module."""
    text = board.read_text(encoding="utf-8")
    content = json.loads(text[text.index("{") : text.rindex("}") + 1])
    column = content["columns"][str(content["nodes"]["id"].index("average"))]
    averaged = [at for at, value in enumerate(column["value"]) if value is not None]
    return {
        "averages": len(averaged),
        "with_interval": sum(column["low"][at] is not None for at in averaged),
        "of_which_bounded": sum(column["bounded"][at] == "1" for at in averaged),
        "median_ranks_in_interval": statistics.median(
            column["rank_high"][at] - column["rank_low"][at] + 1 for at in averaged
        ),
    }


def measure(size: str) -> dict[str, object]:
    made_up = MadeUp.of(size)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "records").mkdir()
        made_up.write(folder / "records")
        (folder / "catalogue.json").write_text(made_up.catalogue.to_json(), encoding="utf-8")
        numbers: dict[str, object] = {"size": size, "build": build(folder)}
        board = folder / "site/data/board.js"
        numbers["precision"] = precision(board)
        numbers["board_js_compressed_mb"] = round(len(gzip.compress(board.read_bytes(), 9)) / 1e6, 3)
        files = [file for file in (folder / "site").rglob("*") if file.is_file()]
        numbers["site_files"] = len(files)
        numbers["site_gb"] = round(sum(file.stat().st_size for file in files) / 1e9, 3)
    return numbers


if __name__ == "__main__":
    numbers = measure(options_of(__doc__, size="741x289" if size(1, 0) else "20x10").size)
    load = ", ".join(f"{average:.1f}" for average in os.getloadavg())
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    keep("leaderboard", {**numbers, "machine": f"{system}, load {load} at the end"})
