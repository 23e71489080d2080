"""Make the data files of the site: scripts that hand JSON to the pages, and downloads of the whole board.

``data/<name>.js`` calls ``BrainScore.take("<name>", <JSON>);``, which works from a server and from a folder. Lists over
models are in the order of ``board.models``, lists over nodes in that of ``board.nodes``. Numbers are exact (``repr``),
missing values null.

``board``
    ``made``: ``revision`` (commit of the records), ``newest`` (time of the newest record),
    ``repository`` (its web page), ``schema``.
    ``models``: lists ``id slug name family year parameters training licence public imagenet image_size``.
    ``nodes``: lists ``id slug name parent depth leaf counts region kind public simulated metric ceiling n_stimuli
    n_neuroids n_subjects version``. ``counts``: whether the average above includes the node. Benchmarks
    that are simulated or have no score or no parent do not count, nor do nodes above only such benchmarks.
    ``top``: places of the nodes whose columns are in ``columns``, place -> column.
``columns/<slug of a node>``
    Columns of all other nodes: `brainscore_web.leaderboard.columns.Column` without ``models`` and ``waiting``; the keys
    of ``unranked`` are places of models.
``zero/<slug of an average>``, ``left-out/<slug>``
    Its column if missing scores count as 0, or are left out; otherwise only complete models have a value.
``detail/<slug of a benchmark>``
    A list over models for each of `brainscore_web.leaderboard.columns.DETAILS`.
``models/<slug>``, ``benchmarks/<slug>``
    The rest of a page; the latter also for averages.
``status``
    ``codes``: for each benchmark, in the order of nodes, one character per model. ``codes_of``: their meanings.
    ``run``: the last run, see `brainscore_core.records.store.Run`; null if unknown.
``dates``
    Days are counted from 1970-01-01 in UTC. ``days``: place of a benchmark -> for each model the day of its score, null
    without one. ``earlier``: place of a benchmark -> replaced scores ``[model, day, day of the replacement, score,
    version of the benchmark]``, oldest first; the day of the replacement is null for those that wait for their version.
``similarity``
    ``nodes``: places of the benchmarks; ``r``: Spearman's correlation over models with both scores, null for fewer than
    three or without variance; ``n``: number of these models.
"""

from __future__ import annotations

import csv
import dataclasses
import datetime as dt
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.statistics.correlations import rank_correlations
from brainscore_core.untrusted import in_spreadsheet
from brainscore_web.leaderboard.columns import CODES, DETAILS, Column, Layers, Leaf
from brainscore_web.leaderboard.tree import Node, top_of

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from brainscore_core.records.store import Run
    from brainscore_core.statistics.averages import Missing
    from brainscore_web.leaderboard.catalogue import BenchmarkEntry, ModelEntry

    Floats = npt.NDArray[np.float64]

_EMPTY = {"code": "q", "bounded": "0", "missing": 0, "n": 1, "group": ""}
_COLUMN = ("value", "low", "high", "bounded", "code", "missing", "n", "rank", "rank_low", "rank_high", "group")

Past = dict[str, list[dict[str, Any]]]
"""Model -> its earlier records on one benchmark, oldest first: ``created``, ``score``, ``status``, ``version`` (of the
benchmark), ``record`` (git's digest of the file), ``replaced`` (time), ``by`` (commit) and ``changed`` (values of
`brainscore_web.leaderboard.computing.MADE_WITH`, or ``removed``)."""


@dataclass(frozen=True)
class Board:
    """All models, sorted by identifier, all nodes, and the column of each node.

    `leaves` and `past` map the place of a benchmark among nodes to its details and its earlier records, `averages` that
    of an average to its columns if missing scores count as 0 or are left out.
    """

    models: tuple[ModelEntry, ...]
    slugs: tuple[str, ...]
    nodes: list[Node]
    columns: list[Column]
    leaves: dict[int, Leaf]
    revision: str | None
    newest: str | None
    repository: str | None
    past: dict[int, Past] = field(default_factory=dict)
    notice: str | None = None
    layers: Layers = field(default_factory=dict)
    averages: dict[int, dict[Missing, Column]] = field(default_factory=dict)

    @cached_property
    def place_of(self) -> list[dict[str, int]]:
        """For each node: model -> place in its column."""
        return [{model: place for place, model in enumerate(column.models)} for column in self.columns]


