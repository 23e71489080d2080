"""Measure building the leaderboard of 741 models and 289 benchmarks from made-up records.

The records (1.5 GB) and the site are removed afterwards. The build runs in its own processes. Linux only.
"""

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import cpu_of_tree, keep, options_of, say, size, timed

from brainscore_web.leaderboard.made_up import MadeUp


def build(folder: Path) -> dict[str, float]:
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
                lines = (folder / "smaps_rollup").read_text().splitlines()
                total += sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        except OSError:  # it has ended
            continue
    return total


def build_here(folder: Path) -> None:
    from brainscore_web.leaderboard import site
    from brainscore_web.leaderboard.catalogue import Catalogue
    from brainscore_web.leaderboard.sources import FolderSource

    catalogue = Catalogue.from_json((folder / "catalogue.json").read_bytes())
    with timed() as spent:
        built = site.build(FolderSource(folder / "records"), catalogue, folder / "site")
    usage = resource.getrusage(resource.RUSAGE_SELF)
    main = usage.ru_utime + usage.ru_stime
    say(
        {
            "seconds": round(spent["wall_s"], 2),
            "cpu_seconds": round(cpu_of_tree(), 2),
            "cpu_seconds_of_main_process": round(main, 2),
            "n_records": built.n_records,
        }
    )


def measure(size: str) -> dict[str, object]:
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


if __name__ == "__main__":
    options = options_of(__doc__, size="741x289" if size(1, 0) else "20x10", build=(None, "folder, in this process"))
    if options.build:
        build_here(Path(options.build))
        sys.exit()
    numbers = measure(options.size)
    load = ", ".join(f"{average:.1f}" for average in os.getloadavg())
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    keep("leaderboard", {**numbers, "machine": f"{system}, load {load} at the end"})
