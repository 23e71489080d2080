"""Score pairs in batches: a batch shares one model, loaded once, which sees each picture once."""

# Why batches
#
# Problem. Hundreds of models on hundreds of benchmarks, some with private data. Loading a model and showing it pictures
# takes most of the time, benchmarks share pictures, plugins crash or never end, and a campaign may be killed at any
# moment. Each pair should cost as little as possible, and no pair may take another's score with it.
#
# Sources. Graham (1969), doi:10.1137/0117039: taking the longest job first, the last of m machines ends at most 4/3 -
# 1/(3 m) times later than in the best order.
#
# What else was tried or considered, and why not.
# - A process for each pair: 9 times slower where looking takes 5 s (perf/RESULTS.md, campaigns). `Batch` of one pair
#   still does it.
# - One process for everything (considered): the first crash or leak takes the rest with it, and models need packages
#   that exclude each other.
# - Batches of one benchmark (considered): measurements are loaded once, but each model once for each benchmark, and
#   models would run in one process after each other.
# - Public and private pairs together (considered): the private ones would force a box and an offline judge on all.
# - Our own scheduler for many machines (considered): dask has one, and GitHub and Slurm have theirs. `cluster` only
#   decides which piece comes next.
#
# Cost. O(n log n) to order n pairs; filling parts is O(sets x pairs) for one model. The coordinator needs 12 ms of CPU
# for a pair in a batch of ten, 99 ms for a batch of one; two jobs have 1.85 times the speed of one.
#
# Where it breaks. Order and division rest on `minutes` of metadata.yml: if these are wrong, a machine idles at the end.
# A model with public and private pairs is loaded twice. Memory that one pair leaks counts against the next one. A pair
# that ends the process costs the others another loading of the model.

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from brainscore_core.credentials import environment_of, secrets_of
from brainscore_core.processes import run_bounded
from brainscore_core.scoring.judging import Isolation, Judge
from brainscore_core.scoring.pairs import Limits, Outcome, Pair

__all__ = ["USUAL", "Batch", "make_batches", "run_batch"]

USUAL = Limits()
_PREPARE_S = 3600.0
_MEMORY, _SHARES = "BRAINSCORE_MEMORY_GB", 4  # see `brainscore_core.config.memory_budget`


@dataclass(frozen=True)
class Batch:
    """Pairs scored in turn with one copy of a model, all private or none."""

    pairs: tuple[Pair, ...]

    def __post_init__(self) -> None:
        if len({(pair.model, pair.private) for pair in self.pairs}) != 1:
            raise ValueError(
                "The pairs of a batch share one model, and are all private or all public, as make_batches ensures; "
                f"got {[(pair.model, pair.benchmark, pair.private) for pair in self.pairs]}."
            )

    @property
    def model(self) -> str:
        """Identifier."""
        return self.pairs[0].model

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """Identifiers, in the order they are scored."""
        return tuple(pair.benchmark for pair in self.pairs)

    @property
    def private(self) -> bool:
        """Whether the benchmarks need private data."""
        return self.pairs[0].private

    @property
    def minutes(self) -> float:
        """Expected duration of all pairs."""
        return sum(pair.minutes for pair in self.pairs)

    @property
    def memory_gb(self) -> float:
        """Largest expected memory of a pair (10^9 bytes)."""
        return max(pair.memory_gb for pair in self.pairs)

    @property
    def gpus(self) -> int:
        """Largest number of GPUs that a pair needs."""
        return max(pair.gpus for pair in self.pairs)


def make_batches(
    pairs: Iterable[Pair],
    *,
    stimuli_of: Callable[[str], Hashable] = lambda benchmark: benchmark,
    most_minutes: float = float("inf"),
) -> list[Batch]:
    """Group pairs into batches and order them, whatever the order of the pairs.

    A model's pairs stay together, grouped by stimuli. The longest batch comes first; within a batch the shortest pair,
    so that a broken model shows early.

    Parameters
    ----------
    stimuli_of
        Benchmark -> a key that benchmarks with the same stimuli share.
    most_minutes
        Longer batches are divided, between sets of stimuli if possible. A longer pair has its own batch.
    """
    of_model: dict[tuple[str, bool], list[Pair]] = {}
    for pair in sorted(pairs, key=lambda pair: (pair.model, pair.benchmark)):
        of_model.setdefault((pair.model, pair.private), []).append(pair)
    batches = []
    for group in of_model.values():
        of_stimuli: dict[Hashable, list[Pair]] = {}
        for pair in group:
            of_stimuli.setdefault(stimuli_of(pair.benchmark), []).append(pair)
        sets = [sorted(pairs, key=_minutes) for pairs in of_stimuli.values()]
        sets.sort(key=lambda pairs: sum(map(_minutes, pairs)))
        batches += [Batch(tuple(part)) for part in _parts(sets, most_minutes)]
    return sorted(batches, key=lambda batch: -batch.minutes)


