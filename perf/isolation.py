"""Measure what boxes cost, what two jobs gain over one and a shared look over many, and what the coordinator takes.

Judge, boxes and sharing are the real ones; models and benchmarks are made up (`made_up_library`), so that what a pair
takes is known. The box's cost is the median over repeats, a plain child process and a box taking turns, so that
whatever else the machine does is in both. Ratios of campaigns are of runs that follow each other: lower bounds on a
machine that does something else too.
"""

import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from harness import Numbers, keep, options_of, size, timed
from made_up_library import environment_of, make_library

from brainscore_core.processes import run_bounded
from brainscore_core.scoring.batches import make_batches
from brainscore_core.scoring.campaign import run_here, run_pairs
from brainscore_core.scoring.isolation.box import Box, interpreter_paths, run_boxed, why_no_box
from brainscore_core.scoring.pairs import Pair

TARGET_S = 1.0  # what the box and the protocol may cost a pair, together
PROGRAMS = {
    "nothing": ["/usr/bin/env", "true"],
    "python": [sys.executable, "-I", "-c", "pass"],
    "numpy": [sys.executable, "-I", "-c", "import numpy"],
}
N_MODELS, N_BENCHMARKS = size(4, 2), size(10, 2)


def seconds(command: list[str], *, boxed: bool) -> float:
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


def isolation(library: Path, repeats: int) -> Numbers:
    why_no_box.cache_clear()
    with timed() as probe:
        why_no_box()
    results: Numbers = {"target_s": TARGET_S, "probe_s": round(probe["wall_s"], 4)}
    for name, command in PROGRAMS.items():
        for kind, median in zip(("plain", "boxed", "added"), in_turns(partial(seconds, command), repeats), strict=True):
            results[f"start_{name}_{kind}_s"] = round(median, 4)
    score(library, "slow-0", boxed=True)  # after it, byte code, index and pictures are there
    for model, times in {"slow-0": max(1, repeats // 4), "slow-60": 1}.items() if size(1, 0) else [("slow-0", 1)]:
        plain, _, added = in_turns(partial(score, library, model), times)
        results[f"pair_{model}_plain_s"], results[f"pair_{model}_added_s"] = round(plain, 3), round(added, 3)
        results[f"pair_{model}_added_percent"] = round(100 * added / plain, 2)
    return results


def run(tasks: list[Pair], home: Path, *, jobs: int = 1, most_minutes: float = float("inf")) -> timed:
    """Run a campaign whose models have answered nothing before; ``cpu_s`` is that of the coordinator alone."""
    shutil.rmtree(home / "cache" / "answers", ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder, timed() as spent:
        made, unscored = run_pairs(
            tasks,
            Path(folder),
            partial(run_here, library="brainscore_vision", jobs=jobs, isolation="box"),
            batches_of=partial(make_batches, stimuli_of=lambda _: "pictures", most_minutes=most_minutes),
        )
    if unscored or not all(record.is_scored for record in made):
        sys.exit(f"not all pairs were scored: {[(record.status, record.message) for record in made]}, {unscored}")
    return spent


def campaign(library: Path, look_s: float) -> Numbers:
    os.environ.update(environment_of(library))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    home = Path(os.environ["BRAINSCORE_HOME"])
    models = [Pair(f"busy-{number}", "mean-0") for number in range(N_MODELS)]
    one, two = run(models, home), run(models, home, jobs=2)
    same = [Pair("busy-0", f"mean-{number}") for number in range(N_BENCHMARKS)]
    together = run(same, home)
    os.environ["RESULTCACHING_DISABLE"] = "1"  # else the second would find the answers of the first
    apart = run(same, home, most_minutes=1.0)
    return {
        "seconds_of_a_look": look_s,
        "one_job_s_per_pair": round(one["wall_s"] / N_MODELS, 2),
        "two_jobs_over_one": round(one["wall_s"] / two["wall_s"], 2),
        "pair_by_pair_s": round(apart["wall_s"], 1),
        "one_batch_s": round(together["wall_s"], 1),
        "sharing_over_pair_by_pair": round(apart["wall_s"] / together["wall_s"], 2),
        "coordinator_cpu_s_per_pair": round(one["cpu_s"] / N_MODELS, 4),
        "coordinator_cpu_s_per_pair_of_a_batch": round(together["cpu_s"] / N_BENCHMARKS, 4),
    }


if __name__ == "__main__":
    options = options_of(__doc__, repeats=size(20, 1), seconds=(size(50, 2) / 10, "of a look"))
    if why := why_no_box():
        sys.exit(why)
    with tempfile.TemporaryDirectory(prefix="made-up-") as name:
        library = make_library(Path(name), n_busy=N_MODELS, busy_s=options.seconds, n_benchmarks=N_BENCHMARKS)
        machine = {"processors": os.cpu_count()}
        keep("isolation", {**machine, **isolation(library, options.repeats)})
        keep("campaign", {**machine, **campaign(library, options.seconds)})
