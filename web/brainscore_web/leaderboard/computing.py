"""Compute all columns of the board: read each record once, and compute each average once its parts are complete.

Details and errors of pairs of models go to files in a scratch folder.
"""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.errors import ConfigurationError, CorruptFileError
from brainscore_core.records.record import ScoreRecord
from brainscore_core.statistics.model_scores import MeanOfScores, ModelScores
from brainscore_web.leaderboard.columns import Column, Layers, Leaf, column_of_average, column_of_records
from brainscore_web.leaderboard.pairs import BLOCK, Codes, encode, tiles
from brainscore_web.leaderboard.sources import Source, pair_of
from brainscore_web.leaderboard.tree import UNAVERAGED, Node, tree_of

if TYPE_CHECKING:
    from brainscore_core.statistics.averages import Missing
    from brainscore_core.statistics.joint_errors import JointErrors
    from brainscore_core.statistics.tests import Comparison
    from brainscore_web.leaderboard.catalogue import Catalogue
    from brainscore_web.leaderboard.workers import Workers

__all__ = ["ComputedBoard", "Scratch", "compute"]


@dataclass(frozen=True)
class Scratch:
    """Files of single nodes during a build, below one folder, numbered by identifier.

    `position` is that of each model on the board.
    """

    folder: Path
    numbers: dict[str, int]
    position: dict[str, int]

    def _file(self, identifier: str, kind: str) -> Path:
        return self.folder / f"{self.numbers[identifier]}.{kind}"

    def put_codes(self, identifier: str, column: Column, joint: JointErrors) -> None:
        """Write the tiles of all pairs of models with a score."""
        scored = (model for model, value in zip(column.models, column.value, strict=True) if value is not None)
        places = np.array([self.position[model] for model in scored], dtype=np.intp)
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

    `averages` are the columns of averages for each other treatment of missing scores, see `average_tree`.
    """

    scratch: Scratch
    columns: dict[str, Column] = field(default_factory=dict)
    averages: dict[str, dict[Missing, Column]] = field(default_factory=dict)
    leaves: dict[str, Leaf] = field(default_factory=dict)
    layers: Layers = field(default_factory=dict)

    def add(self, name: str, column: Column, leaf: Leaf) -> None:
        """Add a benchmark; its layers are counted, since those of all records take much memory."""
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
    scratch: Scratch


def compute(
    source: Source, catalogue: Catalogue, paths: Mapping[str, Mapping[str, str]], scratch: Path, workers: Workers
) -> ComputedBoard:
    """Compute all columns from each record's path, by benchmark and model; `scratch` is an empty folder."""
    # A preliminary tree: the records will say which benchmarks are simulated or have scores.
    nodes = tree_of(catalogue)
    position = {model: place for place, model in enumerate(sorted(entry.identifier for entry in catalogue.models))}
    numbers = {node.identifier: number for number, node in enumerate(nodes)}
    board = ComputedBoard(Scratch(scratch, numbers, position))
    shows = {entry.identifier: entry.shows for entry in catalogue.benchmarks}
    leaves = [place for place, node in enumerate(nodes) if node.leaf and paths.get(node.identifier)]
    tasks = (
        _LeafTask(name, shows[name], paths[name], source, board.scratch)
        for name in (nodes[place].identifier for place in leaves)
    )
    averages = _Averages(nodes, board.scratch, workers)
    for place, (column, leaf, scores) in zip(leaves, workers.map(_compute_leaf, tasks), strict=True):
        name = nodes[place].identifier
        board.add(name, column, leaf)
        averages.start(place)
        if "s" in column.code and not leaf.facts["simulated"]:
            part = _Part(column.models, scores, column.missing, 1)
            averages.add(part, part)
    board.averages = averages.finish()
    board.columns |= {name: of_rules.pop("zero") for name, of_rules in board.averages.items()}
    return board


def _compute_leaf(task: _LeafTask) -> tuple[Column, Leaf, ModelScores]:
    problems: list[str] = []
    computed = column_of_records(dict(_records(task, problems)), shows=task.shows)
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
            raise ConfigurationError(f"{path} was removed while it was read. Build again.") from None
        except CorruptFileError as error:
            problems.append(str(error))
            record = None
        if record is not None and (record.benchmark, record.model) != pair_of(path):
            problems.append(f"{path} holds the record of another pair.")
            record = None
        yield model, record


