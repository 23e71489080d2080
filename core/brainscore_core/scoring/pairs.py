"""State which pair to score, within which limits, and its outcome.

All three travel between machines, so their fields are bounded.
"""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field, PlainSerializer, Strict

from brainscore_core.records.record import MOST_BYTES, ScoreRecord
from brainscore_core.untrusted import Flag, Identifier, Message, Untrusted, at_most, text

__all__ = ["MOST_OUTPUT", "MOST_VALUES", "Cost", "Limits", "Outcome", "Pair", "Reasons"]

MOST_OUTPUT = 20_000
"""Characters of output that an outcome keeps on its way between machines."""

MOST_VALUES = 8 * 2**20
"""Bytes of values that travel, since the scheduler keeps outcomes in memory."""

Cost = Annotated[float, Strict(), Field(ge=0, le=1e9), PlainSerializer(float)]  # serialised as it will be parsed
Reasons = Annotated[tuple[Message, ...], at_most(1_000)]


@dataclass(frozen=True)
class Pair(Untrusted):
    """A model to score on a benchmark.

    Attributes
    ----------
    minutes, memory_gb
        Expected duration and memory (10^9 bytes).
    private
        Whether the benchmark needs private data.
    reasons
        Why a plan includes it, from the pair back to the change.
    """

    model: Identifier
    benchmark: Identifier
    minutes: Cost = 5.0
    memory_gb: Cost = 4.0
    private: Flag = False
    gpus: Annotated[int, Strict(), Field(ge=0, le=1024)] = 0
    reasons: Reasons = ()


@dataclass(frozen=True, kw_only=True)
class Limits(Untrusted):
    """Time and memory at which a pair is stopped.

    Attributes
    ----------
    time, memory
        Multiples of the pair's expected duration and memory.
    least_minutes, least_memory_gb
        Minimum for every pair, which may fetch weights and data and loads a learning framework.
    """

    time: Cost = 4.0
    memory: Cost = 2.0
    least_minutes: Cost = 10.0
    least_memory_gb: Cost = 4.0

    def seconds(self, pair: Pair) -> float:
        """Return the time limit."""
        return 60 * max(self.least_minutes, self.time * pair.minutes)

    def memory_bytes(self, pair: Pair) -> float:
        """Return the memory limit."""
        return 1e9 * max(self.least_memory_gb, self.memory * pair.memory_gb)


def _record(value: str) -> ScoreRecord:
    return ScoreRecord.from_json(value, "The record of an outcome")


def _decoded(value: str) -> bytes:
    try:
        return b64decode(value, validate=True)
    except ValueError as error:
        raise ValueError(f"expected base64: {error}") from None


@dataclass(frozen=True)
class Outcome(Untrusted):
    """The record of a pair and the files beside it, each empty if there is none.

    Attributes
    ----------
    output
        Without secrets.
    values
        See `brainscore_core.records.values`.
    lock, candidate_lock
        See `store.keep`.
    """

    record: Annotated[ScoreRecord, text(MOST_BYTES), AfterValidator(_record)]
    output: Annotated[str, text(MOST_OUTPUT)] = ""
    values: Annotated[bytes, text(4 * (MOST_VALUES // 3 + 1)), AfterValidator(_decoded)] = b""
    lock: Annotated[str, text(MOST_BYTES)] = ""
    candidate_lock: Annotated[str, text(MOST_BYTES)] = ""
