"""Score many pairs, here, several at a time, and keep the record of each as soon as it is there.

`run_pairs` decides what has to be scored and keeps the records, whoever scores: `run_here` on this machine, or
something else of that form.
"""

from __future__ import annotations

import dataclasses
import errno
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Protocol

from brainscore_core.errors import RecordsError
from brainscore_core.files import atomic_path
from brainscore_core.identity import software
from brainscore_core.identity.digest import text_digest
from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_core.records.store import keep_lock
from brainscore_core.scoring.batches import USUAL, Batch, make_batches, run_batch
from brainscore_core.scoring.judging import Isolation, failed
from brainscore_core.scoring.pairs import Limits, PairOutcome, PairTask

__all__ = ["Runner", "UnscoredPair", "run_here", "run_pairs"]

_LEAST_MINUTES = 5 / 60  # a batch is not started with less time than that
_LOOK_EVERY_S = 0.5
# What keeps a record from being written, and would keep those of all other pairs, too.
_OF_ALL_RECORDS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM, errno.ESTALE}


class Runner(Protocol):
    """What scores batches: `run_here` with its library and limits, or something else of that form."""

    def __call__(self, batches: Sequence[Batch], *, minutes: float) -> Iterator[PairOutcome]:
        """Yield the outcome of each pair as soon as it is there; pairs that no time was left for have none."""


@dataclass(frozen=True)
class UnscoredPair:
    """A pair that has no new record, and why."""

    pair: PairTask
    reason: str
    is_fine: bool


def run_here(
    batches: Sequence[Batch],
    library: str,
    limits: Limits = USUAL,
    *,
    jobs: int = 1,
    isolation: Isolation = "auto",
    minutes: float = float("inf"),
    run: Callable[..., Iterator[PairOutcome]] = run_batch,
) -> Iterator[PairOutcome]:
    """Score batches on this machine, and yield the outcome of each pair as soon as it is there.

    Who stops asking for outcomes ends what runs.

    Parameters
    ----------
    batches : sequence of Batch
        Started in this order.
    library, limits, isolation
        As for `run_batch`.
    jobs : int
        How many batches are scored at a time, at least 1.
    minutes : float
        After which nothing more is started and what runs is stopped.
    run : callable
        What scores a batch, with the arguments of `run_batch`.
    """
    deadline = time.monotonic() + 60 * minutes
    told: SimpleQueue[PairOutcome | None] = SimpleQueue()
    is_over = False

    def score(batch: Batch) -> None:
        pending = {pair.benchmark: pair for pair in batch.pairs}
        left = (deadline - time.monotonic()) / 60
        try:
            if left > _LEAST_MINUTES and not is_over:
                for outcome in run(batch, library, limits, isolation=isolation, minutes=left, is_over=lambda: is_over):
                    del pending[outcome.record.benchmark]
                    told.put(outcome)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other pairs have to be scored
            for pair in pending.values():
                told.put(PairOutcome(failed(pair, type(error).__name__, str(error))))
        finally:
            told.put(None)

    pool = ThreadPoolExecutor(max(1, jobs), "batches")
    try:
        for batch in batches:
            pool.submit(score, batch)
        n_left = len(batches)
        while n_left:
            try:
                outcome = told.get(timeout=_LOOK_EVERY_S)  # not for ever: it has to be possible to interrupt
            except Empty:
                continue
            if outcome is None:
                n_left -= 1
            else:
                yield outcome
    finally:
        is_over = True
        pool.shutdown(cancel_futures=True)


