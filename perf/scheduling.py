"""Measure how well and how cheaply a campaign of 741 models x 289 benchmarks (214,149 pairs) is shared among workers.

Two measurements; what is simulated and what is real differs.

**Simulated time, real decisions.** 200 workers of a simulation ask the real `Ledger`, which cuts batches into pieces,
orders them, and decides what is done again. Made up are: how long a pair takes (the product of a cost of its model and
of its benchmark, both log-normal, and of an error of the estimate, log-normal too, which the ledger does not know),
that each piece first loads its model (1 minute), that 1 % of pairs lose their worker at a random moment, and that
another one is there 2 minutes later. Not simulated are dask and the network. The ideal makespan is the true time of all
pairs divided by the workers: without loading, without losses, without any pair being longer than another.

**Real dask, made-up scores.** The scheduler is a process of its own, as ``dask scheduler`` starts it, with 200 workers,
a hundred in each of two processes, which have a connection each; `run_on_cluster` hands out pieces to them, and what a
worker does is to return records at once. Everything but the scoring is what a campaign does: tasks and records as JSON
text, an event for each outcome, reading and counting them. Wall time per pair is what a pair costs on this machine with
all of it on the same cores; memory is the peak of the scheduler, as far as the campaign has come and in the end.
`--part` takes some of the models only.
"""

import dataclasses
import heapq
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import cpu_of, keep, memory_mib, options_of, size

from brainscore_core.scoring.batches import Batch
from brainscore_core.scoring.cluster import Ledger, run_on_cluster
from brainscore_core.scoring.pairs import Pair

MODELS, BENCHMARKS, WORKERS = size(741, 40), size(289, 20), size(200, 8)
LOSSES, RETURN_MINUTES, LOAD_MINUTES = 0.01, 2.0, 1.0
VALUES = bytes(range(256)) * 16  # beside each record, as of some hundred neuroids
MOST_EXCESS, MOST_GB, MOST_MS = 0.03, 2.0, 50.0


def make(chance: random.Random) -> tuple[list[Batch], dict[Pair, float]]:
    """Make up batches as `make_batches` gives them, one for each model, short pairs first; and the true minutes."""
    costs = [chance.lognormvariate(0.0, 0.8) for _ in range(BENCHMARKS)]
    batches, true_minutes = [], {}
    for model in range(MODELS):
        size = chance.lognormvariate(0.5, 1.0)
        pairs = []
        for benchmark, cost in enumerate(costs):
            minutes = size * cost
            pairs.append(Pair(f"model{model}", f"benchmark{benchmark}", minutes, 1.0))
            true_minutes[pairs[-1]] = minutes * chance.lognormvariate(0.0, 0.3)
        batches.append(Batch(tuple(sorted(pairs, key=lambda pair: pair.minutes))))
    return sorted(batches, key=lambda batch: -batch.minutes), true_minutes


def simulate(
    batches: list[Batch], minutes: dict[Pair, float], chance: random.Random, losses: float = LOSSES
) -> dict[str, float]:
    """Play a campaign in virtual time with the decisions of the real ledger."""
    ledger = Ledger(batches, WORKERS)
    ends: list[tuple[float, int, str | None, bool]] = []  # when, which worker, of which piece, whether it is lost
    free = [(0.0, worker) for worker in range(WORKERS)]
    now, n_pieces, n_lost, n_given_up = 0.0, 0, 0, 0
    while ledger.n_open:
        while free and (piece := ledger.take()) is not None:
            at, worker = free.pop()
            at, lost, n_pieces = max(now, at) + LOAD_MINUTES, False, n_pieces + 1
            for pair in piece.batch.pairs:
                lost = chance.random() < losses
                at += minutes[pair] * (chance.random() if lost else 1.0)
                if lost:
                    break
                ledger.done(pair.model, pair.benchmark)
            heapq.heappush(ends, (at, worker, piece.key, lost))
        now, worker, key, lost = heapq.heappop(ends)
        if key is None:  # another worker in the place of one that was lost
            free.append((now, worker))
        elif lost:
            n_lost += 1
            n_given_up += ledger.lost(key, begun=True) is not None
            heapq.heappush(ends, (now + RETURN_MINUTES, worker, None, False))
        else:
            ledger.ended(key)
            free.append((now, worker))
    makespan = max([now, *(at for at, _, key, lost in ends if key is not None and not lost)])
    ideal = sum(minutes.values()) / WORKERS
    return {
        "pairs": sum(len(batch.pairs) for batch in batches),
        "ideal_hours": ideal / 60,
        "makespan_hours": makespan / 60,
        "excess": makespan / ideal - 1,
        "pieces": n_pieces,
        "workers_lost": n_lost,
        "pairs_given_up": n_given_up,
        "longest_pair_hours": max(minutes.values()) / 60,
    }


