"""Score batches on many machines: dask runs the pieces that the ledger chooses."""

from __future__ import annotations

import dataclasses
import heapq
import json
import math
import time
import uuid
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import TypeAdapter

from brainscore_core.errors import ClusterError, CorruptFileError
from brainscore_core.records.record import MOST_BYTES
from brainscore_core.scoring.batches import Batch, run_batch
from brainscore_core.scoring.cluster.places import Cluster, missing, open_place, wanted
from brainscore_core.scoring.judging import Isolation, failed
from brainscore_core.scoring.pairs import MOST_OUTPUT, MOST_VALUES, Cost, Limits, Outcome, Pair
from brainscore_core.untrusted import Name, Untrusted, at_most, read

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = [
    "LEAST_MINUTES",
    "MOST_LOSSES",
    "SHARE",
    "Ledger",
    "Piece",
    "Task",
    "outcome_of",
    "outcome_text",
    "run_on_cluster",
    "score_task",
]


# -- the ledger --------------------------------------------------------------------------------------------------------
#
# Schedule a campaign on many machines, with repeats after losses; no I/O.
#
# A runner (`brainscore_core.scoring.cluster.running`, or a simulation) takes pieces for free workers and reports
# outcomes.


MOST_LOSSES = 3
"""Number of lost workers after which a pair is given up."""

LEAST_MINUTES = 5.0
"""Minimum length of a piece: each loads its model."""

SHARE = 4.0
"""A piece is at most 1 / SHARE of the remaining work per worker."""


@dataclass(frozen=True)
class Piece:
    """The work of one worker at a time."""

    key: str
    batch: Batch


class Ledger:
    """Track which pairs have an outcome and which pieces are with workers.

    Pieces get shorter towards the end, so workers finish together: each is cut from the end (the long pairs) of the
    batch with the most work left.

    Parameters
    ----------
    batches
        No pair is in two of them.
    slots
        Number of pieces worked on at a time; may change during the campaign.
    least_minutes, most_minutes
        Bounds of a piece, in planned minutes. A longer pair is its own piece.
    """

    def __init__(
        self,
        batches: Iterable[Batch],
        slots: int,
        *,
        least_minutes: float = LEAST_MINUTES,
        most_minutes: float = float("inf"),
        most_losses: int = MOST_LOSSES,
    ) -> None:
        self.slots = slots
        self.least_minutes, self.most_minutes, self.most_losses = least_minutes, most_minutes, most_losses
        self._open: set[tuple[str, str]] = set()
        self._losses: Counter[tuple[str, str]] = Counter()
        self._running: dict[str, tuple[Pair, ...]] = {}
        self._heap: list[tuple[float, int, list[Pair]]] = []
        self._waiting_minutes = 0.0
        self._n_heaped = self._n_pieces = 0
        for batch in batches:
            self._open.update(map(_name, batch.pairs))
            self._wait(list(batch.pairs))

    @property
    def n_open(self) -> int:
        """Number of pairs without an outcome."""
        return len(self._open)

    @property
    def n_running(self) -> int:
        """Number of pieces with workers."""
        return len(self._running)

    def take(self) -> Piece | None:
        """Return the next piece for a worker; None if none waits."""
        while self._heap:
            minutes, _, pairs = heapq.heappop(self._heap)
            self._waiting_minutes += minutes
            # A worker counted as lost may have finished.
            open_pairs = [pair for pair in pairs if _name(pair) in self._open]
            if not open_pairs:
                continue
            share = (self._waiting_minutes + _minutes(open_pairs)) / max(1, self.slots) / SHARE
            start = _start_of_last(open_pairs, min(self.most_minutes, max(self.least_minutes, share)))
            if start:
                self._wait(open_pairs[:start])
            self._n_pieces += 1
            piece = Piece(str(self._n_pieces), Batch(tuple(open_pairs[start:])))
            self._running[piece.key] = piece.batch.pairs
            return piece
        return None

    def done(self, model: str, benchmark: str) -> bool:
        """Note an outcome; return whether it is the first of its pair."""
        if (model, benchmark) not in self._open:
            return False
        self._open.remove((model, benchmark))
        return True

    def left_of(self, key: str) -> tuple[Pair, ...]:
        """Return the pairs of a worker's piece without an outcome, in order."""
        return tuple(pair for pair in self._running.get(key, ()) if _name(pair) in self._open)

    def ended(self, key: str) -> tuple[Pair, ...]:
        """Note that a worker finished a piece; return its pairs that are still open."""
        open_pairs = self.left_of(key)
        self._running.pop(key, None)
        return open_pairs

    def lost(self, key: str, *, begun: bool) -> Pair | None:
        """Note a lost worker; reschedule its unfinished pairs. Return the pair that is given up.

        If the worker had `begun` the piece, the first pair without an outcome becomes its own piece.
        """
        open_pairs = list(self.ended(key))
        given_up = None
        if begun and open_pairs:
            suspect = open_pairs.pop(0)
            self._losses[_name(suspect)] += 1
            if self._losses[_name(suspect)] >= self.most_losses:
                given_up = suspect
                self._open.remove(_name(suspect))
            else:
                self._wait([suspect])
        if open_pairs:
            self._wait(open_pairs)
        return given_up

    def _wait(self, pairs: list[Pair]) -> None:
        minutes = _minutes(pairs)
        self._n_heaped += 1
        self._waiting_minutes += minutes
        heapq.heappush(self._heap, (-minutes, self._n_heaped, pairs))


