"""Measure what a campaign adds to its pairs, what two jobs gain over one, and what sharing a look gains.

Pairs are of made-up cost: a process that computes, with one thread, for as long as it is told. Ratios are of runs that
follow each other; on a machine that does something else too they are lower bounds.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from brainscore_core.scoring.batches import make_batches
from brainscore_core.scoring.campaign import run_here, run_pairs
from brainscore_core.scoring.records import ScoreRecord

RESULTS = Path(__file__).parent / "results" / "campaign.json"
LIBRARY = """
    import argparse, json, pathlib, time
    from brainscore_core.scoring.events import append_event

    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["judge"])
    parser.add_argument("--benchmark", nargs="+", required=True)
    for option in ("--model", "--records", "--events", "--isolation"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    template = json.loads(pathlib.Path(__file__).with_name("record.json").read_text())
    looked = set()

    def compute(seconds):
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass

    for benchmark in options.benchmark:
        append_event(pathlib.Path(options.events), "started", benchmark)
        stimuli, look, own, _ = benchmark.split("_")
        if stimuli not in looked:
            compute(float(look))
            looked.add(stimuli)
        compute(float(own))
        target = pathlib.Path(options.records, benchmark, f"{options.model}.json")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps({**template, "model": options.model, "benchmark": benchmark, "score": 0.5}))
        append_event(pathlib.Path(options.events), "ended", benchmark, "scored")
"""


@dataclass(frozen=True)
class Task:
    """A pair; the name of its benchmark tells stimuli, seconds of a look at them, seconds of its own, and a number."""

    model: str
    benchmark: str
    minutes: float = 1.0
    memory_gb: float = 1.0
    private: bool = False


def seconds_of(tasks: list[Task], library: str, *, jobs: int = 1, most_minutes: float = float("inf")) -> float:
    """Return how long a campaign takes."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        made, left = run_pairs(
            tasks,
            Path(folder),
            partial(run_here, library=library, jobs=jobs),
            batches_of=partial(make_batches, stimuli_of=lambda name: name.split("_")[0], most_minutes=most_minutes),
        )
        seconds = time.perf_counter() - started
    if left or not all(record.is_scored for record in made):
        sys.exit(f"not all pairs were scored: {[record.status for record in made if not record.is_scored]}, {left}")
    return seconds


def main() -> None:
    """Measure, print, and keep the results."""
    with tempfile.TemporaryDirectory() as name:
        package = Path(name, "madeup")
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "__main__.py").write_text(textwrap.dedent(LIBRARY), encoding="utf-8")
        dataclasses.replace(ScoreRecord.without_score("scored", model="", benchmark="")).write(package / "record.json")
        os.environ["PYTHONPATH"] = os.pathsep.join([name, *filter(None, sys.path)])
        heavy = [Task(f"m{model}", f"s_0_0.5_{number}") for model in range(4) for number in range(2)]
        one, two = seconds_of(heavy, "madeup"), seconds_of(heavy, "madeup", jobs=2)
        looks = [Task("m", f"s_1.5_0.05_{number}") for number in range(10)]
        shared, apart = seconds_of(looks, "madeup"), seconds_of(looks, "madeup", most_minutes=1.0)
        light = [Task("m", f"s_0_0_{number}") for number in range(200)]
        overhead = seconds_of(light, "madeup") / len(light)
    results = {
        "two_jobs_over_one": round(one / two, 2),
        "sharing_over_pair_by_pair": round(apart / shared, 2),
        "coordination_s_per_pair": round(overhead, 4),
    }
    for what, value in results.items():
        print(f"{what:28s} {value}")
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