# -- real dask ---------------------------------------------------------------------------------------------------------


def return_at_once(data: str) -> list[str]:
    """Do what `score_task` does, but for scoring: a record of each pair, told and returned."""
    from distributed import get_worker

    from brainscore_core.scoring.cluster.work import Task, outcome_text
    from brainscore_core.scoring.judging import failed
    from brainscore_core.scoring.pairs import Outcome

    task, worker = Task.from_json(data), get_worker()
    worker.log_event(task.topic, {"piece": task.key, "begun": True})
    if not hasattr(worker, "made_up"):  # once: it asks git for the revision of the library, which takes 60 ms
        worker.made_up = failed(task.pairs[0], "Nothing", "x" * 500)
    texts = []
    for pair in task.pairs:
        made = dataclasses.replace(worker.made_up, model=pair.model, benchmark=pair.benchmark)
        texts.append(outcome_text(Outcome(made, "output", VALUES)))
        worker.log_event(task.topic, {"piece": task.key, "outcome": texts[-1]})
    return texts


MANY = """
import asyncio, sys
from contextlib import AsyncExitStack
import dask
from distributed import Worker

async def main(address, n, folder):
    async with AsyncExitStack() as stack:
        options = {"nthreads": 1, "memory_limit": 0, "local_directory": folder, "dashboard": False}
        made = [Worker(address, host="127.0.0.1", **options) for _ in range(n)]
        await asyncio.gather(*(stack.enter_async_context(worker) for worker in made))
        await asyncio.gather(*(worker.finished() for worker in made))

dask.config.set({"distributed.worker.http.routes": [], "distributed.admin.system-monitor.interval": "60s"})
asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
"""  # workers of dask in one process, which would not start so many by itself


def peak_gb(pid: int) -> float:
    return memory_mib("VmHWM", pid) * 2**20 / 1e9


def measure_dask(batches: list[Batch]) -> dict[str, float]:
    """Run a campaign of pairs that take no time through a real scheduler."""
    from distributed import Client

    environment = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scheduler.json"
        common = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
        options = {"env": environment, "stderr": subprocess.DEVNULL}
        scheduler = [*common, "--scheduler-file", str(file), "--dashboard-address", "127.0.0.1:0"]
        programs = [subprocess.Popen(scheduler, **options)]
        try:
            while not (file.exists() and file.read_text().endswith("}")):
                time.sleep(0.1)
            address = json.loads(file.read_text())["address"]
            command = [sys.executable, "-c", MANY, address, str(WORKERS // 2), folder]
            programs += [subprocess.Popen(command, **options) for _ in range(2)]
            with Client(address, set_as_default=False) as client:
                client.wait_for_workers(WORKERS, timeout=300)
            scheduler, n_pairs = programs[0].pid, sum(len(batch.pairs) for batch in batches)
            n, before = 0, [time.monotonic(), cpu_of(scheduler), cpu_of(os.getpid())]
            numbers = {"scheduler_start_gb": peak_gb(scheduler)}
            for n, _ in enumerate(run_on_cluster(batches, "none", cluster=address, score=return_at_once), start=1):
                if n % max(1, n_pairs // 4) == 0:
                    numbers[f"seconds_after_{n}"] = time.monotonic() - before[0]
                    numbers[f"scheduler_gb_after_{n}"] = peak_gb(scheduler)
            after = [time.monotonic(), cpu_of(scheduler), cpu_of(os.getpid())]
            names = ("ms_a_pair", "scheduler_cpu_ms_a_pair", "campaign_cpu_ms_a_pair")
            each = {name: 1e3 * (end - start) / n for name, start, end in zip(names, before, after, strict=True)}
            return {"dask_pairs": n, **each, "scheduler_peak_gb": peak_gb(scheduler), **numbers}
        finally:
            for program in programs:
                program.kill()
                program.wait()


if __name__ == "__main__":
    part = options_of(__doc__, part=(1.0, "of the models, through the real scheduler (0 to 1)")).part
    chance = random.Random(0)  # noqa: S311 - of a simulation
    batches, minutes = make(chance)
    results: dict[str, object] = {"seed": 0, "workers": WORKERS, "losses": LOSSES}
    results["simulated"] = simulated = simulate(batches, minutes, chance)
    results["simulated_without_losses"] = simulate(batches, minutes, chance, losses=0.0)
    print(f"excess over the ideal makespan at most {MOST_EXCESS:.0%}: {simulated['excess'] <= MOST_EXCESS}")
    results["dask"] = dask = measure_dask(batches[: max(1, round(part * MODELS))])
    print(f"less than {MOST_MS:g} ms a pair: {dask['ms_a_pair'] < MOST_MS}")
    print(f"less than {MOST_GB:g} GB in the scheduler: {dask['scheduler_peak_gb'] < MOST_GB}")
    keep("scheduling", results)