def _name(pair: Pair) -> tuple[str, str]:
    return pair.model, pair.benchmark


def _minutes(pairs: Iterable[Pair]) -> float:
    return sum(pair.minutes for pair in pairs)


def _start_of_last(pairs: list[Pair], most_minutes: float) -> int:
    """Return the start of the longest tail of pairs, at least one, within a time."""
    start, minutes = len(pairs) - 1, pairs[-1].minutes
    while start and minutes + pairs[start - 1].minutes <= most_minutes:
        start -= 1
        minutes += pairs[start].minutes
    return start


# -- tasks and outcomes as text ----------------------------------------------------------------------------------------
#
# Tasks and outcomes as JSON text, and the function that a worker runs.
#
# Nothing made by a plugin is pickled: workers get names and limits of pairs and return records.


_MOST_PAIRS = 10_000  # of one piece


@dataclass(frozen=True, kw_only=True)
class Task(Untrusted):
    """A piece of a campaign for one worker, who starts no further pair after `minutes` and logs events of a `topic`."""

    key: Name
    topic: Name
    library: Name
    isolation: Literal["auto", "box", "none"]
    minutes: Cost | None
    limits: Limits
    pairs: Annotated[tuple[Pair, ...], at_most(_MOST_PAIRS)]

    @classmethod
    def of(
        cls, key: str, topic: str, batch: Batch, library: str, limits: Limits, isolation: Isolation, minutes: float
    ) -> Task:
        """Make the task of a piece."""
        return cls(
            key=key,
            topic=topic,
            library=library,
            isolation=isolation,
            minutes=minutes if math.isfinite(minutes) else None,  # JSON has no infinity
            limits=limits,
            pairs=tuple(dataclasses.replace(pair, reasons=()) for pair in batch.pairs),
        )

    def to_json(self) -> str:
        """Return what `from_json` reads."""
        return json.dumps(asdict(self), allow_nan=False)

    @classmethod
    def from_json(cls, data: str) -> Task:
        """Read a task; raise `CorruptFileError` if it is not a task, or is from another version of the library."""
        return read(_TASK, data, "task")

    def outcomes(self, is_over: Callable[[], bool] = lambda: False) -> Generator[Outcome, None, None]:
        """Score the pairs in this process's children and yield each outcome at once, until `is_over` returns True."""
        yield from run_batch(
            Batch(self.pairs),
            self.library,
            self.limits,
            isolation=self.isolation,
            minutes=math.inf if self.minutes is None else self.minutes,
            is_over=is_over,
        )


