"""Write a plan's jobs as outputs of a GitHub Actions step."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from brainscore_ci.planning.shards import Shard, pair_shards, test_shards

if TYPE_CHECKING:
    from brainscore_ci.planning.plan import Plan
    from brainscore_ci.planning.policy import Policy


def outputs_of(plan: Plan, policy: Policy, *, with_private: bool = False, with_records: bool = False) -> dict[str, str]:
    """Return the outputs of planning; all are empty if the plan refuses anything.

    ``tests``, ``pairs``, ``previews`` and ``refused`` are counts. ``test_shards``, ``pair_shards`` and
    ``preview_shards`` are JSON lists of objects with ``index`` and ``name``, and ``private`` for pairs.
    ``public_shards`` and ``private_shards`` split ``pair_shards`` into jobs without and with credentials;
    ``public_pairs`` and ``private_pairs`` count their pairs. ``leaderboard`` is the number of changed leaderboard
    files; ``records`` is ``'1'`` if there are records, else ``'0'``; ``library`` is ``'0'`` if the library's own checks
    have nothing to check, with the reason in ``plugins_only``, else ``'1'``. Jobs that score are numbered: identifiers
    are unsafe in job names.
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


def write_outputs(values: Mapping[str, str], file: Path) -> None:
    """Append outputs to the file in ``GITHUB_OUTPUT``, each on one line (`ValueError`)."""
    for name, value in values.items():
        if not re.fullmatch(r"[a-z_]+", name) or re.search(r"[\x00-\x1f\x7f\x85\u2028\u2029]", value):
            raise ValueError(f"The output {name!r} holds line breaks or other control characters: {value[:100]!r}.")
    with file.open("a", encoding="utf-8") as stream:
        stream.writelines(f"{name}={value}\n" for name, value in values.items())
