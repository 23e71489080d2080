"""Tell which scores records held before, from the commits of the branch of records.

What took the place of a record says when and what had changed. Content that was replaced is read once: what it said is
kept by benchmark, and the next build looks at later commits only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from brainscore_core.errors import CorruptFileError
from brainscore_core.identity.digest import content_digest
from brainscore_core.records.record import ScoreRecord
from brainscore_web.leaderboard.graph import Graph, as_json, code_digest
from brainscore_web.leaderboard.sources import Change, CommitSource, pair_of

if TYPE_CHECKING:
    from brainscore_web.leaderboard.data_files import Past
    from brainscore_web.leaderboard.kept import Kept

__all__ = ["MADE_WITH", "MOST", "past_of"]

MOST = 20
"""So many earlier records of a pair are told, the newest."""

MADE_WITH = {
    "benchmark_version": "version of the benchmark",
    "benchmark_revision": "code of the benchmark",
    "model_revision": "code of the model",
    "weights": "weights",
    "data": "data",
    "library": "library",
    "environment": "environment",
}
"""Fields of a record of which it is told that they have changed, the most telling first -> in words."""

_LATEST_S = 253_402_300_799  # the end of the year 9999: a commit may name any time

_SHOWN = frozenset({"benchmark_version", "benchmark_revision", "model_revision"})
"""Those of them that are told of benchmarks that do not show all."""


@dataclass(frozen=True)
class _Task:
    """Changes of the records of one benchmark, and the key of what was told before."""

    key: str
    before: str | None
    changes: list[Change]
    shows: str


def past_of(source: object, shows: Mapping[str, str], graph: Graph) -> dict[str, Past]:
    """Return the earlier records of each benchmark of a branch; nothing of a folder, which has none.

    Parameters
    ----------
    source : Source
    shows : mapping of str to str
        Benchmark -> see `brainscore_web.leaderboard.catalogue.BenchmarkEntry`; others are left out.
    """
    if not isinstance(source, CommitSource):
        return {}
    key = content_digest(code_digest(), "past", str(source.repository.resolve()), as_json(sorted(shows.items())))
    graph.use("past", key)
    line = source.line()
    since, known = _known(graph.kept, key, line)
    by_benchmark: dict[str, list[Change]] = {}
    for change in source.changes(since):
        benchmark, _ = pair_of(change.path) or ("", "")
        if shows.get(benchmark, "nothing") != "nothing":
            by_benchmark.setdefault(benchmark, []).append(change)
    tasks = {}
    for benchmark, changes in by_benchmark.items():
        before = known.get(benchmark)
        told = as_json([list(vars(each).values()) for each in changes])
        own = content_digest(code_digest(), "past", before or "", shows[benchmark], told)
        tasks[benchmark] = _Task(own, before, changes, shows[benchmark])
    known |= {benchmark: task.key for benchmark, task in tasks.items()}
    waiting = [(task, source, graph.kept) for task in tasks.values()]
    graph.run(_keep, waiting, n_records=lambda given: 2 * len(given[0].changes))
    found = {}
    for benchmark, own in sorted(known.items()):
        graph.use("past", own)
        content = graph.kept.get("past", own)
        # Only what was computed just now can be missing: the disk is full.
        found[benchmark] = json.loads(content) if content is not None else _told(tasks[benchmark], source, graph.kept)
    graph.kept.put("past", key, as_json({"revision": source.revision, "first": line[-1], "benchmarks": known}))
    return found


def _known(kept: Kept, key: str, line: list[str]) -> tuple[str | None, dict[str, str]]:
    """Return up to which commit all is told, and the key of what is told of each benchmark; if it is of this branch."""
    content = kept.get("past", key)
    before = {} if content is None else json.loads(content)
    known: dict[str, str] = before.get("benchmarks", {})
    # A branch that was written anew has other commits; of a shallow clone there may be more now.
    is_of = before.get("revision") in line and before.get("first") == line[-1]
    if is_of and all(kept.get("past", each) is not None for each in known.values()):
        return before["revision"], known
    return None, {}


def _keep(given: tuple[_Task, CommitSource, Kept]) -> None:
    task, source, kept = given
    kept.put("past", task.key, as_json(_told(task, source, kept)))


def _told(task: _Task, source: CommitSource, kept: Kept) -> Past:
    content = None if task.before is None else kept.get("past", task.before)
    found: Past = {} if content is None else json.loads(content)
    contents = source.read_blobs(digest for change in task.changes for digest in (change.before, change.after))
    for change in task.changes:
        pair = pair_of(change.path) or ("", "")
        before, after = (_record(next(contents), pair) for _ in range(2))
        of_model = found.setdefault(pair[1], [])
        of_model.append(_entry(change, before, after, task.shows))
        del of_model[:-MOST]
    return found


def _record(content: bytes, pair: tuple[str, str]) -> ScoreRecord | None:
    try:
        record = ScoreRecord.from_json(content)
    except CorruptFileError:
        return None
    return record if (record.benchmark, record.model) == pair else None


def _entry(change: Change, before: ScoreRecord | None, after: ScoreRecord | None, shows: str) -> dict[str, Any]:
    names = [name for name in MADE_WITH if shows == "all" or name in _SHOWN]
    if not change.after:
        changed = ["removed"]
    elif before is None or after is None:
        changed = []
    else:
        changed = [MADE_WITH[name] for name in names if getattr(before, name) != getattr(after, name)]
    about = {
        "created": None if before is None else before.created,
        "score": None if before is None else before.score,
        "status": "cannot be read" if before is None else before.status,
        "version": None if before is None else before.benchmark_version,
    }
    at = datetime.fromtimestamp(min(max(change.at_s, 0), _LATEST_S), UTC).isoformat(timespec="seconds")
    return {**about, "record": change.before, "replaced": at, "by": change.commit, "changed": changed}
