"""Report the progress of a campaign: each pair as it starts and ends, and the number and duration of the rest."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brainscore_core.scoring.pairs import Outcome, Pair

__all__ = ["Progress", "duration", "result"]

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
