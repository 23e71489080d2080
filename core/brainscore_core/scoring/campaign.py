"""Score many pairs and write each record at once, whichever runner scores."""

from __future__ import annotations

import dataclasses
import errno
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
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

__all__ = ["Runner", "run_here", "run_pairs"]

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
        except Exception as error:  # noqa: BLE001 - the other pairs are scored all the same
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
    """Call `start` with the first pending pair of a batch, whose pairs are scored in turn; not if none is left."""
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
