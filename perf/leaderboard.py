"""Measure building the leaderboard of 741 models and 289 benchmarks from made-up records.

The records (1.5 GB) and the site are removed afterwards. The build runs in its own processes. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import keep, say, timed

from brainscore_web.leaderboard.made_up import MadeUp


def build(folder: Path) -> dict[str, float]:
    """Build the site of the records in a folder in another process; return its times and peak memory."""
    command, peak = [sys.executable, __file__, "--build", str(folder)], 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        while process.poll() is None:
            peak = max(peak, memory_of_session(process.pid))
            time.sleep(0.2)
        said = process.communicate()[0]
    if process.returncode:
        raise SystemExit(f"The build failed: {said}")
    return {**json.loads(said.splitlines()[-1]), "peak_gb_of_all_processes": round(peak / 1e9, 3)}


def memory_of_session(session: int) -> int:
    """Return the bytes of memory of all processes of a session; shared memory counts once."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(folder.name)) == session:
                shares = [
                    line for line in (folder / "smaps_rollup").read_text().splitlines() if line.startswith("Pss:")
                ]
                total += sum(1024 * int(line.split()[1]) for line in shares)
        except OSError:  # it has ended
            continue
    return total


def cpu_of_children() -> float:
    """Return the processor seconds of running children, such as the server of forks, and of their children."""
    total = 0
    for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        total += sum(map(int, Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


def build_here(folder: Path) -> None:
    """Build, and print times as JSON."""
    from brainscore_web.leaderboard import site
    from brainscore_web.leaderboard.catalogue import Catalogue
    from brainscore_web.leaderboard.sources import FolderSource

    catalogue = Catalogue.from_json((folder / "catalogue.json").read_bytes())
    with timed() as spent:
        built = site.build(FolderSource(folder / "records"), catalogue, folder / "site")
    usage = resource.getrusage(resource.RUSAGE_SELF)
    times = {
        "seconds": round(spent["wall_s"], 2),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime + cpu_of_children(), 2),
        "cpu_seconds_of_main_process": round(usage.ru_utime + usage.ru_stime, 2),
        "n_records": built.n_records,
    }
    say(times)


def measure(size: str) -> dict[str, object]:
    """Return times and sizes of a build."""
    made_up = MadeUp.of(size)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "records").mkdir()
        made_up.write(folder / "records")
        (folder / "catalogue.json").write_text(made_up.catalogue.to_json(), encoding="utf-8")
        numbers: dict[str, object] = {"size": size, "build": build(folder)}
        files = [file for file in (folder / "site").rglob("*") if file.is_file()]
        numbers["site_files"] = len(files)
        numbers["site_gb"] = round(sum(file.stat().st_size for file in files) / 1e9, 3)
    return numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", default="741x289")
    parser.add_argument("--build", type=Path)
    arguments = parser.parse_args()
    if arguments.build:
        build_here(arguments.build)
        return
    numbers = measure(arguments.size)
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    numbers["machine"] = (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors, load {load} at the end"
    )
    keep("leaderboard", numbers)


if __name__ == "__main__":
    main()
