"""Measure what two jobs gain over one, what sharing a look gains, and what the coordinator itself takes for a pair.

Judge, boxes and sharing are the real ones; models and benchmarks are made up (`made_up_library`), so that what a pair
takes is known. Ratios are of runs that follow each other; on a machine that does something else too they are lower
bounds.
"""

import os
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

from harness import keep, options_of, size, timed
from made_up_library import environment_of, make_library

from brainscore_core.scoring.batches import make_batches
from brainscore_core.scoring.campaign import run_here, run_pairs
from brainscore_core.scoring.isolation.box import why_no_box
from brainscore_core.scoring.pairs import Pair

N_MODELS, N_BENCHMARKS = size(4, 2), size(10, 2)


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


if __name__ == "__main__":
    options = options_of(__doc__, seconds=(size(50, 2) / 10, "of a look"))
    if why := why_no_box():
        sys.exit(why)
    with tempfile.TemporaryDirectory(prefix="made-up-") as name:
        library = make_library(Path(name), n_busy=N_MODELS, busy_s=options.seconds, n_benchmarks=N_BENCHMARKS)
        os.environ.update(environment_of(library))
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        home = Path(os.environ["BRAINSCORE_HOME"])
        run([Pair("slow-0", "mean-0")], home)  # after it, byte code, index and pictures are there
        models = [Pair(f"busy-{number}", "mean-0") for number in range(N_MODELS)]
        one, two = run(models, home), run(models, home, jobs=2)
        same = [Pair("busy-0", f"mean-{number}") for number in range(N_BENCHMARKS)]
        together = run(same, home)
        os.environ["RESULTCACHING_DISABLE"] = "1"  # else the second would find the answers of the first
        apart = run(same, home, most_minutes=1.0)
    results = {
        "processors": os.cpu_count(),
        "seconds_of_a_look": options.seconds,
        "one_job_s_per_pair": round(one["wall_s"] / N_MODELS, 2),
        "two_jobs_over_one": round(one["wall_s"] / two["wall_s"], 2),
        "pair_by_pair_s": round(apart["wall_s"], 1),
        "one_batch_s": round(together["wall_s"], 1),
        "sharing_over_pair_by_pair": round(apart["wall_s"] / together["wall_s"], 2),
        "coordinator_cpu_s_per_pair": round(one["cpu_s"] / N_MODELS, 4),
        "coordinator_cpu_s_per_pair_of_a_batch": round(together["cpu_s"] / N_BENCHMARKS, 4),
    }
    keep("campaign", results)