def script(name: str, value: object) -> str:
    """Return the text of a data file, whose JSON can neither end the script nor the line early."""
    content = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    content = f"BrainScore.take({json.dumps(name)}, {content});\n"
    for char, escaped in (("</", "<\\/"), ("<!--", "\\u003c!--"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029")):
        content = content.replace(char, escaped)
    return content


def aligned(column: Column, models: Sequence[str], *, leaf: bool) -> dict[str, Any]:
    """Return a column as in its file: lists over all models, in the order of the board."""
    position = {model: place for place, model in enumerate(column.models)}
    places = [position.get(model) for model in models]
    n = max(column.n, default=0 if not leaf else 1)
    empty = {**_EMPTY, "code": "q" if leaf else "-", "missing": n, "n": n}
    lists: dict[str, Any] = {}
    for name in _COLUMN:
        values = getattr(column, name)
        lists[name] = [empty.get(name) if place is None else values[place] for place in places]
    lists |= {name: "".join(lists[name]) for name in ("bounded", "code")}
    unranked = {str(place): column.unranked[model] for place, model in enumerate(models) if model in column.unranked}
    return lists | {"unranked": unranked}


def board_content(board: Board) -> dict[str, Any]:
    """See the module."""
    models, nodes = board.models, board.nodes
    of_models = ("family", "year", "parameters", "training", "licence", "public", "imagenet", "image_size")
    of_nodes = ("slug", "name", "parent", "depth", "leaf", "counts", "region", "kind", "public", "simulated", "metric")
    facts = [board.leaves[place].facts if place in board.leaves else {} for place in range(len(nodes))]
    names = [model.identifier for model in models]
    top = top_of(nodes)
    return {
        "made": {
            "revision": board.revision,
            "newest": board.newest,
            "repository": board.repository,
            "notice": board.notice,
            "schema": 1,
        },
        "models": {
            "id": names,
            "slug": list(board.slugs),
            "name": [model.name or model.identifier for model in models],
            **{name: [getattr(model, name) for model in models] for name in of_models},
        },
        "nodes": {
            "id": [node.identifier for node in nodes],
            **{name: [getattr(node, name) for node in nodes] for name in of_nodes},
            **{
                name: [fact.get(name) for fact in facts]
                for name in ("ceiling", "n_stimuli", "n_neuroids", "n_subjects", "version")
            },
        },
        "top": top,
        "columns": {str(place): aligned(board.columns[place], names, leaf=nodes[place].leaf) for place in top},
    }


def aligned_details(
    models: Sequence[str], of: Sequence[str], details: Mapping[str, Sequence[Any]]
) -> dict[str, list[Any]]:
    """Return the content of ``detail/<slug>.js`` from the details of the models `of`."""
    position = {model: place for place, model in enumerate(of)}
    places = [position.get(model) for model in models]
    return {name: [None if place is None else details[name][place] for place in places] for name in DETAILS}


def status_content(board: Board, run: Run | None) -> dict[str, Any]:
    """See the module."""
    names = [model.identifier for model in board.models]
    codes = [aligned(board.columns[place], names, leaf=True)["code"] for place in sorted(board.leaves)]
    return {"codes": codes, "codes_of": CODES, "run": None if run is None else dataclasses.asdict(run)}


def dates_content(board: Board) -> dict[str, Any]:
    """See the module."""
    position = {entry.identifier: at for at, entry in enumerate(board.models)}
    days: dict[int, list[int | None]] = {}
    for place, leaf in board.leaves.items():
        column = board.columns[place]
        days[place] = [None] * len(position)
        for model, score, created in zip(column.models, column.value, leaf.details["created"], strict=True):
            if score is not None:
                days[place][position[model]] = _day(created)
    earlier = {
        place: [
            [position[model], _day(entry["created"]), _day(entry["replaced"]), entry["score"], entry["version"]]
            for model, entries in past.items()
            if model in position
            for entry in entries
            if _day(entry["created"]) is not None
        ]
        for place, past in board.past.items()
    }
    for place in board.leaves:
        waiting = board.columns[place].waiting.items()
        entries = [[position[model], _day(time), None, score, version] for model, (version, score, time) in waiting]
        if entries:
            earlier[place] = earlier.get(place, []) + [entry for entry in entries if entry[1] is not None]
    return {"days": days, "earlier": earlier}


def _day(time: str | None) -> int | None:
    """Return the day of a time in UTC (`ScoreRecord.created_in_utc`); a record may state any text."""
    try:
        return dt.date.fromisoformat((time or "")[:10]).toordinal() - dt.date(1970, 1, 1).toordinal()
    except ValueError:
        return None


def scored_counts(status: Mapping[str, Any]) -> dict[str, int]:
    """Return the numbers of ``models`` and ``benchmarks`` with a score."""
    codes = status["codes"]
    return {
        "models": sum("s" in of_model for of_model in zip(*codes, strict=True)),
        "benchmarks": sum("s" in of_benchmark for of_benchmark in codes),
    }


def model_content(board: Board, place: int) -> dict[str, Any]:
    """Return the content of ``models/<slug>.js``.

    The history starts with replaced records, see `Past`.
    """
    entry = board.models[place]
    history: list[dict[str, Any]] = []
    earlier: list[dict[str, Any]] = []
    for at in sorted(board.leaves):
        leaf, column = board.leaves[at], board.columns[at]
        own = board.place_of[at].get(entry.identifier)
        earlier += [{"benchmark": at, **change} for change in board.past.get(at, {}).get(entry.identifier, ())]
        if own is None:
            continue
        newest = leaf.details["version"][own], column.value[own], leaf.details["created"][own]
        version, score, created = column.waiting.get(entry.identifier, newest)
        if score is not None:
            history.append({"benchmark": at, "created": created, "version": version, "score": score})
    history.sort(key=lambda record: (record["created"] or "", record["benchmark"]))
    history = sorted(earlier, key=lambda record: record["replaced"]) + history
    own_places = (places.get(entry.identifier) for places in board.place_of)
    values = [None if at is None else column.value[at] for at, column in zip(own_places, board.columns, strict=True)]
    facts = dataclasses.asdict(entry)
    atlas = _atlas(facts.pop("atlas"))
    layers = {
        region: sorted(of_region.values(), key=lambda layer: -layer["n"])
        for region, of_region in sorted(board.layers.get(entry.identifier, {}).items())
    }
    about = {"id": entry.identifier, "facts": facts, "history": history, "layers": layers, "values": values}
    return {**about, "atlas": atlas}


def _atlas(atlas: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if atlas is None:
        return None
    names = {"region": "regions", "scores": "score", "benchmark": "benchmarks", "simulated": "simulated"}
    of_regions = {field: [region[name] for region in atlas["regions"]] for name, field in names.items()}
    return {"layers": atlas["layers"], **of_regions}


def benchmark_content(board: Board, place: int, entries: Mapping[str, BenchmarkEntry]) -> dict[str, Any]:
    """See the module; also for an average."""
    node = board.nodes[place]
    facts = board.leaves[place].facts if node.leaf else {}
    entry = entries.get(node.identifier)
    about = {} if entry is None else dataclasses.asdict(entry)
    stimuli = about.pop("stimuli", ())
    return {
        "id": node.identifier,
        "facts": {**about, "version": facts.get("version")},
        "ceiling": {"value": facts.get("ceiling"), **(facts.get("of_ceiling") or {})},
        "stimuli": [f"stimuli/{name}" for name in stimuli],
        "fails": facts.get("fails", {}),
        "versions": _replacements(board, place) if place in board.past else [],
        "rollout": facts.get("rollout", []),
    }


def _replacements(board: Board, place: int) -> list[dict[str, Any]]:
    """Return which versions of a benchmark replaced which, oldest first.

    Keys: ``from`` and ``to`` (versions), ``n`` (number of replaced scores), ``first`` and ``last`` (times).
    """
    column = board.columns[place]
    current = dict(zip(column.models, board.leaves[place].details["version"], strict=True))
    current |= {model: version for model, (version, _, _) in column.waiting.items()}
    times_of: dict[tuple[int, int], list[str]] = {}
    for model, entries in board.past[place].items():
        versions = [*(record["version"] for record in entries), current.get(model)]
        for at, entry in enumerate(entries):
            before, after = versions[at], versions[at + 1]
            if entry["score"] is not None and None not in (before, after) and before != after:
                times_of.setdefault((before, after), []).append(entry["replaced"])
    rows = [
        {"from": before, "to": after, "n": len(times), "first": min(times), "last": max(times)}
        for (before, after), times in times_of.items()
    ]
    return sorted(rows, key=lambda row: (row["first"], row["from"], row["to"]))


def scores_of_leaves(board: Board) -> tuple[list[int], Floats]:
    """Return the places of all benchmarks, and their scores, shape (n_benchmarks, n_models); NaN: no score."""
    places = sorted(board.leaves)
    position = {entry.identifier: at for at, entry in enumerate(board.models)}
    scores = np.full((len(places), len(board.models)), np.nan)
    for row, place in zip(scores, places, strict=True):
        column = board.columns[place]
        row[[position[model] for model in column.models]] = [np.nan if v is None else v for v in column.value]
    return places, scores


def similarity_content(places: list[int], scores: Floats) -> dict[str, Any]:
    """See the module."""
    r, n = rank_correlations(scores)
    rows = [[None if math.isnan(number) else number for number in row] for row in r.tolist()]
    return {"nodes": places, "r": rows, "n": n.tolist()}


# -- downloads ---------------------------------------------------------------------------------------------------------

TABLE = {
    "model": ("string", "identifier of the model"),
    "benchmark": ("string", "identifier of the benchmark"),
    "score": ("number", "0 is chance, 1 the noise ceiling; empty without a score (see status)"),
    "low": ("number", "start of the 95 % interval"),
    "high": ("number", "end of the 95 % interval"),
    "bounded": ("boolean", "whether the interval is an upper bound"),
    "rank": ("integer", "1 plus the number of models with a higher score"),
    "status": ("string", "scored, or the reason for a missing score"),
    "simulated": ("boolean", "whether the benchmark is simulated, which excludes it from averages"),
}
"""Columns of the downloads, with a row for each model and benchmark: type and meaning."""


def data_package(made: Mapping[str, Any], *, has_parquet: bool) -> dict[str, Any]:
    """Describe the downloads as a Data Package (https://specs.frictionlessdata.io); `made` is as in ``board``."""
    fields = [{"name": name, "type": kind, "description": text} for name, (kind, text) in TABLE.items()]
    table = {"fields": fields, "primaryKey": ["model", "benchmark"], "missingValues": [""]}
    formats = ("csv", "json", *(("parquet",) if has_parquet else ()))
    scores = [
        {"name": f"scores-{end}", "path": f"data/scores.{end}", "format": end, "schema": table} for end in formats
    ]
    board = {"name": "board", "path": "data/board.json", "format": "json", "schema": "static/board.schema.json"}
    about = {"title": "Scores of models on benchmarks", "created": made["newest"], "version": made["revision"]}
    known = {name: value for name, value in about.items() if value is not None}
    return {"name": "brain-score", **known, "resources": [*scores, board]}


def table_rows(node: Node, column: Mapping[str, Any], models: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the rows of one benchmark, see `TABLE`; the column as `aligned` returns it."""
    statuses = [CODES[code] for code in column["code"]]
    value, low, high, rank = (column[name] for name in ("value", "low", "high", "rank"))
    bounded = [char == "1" for char in column["bounded"]]
    others = [node.identifier] * len(models), value, low, high, bounded, rank, statuses, [node.simulated] * len(models)
    return list(zip(models, *others, strict=True))


def table_csv(rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV without a header; no text is a formula, see `in_spreadsheet`."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\r\n").writerows([_cell(value) for value in row] for row in rows)
    return stream.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, str):
        return in_spreadsheet(value)
    return str(value).lower() if isinstance(value, bool) else value


def table_json(rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as lines of JSON, separated by commas."""
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode  # `dumps` would make one for each row
    return ",\n".join(encode(dict(zip(TABLE, row, strict=True))) for row in rows)


def write_parquet(table: Path, target: Path) -> bool:
    """Write the rows of a file of `table_csv` as Parquet; return False without pyarrow."""
    try:
        import pyarrow as pa  # an optional dependency
        from pyarrow import compute, csv, parquet
    except ImportError:
        return False
    arrow = {"string": pa.string(), "number": pa.float64(), "integer": pa.int64(), "boolean": pa.bool_()}
    types = {name: arrow[kind] for name, (kind, _) in TABLE.items()}
    rows = csv.read_csv(table, convert_options=csv.ConvertOptions(column_types=types))
    columns = [
        compute.replace_substring_regex(column, "^'", "") if kind == pa.string() else column
        for column, kind in zip(rows.columns, types.values(), strict=True)
    ]
    parquet.write_table(pa.table(columns, schema=rows.schema), target, compression="zstd")
    return True