@dataclass(frozen=True)
class _Part:
    models: tuple[str, ...]
    scores: ModelScores
    missing: Sequence[int]
    n_below: int

    def column(self, scores: ModelScores, comparison: Comparison) -> Column:
        return column_of_average(self.models, scores, comparison, self.missing, self.n_below)


class _Averages:
    """The averages of a tree whose leaves come depth first, so that few nodes are incomplete at a time."""

    def __init__(self, nodes: list[Node], scratch: Scratch, workers: Workers) -> None:
        self._nodes, self._scratch, self._workers = nodes, scratch, workers
        self._open: list[tuple[int, _Mean]] = []
        self._futures: dict[str, list[Future[dict[Missing, Column]]]] = {}

    def start(self, leaf: int) -> None:
        path: list[int] = []
        place = self._nodes[leaf].parent
        while place >= 0:
            path.insert(0, place)
            place = self._nodes[place].parent
        while self._open and self._open[-1][0] not in path:
            self._close()
        self._open += [(place, _Mean(self._scratch.position)) for place in path[len(self._open) :]]

    def add(self, zero: _Part, left_out: _Part) -> None:
        """Add a node's scores, with missing ones as 0 and left out, to the average above."""
        if self._open and self._nodes[self._open[0][0]].identifier not in UNAVERAGED:
            self._open[-1][1].add(zero, left_out)

    def _close(self) -> None:
        for future in next(reversed(self._futures.values()), ()):
            future.result()  # influences take many megabytes: those of one average wait at a time
        place, mean = self._open.pop()
        parts = mean.result()
        if parts is None:
            return
        name = self._nodes[place].identifier
        self._futures[name] = [
            self._workers.submit(_compute_zero, name, parts[0], self._scratch),
            self._workers.submit(_compute_left_out, parts[1]),
        ]
        self.add(*parts)

    def finish(self) -> dict[str, dict[Missing, Column]]:
        while self._open:
            self._close()
        return {
            name: {rule: column for future in futures for rule, column in future.result().items()}
            for name, futures in self._futures.items()
        }


class _Mean:
    def __init__(self, position: Mapping[str, int]) -> None:
        self._position = position
        self._zero = self._left_out = MeanOfScores(len(position))  # one until a child is an average
        self._present = np.zeros(len(position), dtype=bool)
        self._missing = np.zeros(len(position), dtype=int)
        self._n_below = 0

    def add(self, zero: _Part, left_out: _Part) -> None:
        places = np.array([self._position[model] for model in zero.models], dtype=np.intp)
        if left_out is not zero and self._left_out is self._zero:
            self._left_out = copy.deepcopy(self._zero)
        self._zero.add(places, zero.scores)
        if self._left_out is not self._zero:
            self._left_out.add(places, left_out.scores)
        self._present[places] = True
        self._missing += zero.n_below
        self._missing[places] += np.array(zero.missing) - zero.n_below
        self._n_below += zero.n_below

    def result(self) -> tuple[_Part, _Part] | None:
        if not self._n_below:
            return None
        places = np.flatnonzero(self._present)
        models = tuple(model for model, place in self._position.items() if self._present[place])
        zero, left_out = self._zero.result(places), self._left_out.result(places, left_out=True)
        missing = self._missing[places].tolist()
        return _Part(models, zero, missing, self._n_below), _Part(models, left_out, missing, self._n_below)


def _compute_zero(name: str, part: _Part, scratch: Scratch) -> dict[Missing, Column]:
    comparison, is_complete = part.scores.comparison(), np.array(part.missing) == 0
    column = part.column(part.scores, comparison)
    scratch.put_codes(name, column, comparison.joint)  # errors of differences are over benchmarks that both models have
    complete = part.scores.only(is_complete)
    among_complete = comparison.only(is_complete[np.isfinite(part.scores.value)])
    return {"zero": column, "complete": part.column(complete, among_complete)}


def _compute_left_out(part: _Part) -> dict[Missing, Column]:
    return {"left out": part.column(part.scores, part.scores.comparison())}
