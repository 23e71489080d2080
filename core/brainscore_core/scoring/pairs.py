"""Say what a pair to score is, what it may take, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from brainscore_core.records.record import ScoreRecord

__all__ = ["Limits", "PairOutcome", "PairTask", "gpus_of"]


class PairTask(Protocol):
    """A model to score on a benchmark, and what that takes; `brainscore_ci.planning.plan.Pair` is one.

    It may also have ``gpus``, how many GPUs it needs, see `gpus_of`.
    """

    @property
    def model(self) -> str:
        """Identifier."""

    @property
    def benchmark(self) -> str:
        """Identifier."""

    @property
    def minutes(self) -> float:
        """What it takes, about."""

    @property
    def memory_gb(self) -> float:
        """What it takes, about."""

    @property
    def private(self) -> bool:
        """Whether the benchmark needs private data."""


def gpus_of(pair: PairTask) -> int:
    """Return how many GPUs a pair needs; none where it does not say, as in a plan for machines that have none."""
    return int(getattr(pair, "gpus", 0))


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much more than planned a pair may take.

    Attributes
    ----------
    time, memory : float
        Times what was planned.
    least_minutes, least_memory_gb : float
        What every pair is given: weights and data may have to be fetched, and a learning framework be loaded.
    most_minutes : float
        What is left for it.
    """

    time: float = 4.0
    memory: float = 2.0
    least_minutes: float = 10.0
    least_memory_gb: float = 4.0
    most_minutes: float = float("inf")

    def seconds(self, pair: PairTask) -> float:
        """Return when a pair is stopped."""
        return 60 * min(self.most_minutes, max(self.least_minutes, self.time * pair.minutes))

    def memory_bytes(self, pair: PairTask) -> float:
        """Return with how much memory a pair is stopped."""
        return 1e9 * max(self.least_memory_gb, self.memory * pair.memory_gb)


@dataclass(frozen=True)
class PairOutcome:
    """A record, and what comes with it.

    Attributes
    ----------
    output : str
        What was said on the way to the record, without secrets.
    values : bytes
        The file of values that the record names (`brainscore_core.records.values`); empty if there is none.
    lock : str
        The names and versions of what was installed that the record names (`store.keep`); empty if there are none.
    candidate_lock : str
        The same of the environment that the model ran in, if that was one of its own.
    """

    record: ScoreRecord
    output: str = ""
    values: bytes = b""
    lock: str = ""
    candidate_lock: str = ""
