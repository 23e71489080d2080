"""Score batches on many machines: dask runs the pieces that the ledger chooses."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from brainscore_core.errors import ClusterError, CorruptFileError
from brainscore_core.scoring.cluster.ledger import MOST_LOSSES, Ledger, Piece
from brainscore_core.scoring.cluster.places import Cluster, open_place
from brainscore_core.scoring.cluster.resources import missing, wanted
from brainscore_core.scoring.cluster.work import Task, outcome_of, score_task
from brainscore_core.scoring.judging import Isolation, failed
from brainscore_core.scoring.pairs import Limits, Outcome

if TYPE_CHECKING:
    from distributed import Client, Future

    from brainscore_core.scoring.batches import Batch

__all__ = ["run_on_cluster"]

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
    tell: Callable[[str], object] = lambda line: None,  # noqa: ARG005 - a default that says nothing
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
        return f"{self.ledger.n_open} pairs have no record yet; the same command goes on with them."

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
            why = "its worker left it out"
        elif isinstance(error, KilledWorker):
            why = f"its worker was lost, the last time that at {error.last_worker.address}"
        else:
            why = f"its worker said {type(error).__name__}: {error}"
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