def _parts(sets: Iterable[list[Pair]], most_minutes: float) -> list[list[Pair]]:
    parts: list[list[Pair]] = []
    for pairs in sets:
        pieces = [pairs] if sum(map(_minutes, pairs)) <= most_minutes else _cut(pairs, most_minutes)
        for piece in pieces:
            if parts and sum(map(_minutes, [*parts[-1], *piece])) <= most_minutes:
                parts[-1] += piece
            else:
                parts.append(list(piece))
    return parts


def _cut(pairs: Iterable[Pair], most_minutes: float) -> list[list[Pair]]:
    pieces: list[list[Pair]] = []
    for pair in pairs:
        if pieces and sum(map(_minutes, pieces[-1])) + pair.minutes <= most_minutes:
            pieces[-1].append(pair)
        else:
            pieces.append([pair])
    return pieces


def _minutes(pair: Pair) -> float:
    return pair.minutes


def run_batch(
    batch: Batch,
    library: str,
    limits: Limits = USUAL,
    *,
    isolation: Isolation = "auto",
    minutes: float = float("inf"),
    is_over: Callable[[], bool] = lambda: False,
    environment: Mapping[str, str] = os.environ,
    python: str = sys.executable,
) -> Iterator[Outcome]:
    """Score a batch in its own process, and yield each outcome at once.

    If a pair ends the process, another continues. Closing the iterator ends the process.

    Parameters
    ----------
    library
        Package with the commands ``judge`` and ``prepare``, for models of private pairs, whose judge has no network.
    isolation : 'auto', 'box' or 'none'
        Where the model runs, see `Judge`; with private data in a box, unless 'none' declares it the caller's own.
    minutes, is_over : float, callable
        Time limit, and a function called several times a second: once either is over, remaining pairs get no outcome.
    environment
        Environment variables to select from, without credentials.

    Yields
    ------
    Outcome
        Its status is 'scored' or 'failed:<class of the error>'; 'failed:Timeout', 'failed:MemoryLimit',
        'failed:<signal>' or 'failed:Exit<status>' if the process ended; 'failed:NoRecord' if it wrote no record.
    """
    variables = _with_memory_share(environment_of(environment), batch, limits)
    guarded = batch.private and isolation != "none"
    judge = Judge(
        library=library,
        isolation="box" if guarded else isolation,  # only the coordinator knows that they are private
        environment={**variables, "BRAINSCORE_OFFLINE": "1"} if guarded else variables,
        secrets=secrets_of(environment),
        python=python,
        limits=limits,
    )
    deadline = time.monotonic() + 60 * minutes
    if guarded:  # in a process with the network; the judge reports failures
        command = [python, "-m", library, "prepare", "--model", batch.model]
        with suppress(OSError, ValueError):
            run_bounded(command, environment=variables, timeout_s=min(60 * minutes, _PREPARE_S))

    def no_time_left() -> bool:
        return time.monotonic() > deadline or is_over()

    pending = {pair.benchmark: pair for pair in batch.pairs}
    is_second = False
    while pending and not no_time_left():
        n_pending = len(pending)
        for outcome in judge.outcomes(tuple(pending.values()), no_time_left=no_time_left, is_second=is_second):
            del pending[outcome.record.benchmark]
            yield outcome
        is_second = len(pending) == n_pending


def _with_memory_share(variables: dict[str, str], batch: Batch, limits: Limits) -> dict[str, str]:
    """Give the caches of a pair and each large array their share of its memory limit."""
    limit_gb = min(limits.memory_bytes(pair) for pair in batch.pairs) / 1e9
    try:
        share_gb = min(float(variables.get(_MEMORY, "inf")), limit_gb / _SHARES)
    except ValueError:  # the library reports a wrong number
        return variables
    return {**variables, _MEMORY: f"{share_gb:g}"}
