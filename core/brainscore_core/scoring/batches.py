"""Score pairs in batches: all pairs of a batch are of one model, which is loaded once and looks once at each picture.

`make_batches` decides which pairs go together and in which order; `run_batch` scores those of one batch.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from brainscore_core.credentials import environment_of, secrets_of
from brainscore_core.processes import run_bounded
from brainscore_core.scoring.judging import Isolation, Judge
from brainscore_core.scoring.pairs import Limits, Outcome, Pair

__all__ = ["USUAL", "Batch", "make_batches", "run_batch"]

USUAL = Limits()
_PREPARE_S = 3600.0
_MEMORY, _SHARES = "BRAINSCORE_MEMORY_GB", 4  # as of a machine, see `brainscore_core.config.memory_budget`


@dataclass(frozen=True)
class Batch:
    """Pairs that are scored one after the other with one copy of a model.

    Attributes
    ----------
    pairs : tuple of Pair
        In the order they are scored; at least one, all of one model, and all of them private or none.
    """

    pairs: tuple[Pair, ...]

    def __post_init__(self) -> None:
        if len({(pair.model, pair.private) for pair in self.pairs}) != 1:
            raise ValueError(
                "A batch is of pairs of one model, all of them private or none; make_batches sorts them so. It was "
                f"given {[(pair.model, pair.benchmark, pair.private) for pair in self.pairs]}."
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
        """What all of it takes, about."""
        return sum(pair.minutes for pair in self.pairs)

    @property
    def memory_gb(self) -> float:
        """What it takes at a time, about."""
        return max(pair.memory_gb for pair in self.pairs)

    @property
    def gpus(self) -> int:
        """How many GPUs it needs."""
        return max(pair.gpus for pair in self.pairs)


def make_batches(
    pairs: Iterable[Pair],
    *,
    stimuli_of: Callable[[str], Hashable] = lambda benchmark: benchmark,
    most_minutes: float = float("inf"),
) -> list[Batch]:
    """Decide which pairs are scored together, and in which order.

    Pairs of one model stay together, and among them those whose benchmarks show the same stimuli. The longest batch
    comes first, so that it is not the one that all wait for at the end; within a batch what is short comes first, so
    that a model that cannot be scored at all shows it soon.

    Parameters
    ----------
    pairs : iterable of Pair
        Each is in exactly one batch.
    stimuli_of : callable
        Benchmark -> a key that benchmarks with the same stimuli share; default: each has its own.
    most_minutes : float
        Batches that take longer are divided, where the stimuli change if possible, so that several processes can
        share the pairs of one model. A pair that takes longer has a batch of its own.

    Returns
    -------
    list of Batch
        The same pairs give the same batches, in whichever order they come.
    """
    of_model: dict[tuple[str, bool], list[Pair]] = {}
    for pair in sorted(pairs, key=lambda pair: (pair.model, pair.benchmark)):
        of_model.setdefault((pair.model, pair.private), []).append(pair)
    batches = [
        Batch(tuple(part)) for group in of_model.values() for part in _parts(_sets(group, stimuli_of), most_minutes)
    ]
    return sorted(batches, key=lambda batch: -batch.minutes)


def _sets(pairs: Sequence[Pair], stimuli_of: Callable[[str], Hashable]) -> list[list[Pair]]:
    """Return the pairs of each set of stimuli together, what is short first."""
    sets: dict[Hashable, list[Pair]] = {}
    for pair in pairs:
        sets.setdefault(stimuli_of(pair.benchmark), []).append(pair)
    return sorted((sorted(each, key=_minutes) for each in sets.values()), key=lambda each: sum(map(_minutes, each)))


def _parts(sets: Iterable[list[Pair]], most_minutes: float) -> list[list[Pair]]:
    """Put sets of pairs together up to a length; a set that is longer is cut."""
    parts: list[list[Pair]] = []
    for each in sets:
        pieces = [each] if sum(map(_minutes, each)) <= most_minutes else _cut(each, most_minutes)
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
    environment: Mapping[str, str] | None = None,
    python: str = sys.executable,
) -> Iterator[Outcome]:
    """Score the pairs of a batch in a process of its own, and yield the outcome of each as soon as it is there.

    Whatever becomes of a pair, the others are scored: one that takes the process down, takes too long or too much
    memory has an outcome that says so, and another process goes on with the rest. Who stops asking for outcomes ends
    the process.

    Parameters
    ----------
    library : str
        Package with the commands ``judge`` and ``prepare``, such as ``'mylibrary'``; of private pairs, whose judge has
        no network, the model is prepared first.
    limits : Limits
        Of each pair.
    isolation : 'auto', 'box' or 'none'
        Where the model runs, see `Judge`. Models never meet private data but in a box, whatever this says.
    minutes : float
        After which nothing more is started and what runs is stopped; pairs that are not reached have no outcome.
    is_over : callable
        Asked several times a second; True ends everything as if the minutes were over.
    environment : mapping of str to str, optional
        To choose the environment variables from; None: those of this process. No credential is handed on, and pairs
        with private data have no network.
    python : str
        Interpreter.

    Yields
    ------
    Outcome
        Its record says 'scored', or 'failed:<class>' with the class of the error; 'failed:Timeout',
        'failed:MemoryLimit', 'failed:<signal>' or 'failed:Exit<status>' if the process ended otherwise;
        'failed:NoRecord' if it ended well without the record of this pair.
    """
    surroundings = os.environ if environment is None else environment
    given = _with_memory(environment_of(surroundings), min(limits.memory_bytes(pair) for pair in batch.pairs))
    judge = Judge(
        library=library,
        isolation="box" if batch.private else isolation,  # only the coordinator can tell that they are private
        environment={**given, "BRAINSCORE_OFFLINE": "1"} if batch.private else given,
        secrets=secrets_of(surroundings),
        python=python,
        limits=limits,
    )
    deadline = time.monotonic() + 60 * minutes
    if batch.private:
        _prepare(batch.model, library, given, python, min(60 * minutes, _PREPARE_S))

    def no_time_left() -> bool:
        return time.monotonic() > deadline or is_over()

    pending = {pair.benchmark: pair for pair in batch.pairs}
    is_second = False
    while pending and not no_time_left():
        before = len(pending)
        for outcome in judge.outcomes(tuple(pending.values()), no_time_left=no_time_left, is_second=is_second):
            del pending[outcome.record.benchmark]
            yield outcome
        is_second = len(pending) == before


def _with_memory(environment: Mapping[str, str], limit_bytes: float) -> dict[str, str]:
    """Let what is kept for the next pair, and each large array, take its share of what the pairs are stopped at."""
    try:
        given = float(environment.get(_MEMORY, "inf"))
    except ValueError:  # the library says what is wrong with it
        return dict(environment)
    return {**environment, _MEMORY: f"{min(given, limit_bytes / 1e9 / _SHARES):g}"}


def _prepare(model: str, library: str, environment: Mapping[str, str], python: str, timeout_s: float) -> None:
    """Let what a model needs be fetched, in a process with the network; where that fails, the judge will say it."""
    command = [python, "-m", library, "prepare", "--model", model]
    with suppress(OSError, ValueError):
        run_bounded(command, environment=environment, timeout_s=timeout_s)
