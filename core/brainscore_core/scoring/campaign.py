"""Score many pairs and write each record at once, whichever runner scores."""

from __future__ import annotations

import dataclasses
import errno
import itertools
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Protocol

from brainscore_core.errors import RecordsError
from brainscore_core.identity import software
from brainscore_core.names import CHARACTERS, why_no_identifier
from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_core.records.store import keep
from brainscore_core.scoring.batches import USUAL, Batch, make_batches, run_batch
from brainscore_core.scoring.judging import Isolation, failed
from brainscore_core.scoring.pairs import Limits, Outcome, Pair

__all__ = ["Progress", "Runner", "duration", "result", "run_here", "run_pairs"]


_LEAST_MINUTES = 5 / 60  # time left below which no batch is started
_POLL_S = 0.5
# Errors that would stop every other record too.
_OF_ALL_RECORDS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM, errno.ESTALE}


class Runner(Protocol):
    """A function that scores batches, such as `run_here` with its library and limits."""

    def __call__(self, batches: Sequence[Batch], *, minutes: float) -> Iterator[Outcome]:
        """Yield each outcome at once; pairs without time left have none."""


def run_here(
    batches: Sequence[Batch],
    library: str,
    limits: Limits = USUAL,
    *,
    jobs: int = 1,
    isolation: Isolation = "auto",
    minutes: float = float("inf"),
    run: Callable[..., Iterator[Outcome]] = run_batch,
    start: Callable[[Pair], object] = lambda pair: None,  # noqa: ARG005 - reports nothing
) -> Iterator[Outcome]:
    """Score batches on this machine, in order, `jobs` at a time, usually with `run_batch`; yield outcomes at once.

    `start` is called with each pair that starts, from the thread of its batch.
    """
    deadline = time.monotonic() + 60 * minutes
    queue: SimpleQueue[Outcome | None] = SimpleQueue()
    is_over = False

    def score(batch: Batch) -> None:
        pending = {pair.benchmark: pair for pair in batch.pairs}
        rest = (deadline - time.monotonic()) / 60
        try:
            if rest > _LEAST_MINUTES and not is_over:
                _start_first(pending, start)
                for outcome in run(batch, library, limits, isolation=isolation, minutes=rest, is_over=lambda: is_over):
                    del pending[outcome.record.benchmark]
                    queue.put(outcome)
                    _start_first(pending, start)
        except Exception as error:  # noqa: BLE001 - the other pairs are still scored
            for pair in pending.values():
                queue.put(Outcome(failed(pair, type(error).__name__, str(error))))
        finally:
            queue.put(None)

    pool = ThreadPoolExecutor(max(1, jobs), "batches")
    try:
        for batch in batches:
            pool.submit(score, batch)
        n_running = len(batches)
        while n_running:
            try:
                outcome = queue.get(timeout=_POLL_S)  # a wait without end could not be interrupted
            except Empty:
                continue
            if outcome is None:
                n_running -= 1
            else:
                yield outcome
    finally:
        is_over = True
        pool.shutdown(cancel_futures=True)


def _start_first(pending: Mapping[str, Pair], start: Callable[[Pair], object]) -> None:
    """Call `start` with the first pending pair of a batch, if any is left; the pairs of a batch are scored in turn."""
    if pending:
        start(next(iter(pending.values())))


def run_pairs(
    pairs: Sequence[Pair],
    records: Path,
    run: Runner,
    *,
    revision_of: Callable[[str, str], str | None] = lambda kind, identifier: None,  # noqa: ARG005 - knows no revision
    why_no_private: str | None = None,
    minutes: float = float("inf"),
    batches_of: Callable[[Sequence[Pair]], Sequence[Batch]] = make_batches,
    tell: Callable[[Pair, Outcome], object] = lambda pair, outcome: None,  # noqa: ARG005 - reports nothing
) -> tuple[list[ScoreRecord], dict[Pair, str]]:
    """Score pairs, each (model, benchmark) once, and write each record at once, see `record_path`.

    A failed pair doesn't hold up others. If no record can be written, such as on a full disk, running pairs are ended
    and `RecordsError` is raised. Returns the new records, and pairs without one -> reason.

    Parameters
    ----------
    revision_of
        ``revision_of('model' or 'benchmark', identifier)`` returns the revision for the record.
    why_no_private
        Why private pairs are skipped, for their records; None: they are scored.
    tell
        Called with each pair and outcome after its record is written.
    """
    made: list[ScoreRecord] = []
    unscored: dict[Pair, str] = {}
    # Before any of it runs, as a plugin may write into its own folder.
    names = dict.fromkeys(name for pair in pairs for name in (("model", pair.model), ("benchmark", pair.benchmark)))
    revisions = {name: revision_of(*name) for name in names}

    def write(pair: Pair, outcome: Outcome) -> None:
        record = _kept(records, pair, outcome, revisions)
        if isinstance(record, str):
            unscored[pair] = record
        else:
            made.append(record)
            tell(pair, dataclasses.replace(outcome, record=record))

    for pair in pairs:
        if why := why_no_identifier(pair.model) or why_no_identifier(pair.benchmark):
            unscored[pair] = f"has no record: a name {why}; expected {CHARACTERS}"
    pairs = [pair for pair in pairs if pair not in unscored]
    pending = {(pair.model, pair.benchmark): pair for pair in pairs}
    if why_no_private is not None:
        for pair in [pair for pair in pairs if pair.private]:
            skipped = f"skipped:{why_no_private}"
            write(pair, Outcome(ScoreRecord.without_score(skipped, model=pair.model, benchmark=pair.benchmark)))
            del pending[pair.model, pair.benchmark]
    if not pending:
        return made, unscored
    try:  # before hours have been spent
        records.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=records).close()
    except OSError as error:
        raise _no_place(records, error) from error
    outcomes = run(batches_of(list(pending.values())), minutes=minutes)
    # An error's traceback would keep a generator, and its processes, alive.
    with closing(outcomes) if isinstance(outcomes, Generator) else nullcontext():
        for outcome in outcomes:
            write(pending.pop((outcome.record.model, outcome.record.benchmark)), outcome)
    unscored.update((pair, "no time was left for it") for pair in pending.values())
    return made, unscored


