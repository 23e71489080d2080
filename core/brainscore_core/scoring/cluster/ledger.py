"""Schedule a campaign on many machines, with repeats after losses; no I/O.

A runner (`brainscore_core.scoring.cluster.running`, or a simulation) takes pieces for free workers and reports
outcomes.
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
"""Lost workers after which a pair is given up."""

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

    Pieces get shorter towards the end, so that workers finish together: each is cut from the end (the long pairs) of
    the batch with the most work left.

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
