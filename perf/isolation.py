"""Measure what a box costs a program, and box and protocol together a pair, beside a plain child process.

Each number is the median over repeats; the two kinds take turns, so that whatever else the machine does is in both.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from harness import keep, timed
from made_up_library import environment_of, make_library

from brainscore_core.processes import run_bounded
from brainscore_core.scoring.isolation.box import Box, run_boxed, why_no_box
from brainscore_core.scoring.isolation.interpreter import interpreter_paths

TARGET_S = 1.0  # what the box and the protocol may cost a pair, together

PROGRAMS = {
    "nothing": ["/usr/bin/env", "true"],
    "python": [sys.executable, "-I", "-c", "pass"],
    "numpy": [sys.executable, "-I", "-c", "import numpy"],
}


def seconds(command: list[str], environment: dict[str, str], *, boxed: bool) -> float:
    """Return how long a program takes, from the call that starts it to the one that says how it ended."""
    with timed() as spent:
        if boxed:
            ended = run_boxed(command, Box(readable=interpreter_paths(), environment=environment), memory_bytes=8e9)
        else:
            ended = run_bounded(command, environment=environment, memory_bytes=8e9)
    if ended.problem:
        raise SystemExit(f"{command} failed: {ended}")
    return spent["wall_s"]


def start(repeats: int) -> dict[str, float]:
    """Return the median seconds of each program, plain and in a box, and what the box adds."""
    environment = {"OMP_NUM_THREADS": "1"}
    result: dict[str, float] = {}
    for name, command in PROGRAMS.items():
        pairs = [
            (seconds(command, environment, boxed=False), seconds(command, environment, boxed=True))
            for _ in range(repeats)
        ]
        result[f"start_{name}_plain_s"] = round(statistics.median(plain for plain, _ in pairs), 4)
        result[f"start_{name}_boxed_s"] = round(statistics.median(boxed for _, boxed in pairs), 4)
        result[f"start_{name}_added_s"] = round(statistics.median(boxed - plain for plain, boxed in pairs), 4)
    return result


def score(library: Path, model: str, isolation: str) -> float:
    """Return the seconds of a pair, from the start of the judge to its end."""
    shutil.rmtree(library / "home" / "cache" / "answers", ignore_errors=True)  # of the call before
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-m", "brainscore_vision", "judge", "--model", model, "--benchmark", "mean-0"]
        command += ["--records", name, "--events", f"{name}/events", "--isolation", isolation]
        with timed() as spent:
            ended = run_bounded(command, environment=environment_of(library))
        if ended.problem or '"scored"' not in Path(name, "events").read_text(encoding="utf-8"):
            raise SystemExit(f"{command} failed: {ended}")
    return spent["wall_s"]


def pairs(repeats: int) -> dict[str, float]:
    """Return the seconds of a pair in one process and in two, one of them in a box, and what that adds."""
    result: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="made-up-") as name:
        library = make_library(Path(name))
        for model, times in (("slow-0", repeats), ("slow-60", 1)):
            if times > 1:
                score(library, model, "box")  # after it, byte code and index are there
            each = [(score(library, model, "none"), score(library, model, "box")) for _ in range(times)]
            added = statistics.median(boxed - plain for plain, boxed in each)
            plain = statistics.median(plain for plain, _ in each)
            result[f"pair_{model}_plain_s"], result[f"pair_{model}_added_s"] = round(plain, 3), round(added, 3)
            result[f"pair_{model}_added_percent"] = round(100 * added / plain, 2)
    return result


def main() -> None:
    """Measure, print a table and write results/isolation.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args()
    if why_no_box():
        raise SystemExit(why_no_box())
    why_no_box.cache_clear()
    with timed() as probe:
        why_no_box()
    about = {"processors": os.cpu_count(), "target_s": TARGET_S, "probe_s": round(probe["wall_s"], 4)}
    keep("isolation", {**about, **start(options.repeats), **pairs(max(1, options.repeats // 4))})


if __name__ == "__main__":
    main()
