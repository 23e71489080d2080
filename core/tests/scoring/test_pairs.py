"""Pairs may take more than was planned, but not without bounds."""

from dataclasses import dataclass

import pytest

from brainscore_core.scoring.pairs import Limits


@dataclass(frozen=True)
class Task:
    minutes: float
    memory_gb: float
    model: str = "a"
    benchmark: str = "b"
    private: bool = False


@pytest.mark.parametrize(
    ("task", "limits", "seconds", "memory_gb"),
    [
        (Task(1, 1), Limits(), 600, 4),
        (Task(10, 8), Limits(), 2400, 16),
        (Task(10, 8), Limits(most_minutes=3), 180, 16),
        (Task(10, 8), Limits(time=0, least_minutes=2, memory=0, least_memory_gb=1), 120, 1),
    ],
)
def test_what_a_pair_may_take(task, limits, seconds, memory_gb):
    assert limits.seconds(task) == seconds
    assert limits.memory_bytes(task) == memory_gb * 1e9
