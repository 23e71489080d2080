"""Pairs may take more than planned, within limits."""

import pytest

from brainscore_core.scoring.pairs import Limits, Pair


def pair_of(minutes, memory_gb):
    return Pair("a", "b", minutes, memory_gb)


@pytest.mark.parametrize(
    ("task", "limits", "seconds", "memory_gb"),
    [
        (pair_of(1, 1), Limits(), 600, 4),
        (pair_of(10, 8), Limits(), 2400, 16),
        (pair_of(10, 8), Limits(time=0, least_minutes=2, memory=0, least_memory_gb=1), 120, 1),
    ],
)
def test_limits_follow_the_plan(task, limits, seconds, memory_gb):
    assert limits.seconds(task) == seconds
    assert limits.memory_bytes(task) == memory_gb * 1e9
