"""Compute all columns of the board: read each record once, and compute each average once its parts are complete.

Details and errors of pairs of models go to files in a scratch folder.
"""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.errors import ConfigurationError, CorruptFileError
from brainscore_core.records.record import ScoreRecord
from brainscore_core.statistics.model_scores import MeanOfScores, ModelScores
from brainscore_web.leaderboard.columns import Column, Layers, Leaf, column_of_average, column_of_records
from brainscore_web.leaderboard.pairs import BLOCK, Codes, encode, tiles
from brainscore_web.leaderboard.sources import CommitSource, RecordChange, Source, pair_of
from brainscore_web.leaderboard.tree import UNAVERAGED, Node, tree_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from brainscore_core.statistics.averages import Missing
    from brainscore_core.statistics.joint_errors import JointErrors
    from brainscore_web.leaderboard.catalogue import Catalogue
    from brainscore_web.leaderboard.data_files import Past
    from brainscore_web.leaderboard.workers import Workers

# -- Read from the commits of a branch which scores its records held earlier, and what changed when each was replaced --

Changes = dict[str, list[RecordChange]]
"""Benchmark -> changes of its records, oldest first."""

MOST = 20
"""Most earlier records of a pair to list, newest first."""

MADE_WITH = {
    "benchmark_version": "version of the benchmark",
    "benchmark_revision": "code of the benchmark",
    "model_revision": "code of the model",
    "weights": "weights",
    "data": "data",
    "library": "library",
    "environment": "environment",
}
"""Fields of a record whose changes are listed, most informative first -> description."""

_LATEST_S = 253_402_300_799  # end of the year 9999; a commit may state any time

_OF_HIDDEN = frozenset({"benchmark_version", "benchmark_revision", "model_revision"})
"""Fields listed for benchmarks that hide details."""


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


@dataclass(frozen=True)
class Scratch:
    """Files of single nodes during a build, below one folder, numbered by identifier.

    `position` is each model's position on the board.
    """

    folder: Path
    numbers: dict[str, int]
    position: dict[str, int]

    def _file(self, identifier: str, kind: str) -> Path:
        return self.folder / f"{self.numbers[identifier]}.{kind}"

    def put_codes(self, identifier: str, column: Column, joint: JointErrors) -> None:
        """Write the tiles of all pairs of models that are compared."""
        compared = (model for model, rank in zip(column.models, column.rank, strict=True) if rank is not None)
        places = np.array([self.position[model] for model in compared], dtype=np.intp)
        tiles(encode(joint), places, len(self.position)).tofile(self._file(identifier, "codes"))

    def codes(self, identifier: str, numbers: range) -> Codes:
        """Return some of these tiles, shape (n_tiles, BLOCK, BLOCK)."""
        size = BLOCK * BLOCK
        start = numbers.start * size * np.dtype(np.uint16).itemsize
        codes = np.fromfile(self._file(identifier, "codes"), np.uint16, len(numbers) * size, offset=start)
        return codes.reshape(-1, BLOCK, BLOCK)

    def put_details(self, identifier: str, details: dict[str, list[Any]]) -> None:
        """Write the details of a benchmark."""
        self._file(identifier, "details").write_bytes(pickle.dumps(details, pickle.HIGHEST_PROTOCOL))

    def put_rows(self, node: int, rows: Sequence[bytes]) -> None:
        """Write a node's row on the page of each model."""
        np.array([len(row) for row in rows], dtype=np.int64).tofile(self.folder / f"{node}.lengths")
        (self.folder / f"{node}.rows").write_bytes(b"".join(rows))

    def rows(self, node: int, models: range) -> list[bytes]:
        """Return these rows of some models."""
        lengths = np.fromfile(self.folder / f"{node}.lengths", np.int64, models.stop).tolist()
        with (self.folder / f"{node}.rows").open("rb") as stream:
            stream.seek(sum(lengths[: models.start]))
            return [stream.read(lengths[model]) for model in models]

    def details(self, identifier: str) -> dict[str, list[Any]]:
        """Return the details of a benchmark; empty without records."""
        file = self._file(identifier, "details")
        content: dict[str, list[Any]] = pickle.loads(file.read_bytes()) if file.is_file() else {}  # noqa: S301  # ours
        return content


@dataclass
class ComputedBoard:
    """The columns of all nodes with records, and the details of all benchmarks, by identifier.

    Columns of averages rank complete models, and show the means of the others over their scores; `averages` are those
    for each other treatment of missing scores, see `average_tree`.
    """

    scratch: Scratch
    columns: dict[str, Column] = field(default_factory=dict)
    averages: dict[str, dict[Missing, Column]] = field(default_factory=dict)
    leaves: dict[str, Leaf] = field(default_factory=dict)
    layers: Layers = field(default_factory=dict)

    def add(self, name: str, column: Column, leaf: Leaf) -> None:
        """Add a benchmark; its layers are counted, since storing them for all records takes much memory."""
        for model, of_regions in zip(column.models, leaf.layers, strict=True):
            for region, entry in (of_regions or {}).items():
                of_region = self.layers.setdefault(model, {}).setdefault(region, {})
                of_region.setdefault(entry["layer"], {**entry, "n": 0})["n"] += 1
        self.columns[name], self.leaves[name] = column, dataclasses.replace(leaf, layers=[])

    def place(self, catalogue: Catalogue) -> list[Node]:
        """Return the nodes of the board; only benchmarks with a score count."""
        simulated = [name for name, leaf in self.leaves.items() if leaf.facts["simulated"]]
        scored = [name for name in self.leaves if "s" in self.columns[name].code]
        return tree_of(catalogue, simulated=simulated, scored=scored)


@dataclass(frozen=True)
class _LeafTask:
    identifier: str
    shows: str
    path_of: Mapping[str, str]
    source: Source
    changes: Sequence[RecordChange]
    scratch: Scratch