def _kept(
    records: Path, pair: Pair, outcome: Outcome, revisions: Mapping[tuple[str, str], str | None]
) -> ScoreRecord | str:
    """Write the record of an outcome; return it, or why it cannot be written."""
    record = dataclasses.replace(
        outcome.record,
        model_revision=revisions["model", pair.model],
        benchmark_revision=revisions["benchmark", pair.benchmark],
        version_class=software.version_class(),
    )
    try:
        path = record_path(records, pair.model, pair.benchmark)
        return keep(record, path, outcome.values, outcome.lock, outcome.candidate_lock)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in _OF_ALL_RECORDS:
            raise _no_place(records, error) from error
        return f"its record cannot be written: {error}"


def _no_place(records: Path, error: OSError) -> RecordsError:
    free = ""
    with suppress(OSError):
        free = f" {shutil.disk_usage(records).free / 1e6:,.1f} MB are free."
    return RecordsError(
        f"No record can be written to {records}: {error.strerror or error}.{free} Existing records are intact. Make "
        "room or choose another folder (--records), then run the same again: it resumes with the pairs that have no "
        "record."
    )


# -- progress ----------------------------------------------------------------------------------------------------------
#
# Report the progress of a campaign: each pair as it starts and ends, and the number and duration of the rest.


_MOST_LISTED = 3  # running pairs
_LEAST_SHARE = 0.01  # of the planned minutes, below which nothing is estimated


class Progress:
    """Count finished pairs and estimate the remaining time from the planned minutes; `clock` returns seconds."""

    def __init__(self, pairs: Collection[Pair], clock: Callable[[], float] = time.monotonic) -> None:
        self.n_pairs, self.planned = len(pairs), sum(pair.minutes for pair in pairs)
        self.clock = clock
        self.started = clock()
        self.n_done = self.n_failed = 0
        self.done = 0.0
        self.running: dict[Pair, float] = {}  # pair -> when it started

    def start(self, pair: Pair) -> str:
        """Note that a pair starts; return its line."""
        self.running[pair] = self.clock()
        return f"[{self.n_done}/{self.n_pairs}] {pair.model} on {pair.benchmark}: starts"

    def heartbeat(self) -> str:
        """Return a line with the pairs that run and for how long."""
        now = self.clock()
        running = dict(self.running)  # others start and end meanwhile
        listed = [f"{pair.model} on {pair.benchmark} ({duration(now - since)})" for pair, since in running.items()]
        more = f" and {len(listed) - _MOST_LISTED} more" if len(listed) > _MOST_LISTED else ""
        return f"[{self.n_done}/{self.n_pairs}] running: {', '.join(listed[:_MOST_LISTED]) or 'nothing yet'}{more}"

    def count(self, pair: Pair, outcome: Outcome) -> None:
        """Count a finished pair."""
        self.running.pop(pair, None)
        self.n_done += 1
        self.n_failed += outcome.record.status.startswith("failed:")
        self.done += pair.minutes

    def seconds_left(self) -> float | None:
        """Return the estimated remaining time; None if too little is done."""
        if self.n_done == self.n_pairs:
            return 0.0
        if self.done < _LEAST_SHARE * self.planned or not self.done:
            return None
        return (self.clock() - self.started) * max(0.0, self.planned - self.done) / self.done

    def line(self, outcome: Outcome) -> str:
        """Return the line of the pair counted last."""
        seconds_left = self.seconds_left()
        rest = f"; about {duration(seconds_left)} left" if seconds_left else ""
        return f"[{self.n_done}/{self.n_pairs}] {result(outcome)}{rest}"


def result(outcome: Outcome) -> str:
    """Return the outcome of a pair as a line."""
    record = outcome.record
    if record.score is None:
        return f"{record.model} on {record.benchmark}: {'not applicable' if record.is_scored else record.status}"
    score = f"{record.score:.4f}"
    error = "" if record.error is None else f" ± {record.error:.4f}"
    seconds = "" if record.duration_s is None else f" ({duration(record.duration_s)})"
    return f"{record.model} on {record.benchmark}: {score}{error}{seconds}"


def duration(seconds: float) -> str:
    """Return a duration in at most two units.

    Examples
    --------
    >>> duration(3.21), duration(75), duration(7_300), duration(200_000)
    ('3.2 s', '1 min 15 s', '2 h 1 min', '2 d 7 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    whole = round(seconds)
    for (name, size), (smaller, its_size) in itertools.pairwise(units):
        if whole >= size:
            first, rest = divmod(whole, size)
            return f"{first} {name} {rest // its_size} {smaller}" if rest // its_size else f"{first} {name}"
    return f"{whole} s"
