"""Measure what a box costs a program, and box and protocol together a pair, beside a plain child process.

Each number is the median over repeats; the two kinds take turns, so that whatever else the machine does is in both.
"""

import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from harness import keep, options_of, size, timed
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


def seconds(command: list[str], *, boxed: bool) -> float:
    """Return the seconds of a program, from the call that starts it to the one that says how it ended."""
    environment = {"OMP_NUM_THREADS": "1"}
    with timed() as spent:
        if boxed:
            ended = run_boxed(command, Box(readable=interpreter_paths(), environment=environment), memory_bytes=8e9)
        else:
            ended = run_bounded(command, environment=environment, memory_bytes=8e9)
    if ended.problem:
        raise SystemExit(f"{command} failed: {ended}")
    return spent["wall_s"]


def score(library: Path, model: str, *, boxed: bool) -> float:
    """Return the seconds of a pair, from the start of the judge to its end."""
    shutil.rmtree(library / "home" / "cache" / "answers", ignore_errors=True)  # of the call before
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-m", "brainscore_vision", "judge", "--model", model, "--benchmark", "mean-0"]
        command += ["--records", name, "--events", f"{name}/events", "--isolation", "box" if boxed else "none"]
        with timed() as spent:
            ended = run_bounded(command, environment=environment_of(library))
        records = [path.read_text(encoding="utf-8") for path in Path(name).rglob("*.json")]
        if ended.problem or not any('"status": "scored"' in record for record in records):
            raise SystemExit(f"{command} failed: {ended} {records}")
    return spent["wall_s"]


def in_turns(call: Callable[..., float], repeats: int) -> tuple[float, float, float]:
    """Return the median seconds of a call, plain and in a box, and of what the box adds."""
    pairs = [(call(boxed=False), call(boxed=True)) for _ in range(repeats)]
    plain, boxed = zip(*pairs, strict=True)
    return statistics.median(plain), statistics.median(boxed), statistics.median(b - p for p, b in pairs)


if __name__ == "__main__":
    repeats = options_of(__doc__, repeats=size(20, 1)).repeats
    if why_no_box():
        raise SystemExit(why_no_box())
    why_no_box.cache_clear()
    with timed() as probe:
        why_no_box()
    results = {"processors": os.cpu_count(), "target_s": TARGET_S, "probe_s": round(probe["wall_s"], 4)}
    for name, command in PROGRAMS.items():
        for kind, median in zip(("plain", "boxed", "added"), in_turns(partial(seconds, command), repeats), strict=True):
            results[f"start_{name}_{kind}_s"] = round(median, 4)
    with tempfile.TemporaryDirectory(prefix="made-up-") as name:
        library = make_library(Path(name))
        score(library, "slow-0", boxed=True)  # after it, byte code and index are there
        for model, times in {"slow-0": max(1, repeats // 4), "slow-60": 1}.items() if size(1, 0) else [("slow-0", 1)]:
            plain, _, added = in_turns(partial(score, library, model), times)
            results[f"pair_{model}_plain_s"], results[f"pair_{model}_added_s"] = round(plain, 3), round(added, 3)
            results[f"pair_{model}_added_percent"] = round(100 * added / plain, 2)
    keep("isolation", results)