_TASK = TypeAdapter(Task)
_OUTCOME = TypeAdapter(Outcome)


def score_task(data: str) -> list[str]:
    """Score the pairs of a `Task` in a worker of dask; return the `outcome_text` of each pair that was reached.

    Each outcome is also logged as an event at once; events may get lost.
    """
    from distributed import get_worker  # optional dependency

    task, worker = Task.from_json(data), get_worker()
    worker.log_event(task.topic, {"piece": task.key, "begun": True})
    texts = []
    key: Any = worker.get_current_task()

    def is_cancelled() -> bool:  # dask doesn't end a running thread
        state = worker.state.tasks.get(key)
        return state is None or state.state == "cancelled"

    with closing(task.outcomes(is_cancelled)) as outcomes:
        for outcome in outcomes:
            texts.append(outcome_text(outcome))
            worker.log_event(task.topic, {"piece": task.key, "outcome": texts[-1]})
    return texts


def outcome_text(outcome: Outcome) -> str:
    """Return an outcome as JSON text, with the end of a long output, and without values of more than `MOST_VALUES`."""
    return json.dumps(
        {
            "record": outcome.record.to_json(),
            "output": outcome.output[-MOST_OUTPUT:],
            "values": b64encode(outcome.values if len(outcome.values) <= MOST_VALUES else b"").decode("ascii"),
            "lock": outcome.lock if len(outcome.lock) <= MOST_BYTES else "",
            "candidate_lock": outcome.candidate_lock if len(outcome.candidate_lock) <= MOST_BYTES else "",
        }
    )


def outcome_of(data: object) -> Outcome:
    """Read what `outcome_text` made; raise `CorruptFileError` for anything else."""
    if not isinstance(data, str):
        raise CorruptFileError("An outcome is expected as text.")
    return read(_OUTCOME, data, "outcome")


# -- running on a cluster ----------------------------------------------------------------------------------------------


_POLL_S = 1.0
_TEND_EVERY_S = 5.0
_GRACE_S = 30.0  # for stopped pairs to report
_MOST_ERRORS = 20  # consecutive, without any outcome in between


def run_on_cluster(
    batches: Sequence[Batch],
    library: str,
    limits: Limits | None = None,
    *,
    cluster: str,
    isolation: Isolation = "auto",
    minutes: float = float("inf"),
    most_losses: int = MOST_LOSSES,
    tell: Callable[[str], object] = lambda line: None,  # noqa: ARG005 - silent by default
    score: Callable[[str], list[str]] = score_task,
) -> Iterator[Outcome]:
    """Score the pairs of batches on a cluster, and yield each outcome at once.

    Another worker repeats a lost one's unfinished pairs; a pair that lost `most_losses` workers gets a record
    'failed:LostWorker', one needing more than any worker has 'failed:NoWorker'. Closing the iterator ends the campaign;
    running the pairs without record again continues it.

    Parameters
    ----------
    batches, library, limits, isolation, minutes
        As for `brainscore_core.scoring.batches.run_batch`; no pair is in two batches.
    cluster
        See `brainscore_core.scoring.cluster.places`.
    tell
        Receives messages about the cluster.
    score
        Run by a worker with the JSON text of a `Task`.

    Raises
    ------
    ClusterError
        If the scheduler or all workers are lost for good, or every worker rejects its task.
    """
    if not batches:
        return
    with open_place(cluster) as place:
        ledger = Ledger(batches, place.slots or 1, most_minutes=place.most_minutes, most_losses=most_losses)
        campaign = _Campaign(place, ledger, tell, score)
        topic = f"brainscore-{uuid.uuid4().hex}"
        deadline = time.monotonic() + 60 * minutes

        def task_of(piece: Piece) -> Task:
            minutes_left = max(0.0, (deadline - time.monotonic()) / 60)
            return Task.of(piece.key, topic, piece.batch, library, limits or Limits(), isolation, minutes_left)

        yield from campaign.run(task_of, topic, deadline)