def compute(
    source: Source,
    catalogue: Catalogue,
    paths: Mapping[str, Mapping[str, str]],
    changes: Changes,
    scratch: Path,
    workers: Workers,
) -> ComputedBoard:
    """Compute all columns from each record's path, by benchmark and model; `scratch` is an empty folder."""
    # A preliminary tree: the records will show which benchmarks are simulated or have scores.
    nodes = tree_of(catalogue)
    position = {model: place for place, model in enumerate(sorted(entry.identifier for entry in catalogue.models))}
    numbers = {node.identifier: number for number, node in enumerate(nodes)}
    board = ComputedBoard(Scratch(scratch, numbers, position))
    shows = {entry.identifier: entry.shows for entry in catalogue.benchmarks}
    leaves = [place for place, node in enumerate(nodes) if node.leaf and paths.get(node.identifier)]
    tasks = (
        _LeafTask(name, shows[name], paths[name], source, changes.get(name, ()), board.scratch)
        for name in (nodes[place].identifier for place in leaves)
    )
    averages = _Averages(nodes, board.scratch, workers)
    for place, (column, leaf, scores) in zip(leaves, workers.map(_compute_leaf, tasks), strict=True):
        name = nodes[place].identifier
        board.add(name, column, leaf)
        averages.start(place)
        if "s" in column.code and not leaf.facts["simulated"]:
            averages.add(column.models, scores)
    board.averages = averages.finish()
    board.columns |= {name: of_rules.pop("complete") for name, of_rules in board.averages.items()}
    return board


def _compute_leaf(task: _LeafTask) -> tuple[Column, Leaf, ModelScores]:
    problems: list[str] = []
    records, earlier = dict(_records(task, problems)), {}
    if len({record.benchmark_version for record in filter(None, records.values()) if record.score is not None}) > 1:
        of_paths = earlier_versions(task.source, task.changes, task.path_of.values())
        earlier = {model: of_paths[path] for model, path in task.path_of.items()}
    computed = column_of_records(records, earlier, shows=task.shows)
    details = computed.leaf.details
    task.scratch.put_details(task.identifier, details)
    task.scratch.put_codes(task.identifier, computed.column, computed.joint)
    short = {name: details[name] for name in ("created", "version")}
    return computed.column, Leaf(short, computed.leaf.layers, computed.leaf.facts, problems), computed.scores


def _records(task: _LeafTask, problems: list[str]) -> Iterator[tuple[str, ScoreRecord | None]]:
    contents = task.source.read(task.path_of.values())
    for model, path in task.path_of.items():
        try:
            record = ScoreRecord.from_json(next(contents), path)
        except FileNotFoundError:
            raise ConfigurationError(f"{path} was removed during the build. Build again.") from None
        except CorruptFileError as error:
            problems.append(str(error))
            record = None
        if record is not None and (record.benchmark, record.model) != pair_of(path):
            problems.append(f"{path} contains the record of another pair.")
            record = None
        yield model, record


class _Averages:
    """The averages of a tree whose leaves come depth first, so few nodes are incomplete at a time."""

    def __init__(self, nodes: list[Node], scratch: Scratch, workers: Workers) -> None:
        self._nodes, self._scratch, self._workers = nodes, scratch, workers
        self._open: list[tuple[int, MeanOfScores]] = []
        self._futures: dict[str, Future[dict[Missing, Column]]] = {}

    def start(self, leaf: int) -> None:
        path: list[int] = []
        place = self._nodes[leaf].parent
        while place >= 0:
            path.insert(0, place)
            place = self._nodes[place].parent
        while self._open and self._open[-1][0] not in path:
            self._close()
        self._open += [(place, MeanOfScores(len(self._scratch.position))) for place in path[len(self._open) :]]

    def add(self, models: Sequence[str], scores: ModelScores) -> None:
        """Add the scores on a node to the average above."""
        if self._open and self._nodes[self._open[0][0]].identifier not in UNAVERAGED:
            position = self._scratch.position
            self._open[-1][1].add(np.array([position[model] for model in models], dtype=np.intp), scores)

    def _close(self) -> None:
        for future in list(self._futures.values())[-1:]:
            future.result()  # influences take many megabytes: those of one average wait at a time
        place, mean = self._open.pop()
        if not len(mean.places):
            return
        name, scores = self._nodes[place].identifier, mean.result()
        every = list(self._scratch.position)
        models = tuple(every[at] for at in mean.places.tolist())
        self._futures[name] = self._workers.submit(_compute_average, name, models, scores, self._scratch)
        self.add(models, scores)

    def finish(self) -> dict[str, dict[Missing, Column]]:
        while self._open:
            self._close()
        return {name: future.result() for name, future in self._futures.items()}


def _compute_average(
    name: str, models: tuple[str, ...], scores: ModelScores, scratch: Scratch
) -> dict[Missing, Column]:
    comparison = scores.comparison()
    values: dict[Missing, npt.NDArray[np.float64]] = {
        "zero": scores.value,
        "left out": scores.of_present,
        "complete": np.where(scores.is_compared, scores.value, np.nan),
    }
    columns = {
        rule: column_of_average(models, dataclasses.replace(scores, value=value), comparison)
        for rule, value in values.items()
    }
    lacks, n = scores.missing.tolist(), scores.n_below
    unranked = {
        models[at]: (float(scores.of_present[at]), f"{n - lacks[at]} of {n}")
        for at in np.flatnonzero(np.isfinite(scores.of_present) & ~scores.is_compared).tolist()
    }
    columns["complete"] = dataclasses.replace(columns["complete"], unranked=unranked)
    scratch.put_codes(name, columns["complete"], comparison.joint)
    return columns
