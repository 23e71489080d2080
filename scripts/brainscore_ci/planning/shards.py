"""Divide work among the jobs of a matrix."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from brainscore_ci.planning.plan import Plan, TestTask
    from brainscore_ci.planning.policy import Policy
    from brainscore_core.scoring.pairs import Pair

__all__ = ["Shard", "divide", "pair_shards", "test_shards"]

Task = TypeVar("Task")


@dataclass(frozen=True)
class Shard(Generic[Task]):
    """What one job does.

    Attributes
    ----------
    tasks : tuple
        In the order they are done.
    minutes : float
        What they take together, about.
    """

    tasks: tuple[Task, ...]
    minutes: float


def divide(
    tasks: Sequence[Task],
    minutes: Callable[[Task], float],
    *,
    shard_minutes: float,
    most: int,
    together: Callable[[Task], Hashable] | None = None,
) -> list[Shard[Task]]:
    """Divide tasks into jobs of about equal length.

    The longest tasks are placed first, each into the job that has least to do (Graham 1969, at most 4/3 of the best
    possible length).

    Parameters
    ----------
    tasks : sequence
        Each is placed exactly once.
    minutes : callable
        Task -> how long it takes, about.
    shard_minutes : float
        How long one job should take; a longer task gets a job of its own.
    most : int
        Jobs at the most, at least 1. With more work than that allows, jobs take longer.
    together : callable, optional
        Task -> key; tasks of one key stay together where they fit into `shard_minutes` (the pairs of one model load
        it once).

    Returns
    -------
    list of Shard
        None is empty. The same tasks give the same jobs.

    References
    ----------
    Graham (1969), Bounds on multiprocessing timing anomalies, doi:10.1137/0117039.
    """
    groups: dict[Hashable, list[Task]] = {}
    for index, task in enumerate(tasks):
        groups.setdefault(index if together is None else together(task), []).append(task)
    blocks = [block for group in groups.values() for block in _blocks(group, minutes, shard_minutes)]
    if not blocks:
        return []
    total = sum(length for length, _ in blocks)
    number = min(most, len(blocks), max(1, math.ceil(total / shard_minutes)))
    heap = [(0.0, index) for index in range(number)]
    contents: list[list[Task]] = [[] for _ in range(number)]
    lengths = [0.0] * number
    for length, block in sorted(blocks, key=lambda entry: -entry[0]):
        _, index = heapq.heappop(heap)
        contents[index] += block
        lengths[index] += length
        heapq.heappush(heap, (lengths[index], index))
    return [Shard(tuple(content), length) for content, length in zip(contents, lengths, strict=True)]


def _blocks(
    group: Sequence[Task], minutes: Callable[[Task], float], shard_minutes: float
) -> list[tuple[float, list[Task]]]:
    """Cut a group into runs that take no longer than a job should."""
    blocks: list[tuple[float, list[Task]]] = []
    for task in group:
        length = minutes(task)
        if blocks and blocks[-1][0] + length <= shard_minutes:
            blocks[-1] = (blocks[-1][0] + length, [*blocks[-1][1], task])
        else:
            blocks.append((length, [task]))
    return blocks


def test_shards(plan: Plan, policy: Policy) -> list[Shard[TestTask]]:
    """Return the jobs that run the tests of a plan; the same wherever they are asked for.

    At night each runs twice in one matrix, with the newest and with the oldest dependencies: half as many are allowed.
    """
    most = max(1, policy.most_shards // 2) if plan.event == "schedule" else policy.most_shards
    return divide(plan.tests, lambda task: task.minutes, shard_minutes=policy.shard_minutes, most=most)


def pair_shards(pairs: Sequence[Pair], policy: Policy) -> list[Shard[Pair]]:
    """Return the jobs that score pairs, of a plan or its previews; the pairs of one model stay together.

    No job has both private and other pairs, so that model code meets credentials only where they are needed.
    """
    groups = [[pair for pair in pairs if pair.private is private] for private in (False, True)]
    total = sum(pair.minutes for pair in pairs)
    shards: list[Shard[Pair]] = []
    for group in groups:
        share = sum(pair.minutes for pair in group) / total if total else 0.0
        shards += divide(
            group,
            lambda pair: pair.minutes,
            shard_minutes=policy.shard_minutes,
            most=max(1, math.floor(share * (policy.most_shards - 1))),
            together=lambda pair: pair.model,
        )
    return shards