class _Campaign:
    def __init__(
        self, place: Cluster, ledger: Ledger, tell: Callable[[str], object], score: Callable[[str], list[str]]
    ) -> None:
        self.place, self.ledger, self.tell, self.score = place, ledger, tell, score
        self.client: Client | None = None
        self.messages: SimpleQueue[tuple[str, Any]] = SimpleQueue()  # from the threads of dask
        self.futures: dict[str, Future[list[str]]] = {}
        self.begun: set[str] = set()
        self.n_errors = 0
        self.workers: Mapping[str, Mapping[str, Any]] = {}
        self.looked = float("-inf")  # when the workers were last listed
        self.workers_seen = self.tended = time.monotonic()

    def run(self, task_of: Callable[[Piece], Task], topic: str, deadline: float) -> Iterator[Outcome]:
        """Yield outcomes until each pair has one or the time is over."""
        try:
            self._connect(topic)
            while self.ledger.n_open and time.monotonic() < deadline + _GRACE_S:
                if time.monotonic() < deadline:
                    yield from self._hand_out(task_of)
                elif not self.futures:
                    return
                yield from self._hear(topic, deadline)
        finally:
            self._disconnect()

    # -- the connection

    def _connect(self, topic: str) -> None:
        self.client = self.place.connect()
        self.client.subscribe_topic(topic, lambda event: self.messages.put(("event", event[1])))

    def _disconnect(self) -> None:
        client, self.client = self.client, None
        if client is None:
            return
        with suppress(Exception):  # it may be gone already
            if self.futures and client.status == "running":
                client.cancel(list(self.futures.values()))
        self.futures.clear()
        with suppress(Exception):
            client.close(timeout=10)

    def _reconnect(self, topic: str) -> None:
        if self.place.is_ours:
            raise ClusterError(f"The scheduler of {self.place.name} has ended. {self._hint()}")
        self.tell(f"The scheduler at {self.place.name} was lost; waiting for it to come back.")
        for key in list(self.futures):
            self.ledger.lost(key, begun=False)
        self._disconnect()
        until = time.monotonic() + self.place.patience_s
        while True:
            try:
                self._connect(topic)
            except ClusterError as error:
                if time.monotonic() > until:
                    raise ClusterError(f"{error} {self._hint()}") from error
                time.sleep(_POLL_S)
            else:
                self.workers_seen, self.looked = time.monotonic(), float("-inf")
                self.tell(f"The scheduler at {self.place.name} is back; {self.ledger.n_open} pairs are still open.")
                return

    def _hint(self) -> str:
        return f"{self.ledger.n_open} pairs have no record yet; run the same command to continue with them."

    def _look_after_workers(self) -> None:
        """List the workers from time to time, as asking the scheduler is slow."""
        now = time.monotonic()
        if self.client is None or now - self.looked < _POLL_S:
            return
        self.workers, self.looked = {}, now
        with suppress(OSError, TimeoutError, ValueError):
            self.workers = dict(self.client.scheduler_info(n_workers=-1)["workers"])
        if self.workers:
            self.workers_seen = now
        elif now - self.workers_seen > self.place.patience_s:
            raise ClusterError(
                f"{self.place.name} has had no worker for {self.place.patience_s:g} s. Start some with `dask worker "
                f"ADDRESS --nthreads 1`. {self._hint()}"
            )
        if now - self.tended > _TEND_EVERY_S:
            self.tended = now
            self.place.tend()

    # -- out

    def _hand_out(self, task_of: Callable[[Piece], Task]) -> Iterator[Outcome]:
        """Hand out pieces; yield failures of those that no worker can take."""
        self._look_after_workers()
        offers = list(self.place.offers) or [worker.get("resources") or {} for worker in self.workers.values()]
        if not offers:
            return
        slots = self.place.slots or sum(int(worker.get("nthreads", 1)) for worker in self.workers.values())
        self.ledger.slots = max(1, slots)
        while self.client is not None and self.ledger.n_running < self.ledger.slots:
            piece = self.ledger.take()
            if piece is None:
                return
            lack = missing(piece.batch, offers)
            if lack:
                yield from self._refused(piece, lack)
                continue
            future = self.client.submit(
                self.score,
                task_of(piece).to_json(),
                key=f"score_task-{uuid.uuid4().hex}",
                resources=wanted(piece.batch, offers) or None,
                pure=False,
                priority=-int(piece.key),
            )
            self.futures[piece.key] = future
            future.add_done_callback(lambda done, key=piece.key: self.messages.put(("ended", (key, done))))

    def _refused(self, piece: Piece, lack: str) -> Iterator[Outcome]:
        record = failed(piece.batch.pairs[0], "NoWorker", lack)  # once: it asks git for the library's revision
        for pair in self.ledger.ended(piece.key):
            self.ledger.done(pair.model, pair.benchmark)
            yield Outcome(replace(record, benchmark=pair.benchmark))

    # -- in

    def _hear(self, topic: str, deadline: float) -> Iterator[Outcome]:
        try:
            what, content = self.messages.get(timeout=_POLL_S)
        except Empty:
            if self.client is None or self.client.status not in ("running", "connecting"):
                self._reconnect(topic)
            return
        if what == "event":
            yield from self._told(content)
            return
        key = content[0]
        future = self.futures.get(key)
        if future is None or future is not content[1]:  # of a connection that was lost
            return
        if future.cancelled():
            self._reconnect(topic)
            return
        del self.futures[key]
        yield from self._ended(key, future, is_late=time.monotonic() >= deadline)

    def _told(self, content: object) -> Iterator[Outcome]:
        if not isinstance(content, dict):
            return
        self.begun.add(str(content.get("piece")))
        if "outcome" in content:
            yield from self._outcome(content["outcome"])

    def _outcome(self, text: object) -> Iterator[Outcome]:
        try:
            outcome = outcome_of(text)
        except CorruptFileError as error:
            self.tell(f"A worker sent an invalid outcome: {error}")
            return
        if self.ledger.done(outcome.record.model, outcome.record.benchmark):
            self.n_errors = 0
            yield outcome

    def _ended(self, key: str, future: Future[list[str]], *, is_late: bool) -> Iterator[Outcome]:
        from distributed import KilledWorker

        error = future.exception() if future.status == "error" else None
        if error is None:
            if self.ledger.left_of(key):  # unless all came as events
                for text in future.result():
                    yield from self._outcome(text)
            why = "its worker did not return it"
        elif isinstance(error, KilledWorker):
            why = f"its worker was lost (last one: {error.last_worker.address}"
        else:
            why = f"its worker raised {type(error).__name__}: {error}"
            self._count_error(why)
        open_pairs = self.ledger.left_of(key)
        if not open_pairs or (is_late and error is None):
            self.ledger.ended(key)
            return
        first = open_pairs[0]
        self.tell(f"{first.model} on {first.benchmark}: {why}; {len(open_pairs)} pairs go to another worker.")
        given_up = self.ledger.lost(key, begun=key in self.begun or not isinstance(error, KilledWorker))
        if given_up is not None:
            message = f"given up after {self.ledger.most_losses} times: {why}"
            yield Outcome(failed(given_up, "LostWorker", message))

    def _count_error(self, why: str) -> None:
        self.n_errors += 1
        if self.n_errors >= _MOST_ERRORS:
            raise ClusterError(
                f"The last {self.n_errors} pieces failed on the workers of {self.place.name}, the last one because "
                f"{why}. Is the same version of the library installed there? {self._hint()}"
            )
