"""Read from the commits of a branch which scores its records held earlier, and what changed when each was replaced."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from brainscore_core.errors import CorruptFileError
from brainscore_core.records.record import ScoreRecord
from brainscore_web.leaderboard.sources import CommitSource, RecordChange, Source, pair_of

if TYPE_CHECKING:
    from brainscore_web.leaderboard.data_files import Past
    from brainscore_web.leaderboard.workers import Workers

Changes = dict[str, list[RecordChange]]
"""Benchmark -> changes of its records, oldest first."""

MOST = 20
"""Number of earlier records of a pair that are listed, the newest."""

MADE_WITH = {
    "benchmark_version": "version of the benchmark",
    "benchmark_revision": "code of the benchmark",
    "model_revision": "code of the model",
    "weights": "weights",
    "data": "data",
    "library": "library",
    "environment": "environment",
}
"""Fields of a record whose changes are listed, the most telling first -> in words."""

_LATEST_S = 253_402_300_799  # end of the year 9999; a commit may state any time

_OF_HIDDEN = frozenset({"benchmark_version", "benchmark_revision", "model_revision"})
"""Those listed for benchmarks that do not show everything."""


@dataclass(frozen=True)
class _HistoryTask:
    source: CommitSource
    changes: list[RecordChange]
    shows: str


def changes_of(source: Source) -> Changes:
    """Return all changes of records on a branch; none of a folder."""
    by_benchmark: Changes = {}
    for change in source.changes() if isinstance(source, CommitSource) else ():
        benchmark, _ = pair_of(change.path) or ("", "")
        by_benchmark.setdefault(benchmark, []).append(change)
    return by_benchmark


def earlier_versions(
    source: Source, changes: Iterable[RecordChange], paths: Collection[str]
) -> dict[str, dict[int | None, ScoreRecord]]:
    """Return path -> version of the benchmark -> the last replaced record with a score of it.

    Only of records that are still among `paths` and were not removed in between.
    """
    earlier: dict[str, dict[int | None, ScoreRecord]] = {path: {} for path in paths}
    if not isinstance(source, CommitSource):
        return earlier
    relevant = [change for change in changes if change.path in earlier]
    contents = source.read_blobs(change.before for change in relevant)
    for change, content in zip(relevant, contents, strict=True):
        record = _record(content, pair_of(change.path) or ("", ""))
        if not change.after:
            earlier[change.path].clear()
        elif record is not None and record.score is not None:
            earlier[change.path][record.benchmark_version] = record
    return earlier


def history_of(source: Source, changes: Changes, shows: Mapping[str, str], workers: Workers) -> dict[str, Past]:
    """Return the earlier records of each benchmark in `shows` (see `BenchmarkEntry`); `changes` are of `changes_of`."""
    if not isinstance(source, CommitSource):
        return {}
    shown = {name: of for name, of in changes.items() if shows.get(name, "nothing") != "nothing"}
    tasks = (_HistoryTask(source, of, shows[name]) for name, of in shown.items())
    return dict(sorted(zip(shown, workers.map(_history_of_benchmark, tasks), strict=True)))


def _history_of_benchmark(task: _HistoryTask) -> Past:
    past: Past = {}
    contents = task.source.read_blobs(digest for change in task.changes for digest in (change.before, change.after))
    for change in task.changes:
        pair = pair_of(change.path) or ("", "")
        before, after = (_record(next(contents), pair) for _ in range(2))
        entries = past.setdefault(pair[1], [])
        entries.append(_entry(change, before, after, task.shows))
        del entries[:-MOST]
    return past


def _record(content: bytes, pair: tuple[str, str]) -> ScoreRecord | None:
    try:
        record = ScoreRecord.from_json(content)
    except CorruptFileError:
        return None
    return record if (record.benchmark, record.model) == pair else None


def _entry(change: RecordChange, before: ScoreRecord | None, after: ScoreRecord | None, shows: str) -> dict[str, Any]:
    names = [name for name in MADE_WITH if shows == "all" or name in _OF_HIDDEN]
    if not change.after:
        changed = ["removed"]
    elif before is None or after is None:
        changed = []
    else:
        changed = [MADE_WITH[name] for name in names if getattr(before, name) != getattr(after, name)]
    earlier = {
        "created": None if before is None else before.created_in_utc,
        "score": None if before is None else before.score,
        "status": "cannot be read" if before is None else before.status,
        "version": None if before is None else before.benchmark_version,
    }
    at = datetime.fromtimestamp(min(max(change.at_s, 0), _LATEST_S), UTC).isoformat(timespec="seconds")
    return {**earlier, "record": change.before, "replaced": at, "by": change.commit, "changed": changed}
