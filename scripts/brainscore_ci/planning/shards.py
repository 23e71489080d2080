"""Divide work among the jobs of a matrix, and describe these jobs in the outputs of a step."""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from brainscore_core.errors import ConfigurationError

if TYPE_CHECKING:
    from brainscore_ci.planning.plan import Plan, TestTask
    from brainscore_ci.planning.policy import Policy
    from brainscore_core.scoring.pairs import Pair

Task = TypeVar("Task")


@dataclass(frozen=True)
class Shard(Generic[Task]):
    """Tasks of one job, in order, and their expected minutes."""

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
    """Divide tasks into jobs of about equal length; equal tasks give equal jobs.

    Longest tasks first, each to the job with the least work (Graham 1969: at most 4/3 of the optimal length).

    A task longer than `shard_minutes` gets its own job; beyond the `most` jobs, these take longer. Tasks with the same
    key, ``together(task)``, share a job if they fit into `shard_minutes`: pairs of one model load it once.

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
    blocks: list[tuple[float, list[Task]]] = []
    for task in group:
        length = minutes(task)
        if blocks and blocks[-1][0] + length <= shard_minutes:
            blocks[-1] = (blocks[-1][0] + length, [*blocks[-1][1], task])
        else:
            blocks.append((length, [task]))
    return blocks


def tasks_of(shards: Sequence[Shard[Task]], number: int) -> tuple[Task, ...]:
    """Return the tasks of a job."""
    if not 0 <= number < len(shards):
        raise ConfigurationError(f"The plan has {len(shards)} jobs, numbered from 0; there is no job {number}.")
    return shards[number].tasks


def test_shards(plan: Plan, policy: Policy) -> list[Shard[TestTask]]:
    """Return the test jobs of a plan; at night each runs twice, with the newest and the oldest dependencies."""
    most = max(1, policy.most_shards // 2) if plan.event == "schedule" else policy.most_shards
    return divide(plan.tests, lambda task: task.minutes, shard_minutes=policy.shard_minutes, most=most)


def pair_shards(pairs: Sequence[Pair], policy: Policy) -> list[Shard[Pair]]:
    """Return the jobs that score pairs, those of one model together, private and public ones apart."""
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


# -- Write a plan's jobs as outputs of a GitHub Actions step -----------------------------------------------------------


def outputs_of(plan: Plan, policy: Policy, *, with_private: bool = False, with_records: bool = False) -> dict[str, str]:
    """Return the outputs of planning; all are empty if the plan refuses anything.

    ``tests``, ``pairs``, ``previews`` and ``refused`` are counts. ``test_shards``, ``pair_shards`` and
    ``preview_shards`` are JSON lists of objects with ``index`` and ``name``, and ``private`` for pairs.
    ``public_shards`` and ``private_shards`` split ``pair_shards`` into jobs without and with credentials;
    ``public_pairs`` and ``private_pairs`` count their pairs. ``leaderboard`` is the number of changed leaderboard
    files; ``records`` is ``'1'`` if there are records, otherwise ``'0'``; ``library`` is ``'0'`` if the library's own
    checks have nothing to check, with the reason in ``plugins_only``, otherwise ``'1'``. Jobs that score are numbered:
    identifiers are unsafe in job names.
    """
    tests = [] if plan.refused else test_shards(plan, policy)
    pairs = [] if plan.refused else pair_shards(plan.pairs, policy)
    previews = [] if plan.refused else pair_shards(plan.previews, policy)
    numbered = _numbered(pairs)
    names = [
        f"{shard.tasks[0].plugin}{f' and {len(shard.tasks) - 1} more' if len(shard.tasks) > 1 else ''}"
        for shard in tests
    ]
    of_leaderboard = [
        path for path in plan.changed if any(PurePosixPath(path).is_relative_to(top) for top in policy.leaderboard)
    ]
    apart = {}
    for name, is_private in (("public", False), ("private", True)):
        rows = [row for row in numbered if (row["private"] and with_private) is is_private]
        apart[f"{name}_pairs"] = str(sum(len(pairs[row["index"]].tasks) for row in rows))
        apart[f"{name}_shards"] = json.dumps(rows)
    return {
        "tests": str(sum(len(shard.tasks) for shard in tests)),
        "test_shards": json.dumps([{"index": index, "name": name} for index, name in enumerate(names)]),
        "pairs": str(sum(len(shard.tasks) for shard in pairs)),
        "pair_shards": json.dumps(numbered),
        **apart,
        "previews": str(sum(len(shard.tasks) for shard in previews)),
        "preview_shards": json.dumps(_numbered(previews)),
        "refused": str(len(plan.refused)),
        "leaderboard": str(0 if plan.refused else len(of_leaderboard)),
        "records": str(int(with_records)),
        "library": str(int(not plan.plugins_only)),
        "plugins_only": plan.plugins_only,
    }


def _numbered(shards: Sequence[Shard[Any]]) -> list[dict[str, Any]]:
    return [
        {"index": index, "name": f"{index + 1} of {len(shards)}", "private": shard.tasks[0].private}
        for index, shard in enumerate(shards)
    ]