def run_pairs(
    pairs: Iterable[PairTask],
    records: Path,
    run: Runner,
    *,
    revision_of: Callable[[str, str], str | None] = lambda kind, identifier: None,  # noqa: ARG005 - a default that knows none
    is_scored: Callable[[str, str], str | None] = lambda model, benchmark: None,  # noqa: ARG005 - the same
    why_no_private: str | None = None,
    minutes: float = float("inf"),
    batches_of: Callable[[Sequence[PairTask]], Sequence[Batch]] = make_batches,
    tell: Callable[[PairTask, PairOutcome], object] = lambda pair, ran: None,  # noqa: ARG005 - a default that says nothing
) -> tuple[list[ScoreRecord], list[UnscoredPair]]:
    """Score pairs and write each record as soon as it is there; nothing that happens to one keeps another back.

    Parameters
    ----------
    pairs : iterable of PairTask
        Each (model, benchmark) once.
    records : Path
        Folder of the records, see `record_path`.
    run : Runner
        What scores them.
    revision_of : callable
        ``revision_of('model' or 'benchmark', identifier)`` returns the digest that the record keeps.
    is_scored : callable
        ``is_scored(model, benchmark)`` returns why a pair need not be scored again, or None.
    why_no_private : str, optional
        Why private pairs cannot be scored, which their records then say; None: they can.
    minutes : float
        After which nothing more is started and what runs is stopped: a job has to end in time to keep its records.
    batches_of : callable
        Puts pairs into batches.
    tell : callable
        Is told about each new record, when it has been written.

    Returns
    -------
    list of ScoreRecord
        The new ones.
    list of UnscoredPair
        The pairs without a new record.

    Raises
    ------
    RecordsError
        If records cannot be written, such as on a full disk. What runs is ended first.
    """
    campaign = _Campaign(records, revision_of, tell)
    todo: list[PairTask] = []
    for pair in pairs:
        reason = is_scored(pair.model, pair.benchmark)
        if reason is not None:
            campaign.left.append(UnscoredPair(pair, reason, is_fine=True))
        else:
            todo.append(pair)
    campaign.note_revisions(todo)
    if why_no_private is not None:
        for pair in (each for each in todo if each.private):
            campaign.keep(pair, PairOutcome(_skipped(pair, why_no_private)))
        todo = [each for each in todo if not each.private]
    pending = {(pair.model, pair.benchmark): pair for pair in todo}
    if todo:
        _require_place(records)
    outcomes = run(batches_of(todo), minutes=minutes) if todo else iter(())
    try:
        for outcome in outcomes:
            campaign.keep(pending.pop((outcome.record.model, outcome.record.benchmark)), outcome)
    finally:
        if isinstance(outcomes, Generator):  # an error would hold it, and with it the processes
            outcomes.close()
    campaign.left += [UnscoredPair(pair, "no time was left for it", is_fine=False) for pair in pending.values()]
    return campaign.made, campaign.left


class _Campaign:
    """Keeps what came of pairs."""

    def __init__(
        self,
        records: Path,
        revision_of: Callable[[str, str], str | None],
        tell: Callable[[PairTask, PairOutcome], object],
    ) -> None:
        self.records, self.revision_of, self.tell = records, revision_of, tell
        self.revisions: dict[tuple[str, str], str | None] = {}
        self.made: list[ScoreRecord] = []
        self.left: list[UnscoredPair] = []

    def note_revisions(self, pairs: Sequence[PairTask]) -> None:
        """Look at the code before any of it runs: what a plugin writes into its folder meanwhile does not count."""
        for name in dict.fromkeys(
            each for pair in pairs for each in (("model", pair.model), ("benchmark", pair.benchmark))
        ):
            self.revisions[name] = self.revision_of(*name)

    def keep(self, pair: PairTask, outcome: PairOutcome) -> None:
        """Write a record."""
        record = dataclasses.replace(
            outcome.record,
            model_revision=self.revisions["model", pair.model],
            benchmark_revision=self.revisions["benchmark", pair.benchmark],
            version_class=software.version_class(),
        )
        try:
            record = _written(record, outcome, record_path(self.records, pair.model, pair.benchmark))
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno in _OF_ALL_RECORDS:
                raise _no_place(self.records, error) from error
            self.left.append(UnscoredPair(pair, f"its record cannot be written: {error}", is_fine=False))
            return
        self.made.append(record)
        self.tell(pair, dataclasses.replace(outcome, record=record))


def _written(record: ScoreRecord, outcome: PairOutcome, path: Path) -> ScoreRecord:
    """Write a record, after what stands beside it as far as that is what the record names."""
    named = (outcome.lock, record.environment), (outcome.candidate_lock, record.candidate_environment)
    for lock, digest in named:
        if digest and text_digest(lock) == digest:
            keep_lock(path, lock)
    if not record.values:
        record.write(path)
        return record
    from brainscore_core.records.values import digest_of, values_path  # brings NumPy, which planning does without

    if digest_of(outcome.values) != record.values:
        record = dataclasses.replace(record, values=None)
        record.write(path)
        return record
    # Neither takes the place of an older one before there was room for both.
    with atomic_path(path) as temporary:
        temporary.write_text(record.to_json(), encoding="utf-8")
        with atomic_path(values_path(path)) as beside:
            beside.write_bytes(outcome.values)
    return record


def _require_place(records: Path) -> None:
    """Raise before hours have been spent if nothing can be written to a folder."""
    try:
        records.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=records).close()
    except OSError as error:
        raise _no_place(records, error) from error


def _no_place(records: Path, error: OSError) -> RecordsError:
    return RecordsError(
        f"No record can be kept in {records}: {error.strerror or error}.{_free_space(records)} What was kept is whole. "
        "Make room there, or name another folder (--records), and run the same again: it goes on with the pairs that "
        "have no record."
    )


def _free_space(folder: Path) -> str:
    with suppress(OSError):
        return f" {shutil.disk_usage(folder).free / 1e6:,.1f} MB are free."
    return ""


def _skipped(pair: PairTask, reason: str) -> ScoreRecord:
    return ScoreRecord.without_score(f"skipped:{reason}", model=pair.model, benchmark=pair.benchmark)
