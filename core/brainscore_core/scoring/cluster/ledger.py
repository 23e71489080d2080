"""Decide what is handed out next and what is done again: the decisions of a campaign on many machines, without any I/O.

What runs pairs (`brainscore_core.scoring.cluster.running`, or a simulation) asks `Ledger` for a piece of work whenever
a worker is free, and tells it what became of it.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from brainscore_core.scoring.batches import Batch

if TYPE_CHECKING:
    from brainscore_core.scoring.pairs import Pair

__all__ = ["LEAST_MINUTES", "MOST_LOSSES", "SHARE", "Ledger", "Piece"]

MOST_LOSSES = 3
"""A pair is given up when its worker was lost this often."""

LEAST_MINUTES = 5.0
"""Pieces are not made shorter than that, because each of them loads its model."""

SHARE = 4.0
"""A piece is at most this part of what each worker still has to do: 1 / SHARE."""


@dataclass(frozen=True)
class Piece:
    """What one worker is given at a time.

    Attributes
    ----------
    key : str
        No other piece of the campaign has it.
    batch : Batch
        Its pairs.
    """

    key: str
    batch: Batch


class Ledger:
    """Know of each pair whether it has an outcome, and which pieces are with workers.

    Long work comes first and pieces get shorter towards the end, so that all workers end at about the same time: a
    piece is cut from the batch with the most work left, from its end, where its long pairs are.

    Parameters
    ----------
    batches : iterable of Batch
        No pair is in two of them.
    slots : int
        How many pieces are worked on at a time; may be changed while the campaign runs.
    least_minutes, most_minutes : float
        Of a piece, in planned minutes. A pair that takes longer is a piece of its own.
    most_losses : int
        See `MOST_LOSSES`.
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
        """How many pairs have no outcome yet."""
        return len(self._open)

    @property
    def n_running(self) -> int:
        """How many pieces are with workers."""
        return len(self._running)

    def take(self) -> Piece | None:
        """Return the next piece, which is with a worker from now on; None where nothing waits."""
        while self._heap:
            minutes, _, pairs = heapq.heappop(self._heap)
            self._waiting_minutes += minutes
            left = [
                pair for pair in pairs if _name(pair) in self._open
            ]  # another worker may have come through after all
            if not left:
                continue
            share = (self._waiting_minutes + _minutes(left)) / max(1, self.slots) / SHARE
            start = _start_of_last(left, min(self.most_minutes, max(self.least_minutes, share)))
            if start:
                self._wait(left[:start])
            self._n_pieces += 1
            piece = Piece(str(self._n_pieces), Batch(tuple(left[start:])))
            self._running[piece.key] = piece.batch.pairs
            return piece
        return None

    def done(self, model: str, benchmark: str) -> bool:
        """Note an outcome; tell whether it is the first of its pair, which counts."""
        if (model, benchmark) not in self._open:
            return False
        self._open.remove((model, benchmark))
        return True

    def left_of(self, key: str) -> tuple[Pair, ...]:
        """Return the pairs of a piece that have no outcome yet, in their order; none of one that is with no worker."""
        return tuple(pair for pair in self._running.get(key, ()) if _name(pair) in self._open)

    def ended(self, key: str) -> tuple[Pair, ...]:
        """Note that a worker has come to the end of a piece; return the pairs that it has left out, which stay open."""
        left = self.left_of(key)
        self._running.pop(key, None)
        return left

    def lost(self, key: str, *, begun: bool) -> Pair | None:
        """Note that a worker was lost; what it has not done is done again.

        The pair that it was at, as far as is known, is a piece of its own from then on: if it was another one, which
        came so soon after that nobody has heard of the outcome between, that one is found the next time.

        Parameters
        ----------
        begun : bool
            Whether it had begun with the piece: then the first pair without an outcome was what it was doing.

        Returns
        -------
        Pair or None
            The pair that is given up; whoever asks says so in a record.
        """
        left = list(self.ended(key))
        given_up = None
        if begun and left:
            suspect = left.pop(0)
            self._losses[_name(suspect)] += 1
            if self._losses[_name(suspect)] >= self.most_losses:
                given_up = suspect
                self._open.remove(_name(suspect))
            else:
                self._wait([suspect])
        if left:
            self._wait(left)
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
    """Return where the last pairs start that take at most so long together; the last one is always among them."""
    start, minutes = len(pairs) - 1, pairs[-1].minutes
    while start and minutes + pairs[start - 1].minutes <= most_minutes:
        start -= 1
        minutes += pairs[start].minutes
    return start
