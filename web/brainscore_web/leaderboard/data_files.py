"""Write what the pages show as data files: scripts that hand plain JSON to the pages, and downloads of the whole board.

``data/<name>.js`` calls ``BrainScore.take("<name>", <JSON>);``, which works from a server and from a folder alike. All
lists over models are in the order of ``board.models``, all over nodes in that of ``board.nodes``. Numbers are exact
(``repr``), what is missing is null.

``board``
    ``made``: ``revision`` (commit of the records), ``newest`` (when the newest record was made), ``schema``.
    ``models``: lists ``id slug name family year parameters training public imagenet``.
    ``nodes``: lists ``id slug name parent depth leaf counts region kind public simulated ceiling n_stimuli n_neuroids
    n_subjects reliability``. ``counts`` says whether the node above averages over it: a benchmark that no model has a
    score on, one that is simulated and one without a parent do not count, nor does a node without one below that does.
    ``top``: places of the nodes whose columns are in ``columns``, place -> column.
``columns/<slug of a node>``
    See `brainscore_web.leaderboard.columns.Column`, without ``models``. All other nodes.
``detail/<slug of a benchmark>``
    A list over models for each of `brainscore_web.leaderboard.columns.DETAILS`.
``models/<slug>``, ``benchmarks/<slug>``
    What a page shows beside; the latter also of averages.
``status``
    ``codes``: for each benchmark, in the order of nodes, one character per model. ``codes_of``: what they mean.
    ``run``: what the last run has done, see `brainscore_core.records.run.Run`; null if nothing is told of it.
``similarity``
    ``nodes``: places of the benchmarks; ``r``: Spearman's correlation of the scores of models that have both; ``n``: of
    how many; null for fewer than three, or where one does not vary.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.statistics.correlations import rank_correlations
from brainscore_web.leaderboard.columns import CODES, DETAILS, Column, Leaf
from brainscore_web.leaderboard.tree import Node, top_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from brainscore_core.records.run import Run
    from brainscore_web.leaderboard.catalogue import BenchmarkEntry, ModelEntry

    Floats = npt.NDArray[np.float64]

__all__ = [
    "TABLE",
    "Board",
    "Layers",
    "Past",
    "aligned",
    "aligned_details",
    "benchmark_content",
    "board_content",
    "model_content",
    "scores_of_leaves",
    "script",
    "similarity_content",
    "status_content",
    "table_csv",
    "table_json",
    "table_parquet",
    "table_rows",
]

_EMPTY = {"code": "q", "missing": 0, "n": 1, "group": ""}
_COLUMN = ("value", "low", "high", "code", "missing", "n", "rank", "rank_low", "rank_high", "group")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%", "'")

Past = dict[str, list[dict[str, Any]]]
"""Model -> its earlier records on one benchmark, oldest first: ``created``, ``score``, ``status``, ``version`` (of the
benchmark), ``record`` (git's digest of the file), ``replaced`` (when), ``by`` (which commit did) and ``changed``
(what of `brainscore_web.leaderboard.history.MADE_WITH`, or that it was removed)."""

Layers = dict[str, dict[str, dict[str, dict[str, Any]]]]
"""Model -> region -> layer -> what its records say of how it was chosen, and ``n``: on how many benchmarks."""


@dataclass(frozen=True)
class Board:
    """The whole: models and nodes in their order, and the column of each node.

    Attributes
    ----------
    models : tuple of ModelEntry
        Sorted by identifier.
    slugs : tuple of str
        Of each model.
    columns : list of Column
        Of each node.
    leaves : dict of int to Leaf
        Place of a benchmark among nodes -> what is known besides.
    past : dict of int to dict
        Place of a benchmark -> what its records held before.
    layers : dict
        Of each model.
    """

    models: tuple[ModelEntry, ...]
    slugs: tuple[str, ...]
    nodes: list[Node]
    columns: list[Column]
    leaves: dict[int, Leaf]
    revision: str | None
    newest: str | None
    past: dict[int, Past] = field(default_factory=dict)

    @cached_property
    def place_of(self) -> list[dict[str, int]]:
        """Of each node: model -> place in its column."""
        return [{model: at for at, model in enumerate(column.models)} for column in self.columns]

    notice: str | None = None
    layers: Layers = field(default_factory=dict)


def script(name: str, value: object) -> str:
    """Return the text of a data file: plain JSON that can neither end a script nor a line early."""
    content = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    content = f"BrainScore.take({json.dumps(name)}, {content});\n"
    for char, escaped in (("</", "<\\/"), ("<!--", "\\u003c!--"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029")):
        content = content.replace(char, escaped)
    return content


def aligned(column: Column, models: Sequence[str], *, leaf: bool) -> dict[str, Any]:
    """Return a column as its file has it: lists over all models, in the order of the board."""
    position = {model: place for place, model in enumerate(column.models)}
    places = [position.get(model) for model in models]
    n = max(column.n, default=0 if not leaf else 1)
    empty = {**_EMPTY, "code": "q" if leaf else "-", "missing": n, "n": n}
    found: dict[str, Any] = {}
    for name in _COLUMN:
        values = getattr(column, name)
        found[name] = [empty.get(name) if place is None else values[place] for place in places]
    found["code"] = "".join(found["code"])
    return found


def board_content(board: Board) -> dict[str, Any]:
    """Return what ``board.js`` hands over."""
    models, nodes = board.models, board.nodes
    of_models = ("family", "year", "parameters", "training", "public", "imagenet")
    facts = [board.leaves[place].facts if place in board.leaves else {} for place in range(len(nodes))]
    names = [each.identifier for each in models]
    top = top_of(nodes)
    return {
        "made": {"revision": board.revision, "newest": board.newest, "notice": board.notice, "schema": 1},
        "models": {
            "id": names,
            "slug": list(board.slugs),
            "name": [each.name or each.identifier for each in models],
            **{name: [getattr(each, name) for each in models] for name in of_models},
        },
        "nodes": {
            "id": [each.identifier for each in nodes],
            **{
                name: [getattr(each, name) for each in nodes]
                for name in (
                    "slug",
                    "name",
                    "parent",
                    "depth",
                    "leaf",
                    "counts",
                    "region",
                    "kind",
                    "public",
                    "simulated",
                )
            },
            **{
                name: [each.get(name) for each in facts]
                for name in ("ceiling", "n_stimuli", "n_neuroids", "n_subjects")
            },
            "reliability": [column.reliability.get("value") for column in board.columns],
        },
        "top": top,
        "columns": {str(place): aligned(board.columns[place], names, leaf=nodes[place].leaf) for place in top},
    }


def aligned_details(
    models: Sequence[str], of: Sequence[str], details: Mapping[str, Sequence[Any]]
) -> dict[str, list[Any]]:
    """Return what ``detail/<slug>.js`` hands over: `details` are of the models `of`."""
    position = {model: place for place, model in enumerate(of)}
    places = [position.get(model) for model in models]
    return {name: [None if place is None else details[name][place] for place in places] for name in DETAILS}


def status_content(board: Board, run: Run | None) -> dict[str, Any]:
    """Return what ``status.js`` hands over."""
    names = [each.identifier for each in board.models]
    codes = [aligned(board.columns[place], names, leaf=True)["code"] for place in sorted(board.leaves)]
    told = None if run is None else dataclasses.asdict(run)
    return {"codes": codes, "codes_of": CODES, "run": told}


def scored_counts(status: Mapping[str, Any]) -> dict[str, int]:
    """Return how many ``models`` and ``benchmarks`` have a score at all, from what `status_content` returns."""
    codes = status["codes"]
    return {
        "models": sum("s" in of_model for of_model in zip(*codes, strict=True)),
        "benchmarks": sum("s" in of_benchmark for of_benchmark in codes),
    }


def model_content(board: Board, place: int) -> dict[str, Any]:
    """Return what ``models/<slug>.js`` hands over: facts, history (what was scored and when), layers, atlas, values.

    In the history first stands what was replaced, see `Past`. Values are the scores on all nodes.
    """
    entry = board.models[place]
    history: list[dict[str, Any]] = []
    earlier: list[dict[str, Any]] = []
    for at in sorted(board.leaves):
        leaf, column = board.leaves[at], board.columns[at]
        here = board.place_of[at].get(entry.identifier)
        earlier += [{"benchmark": at, **each} for each in board.past.get(at, {}).get(entry.identifier, ())]
        if here is None:
            continue
        score, created = column.value[here], leaf.details["created"][here]
        if score is not None:
            version = leaf.details["version"][here]
            history.append({"benchmark": at, "created": created, "version": version, "score": score})
    history.sort(key=lambda each: (each["created"] or "", each["benchmark"]))
    history = sorted(earlier, key=lambda each: each["replaced"]) + history
    found = (places.get(entry.identifier) for places in board.place_of)
    values = [None if at is None else column.value[at] for at, column in zip(found, board.columns, strict=True)]
    facts = dataclasses.asdict(entry)
    atlas = _atlas(facts.pop("atlas"))
    layers = {
        region: sorted(known.values(), key=lambda each: -each["n"])
        for region, known in sorted(board.layers.get(entry.identifier, {}).items())
    }
    about = {"id": entry.identifier, "facts": facts, "history": history, "layers": layers, "values": values}
    return {**about, "atlas": atlas}


def _atlas(atlas: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what is drawn of an atlas: ``regions``, ``layers``, ``score`` (of each layer for each region), ..."""
    if atlas is None:
        return None
    names = {"region": "regions", "scores": "score", "benchmark": "benchmarks", "simulated": "simulated"}
    of_regions = {shown: [each[name] for each in atlas["regions"]] for name, shown in names.items()}
    return {"layers": atlas["layers"], **of_regions}


def benchmark_content(board: Board, place: int, entries: Mapping[str, BenchmarkEntry]) -> dict[str, Any]:
    """Return what ``benchmarks/<slug>.js`` hands over, of a benchmark or an average."""
    node = board.nodes[place]
    facts = board.leaves[place].facts if node.leaf else {}
    entry = entries.get(node.identifier)
    about = {} if entry is None else dataclasses.asdict(entry)
    stimuli = about.pop("stimuli", ())
    return {
        "id": node.identifier,
        "facts": {**about, "version": facts.get("version")},
        "ceiling": {"value": facts.get("ceiling"), **(facts.get("of_ceiling") or {})},
        "reliability": board.columns[place].reliability or None,
        "stimuli": [f"stimuli/{each}" for each in stimuli],
        "fails": facts.get("fails", {}),
        "versions": _replacements(board.past[place], _versions(board, place)) if place in board.past else [],
    }


def _versions(board: Board, place: int) -> dict[str, int | None]:
    return dict(zip(board.columns[place].models, board.leaves[place].details["version"], strict=True))


def _replacements(past: Past, now: Mapping[str, int | None]) -> list[dict[str, Any]]:
    """Tell which versions of a benchmark took the place of which, from what its records held.

    Oldest first: ``from`` and ``to`` (versions), ``n`` (how many scores were replaced), ``first`` and ``last`` (when).

    Parameters
    ----------
    now : mapping of str to int or None
        Model -> version that it is scored on now.
    """
    found: dict[tuple[int, int], list[str]] = {}
    for model, entries in past.items():
        versions = [*(each["version"] for each in entries), now.get(model)]
        for at, entry in enumerate(entries):
            before, after = versions[at], versions[at + 1]
            if entry["score"] is not None and None not in (before, after) and before != after:
                found.setdefault((before, after), []).append(entry["replaced"])
    rows = [
        {"from": before, "to": after, "n": len(when), "first": min(when), "last": max(when)}
        for (before, after), when in found.items()
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
    """Return what ``similarity.js`` hands over, from what `scores_of_leaves` returns."""
    r, n = rank_correlations(scores)
    rows = [[None if math.isnan(number) else number for number in row] for row in r.tolist()]
    return {"nodes": places, "r": rows, "n": n.tolist()}


# -- downloads of the whole --------------------------------------------------------------------------------------------

TABLE = ("model", "benchmark", "score", "low", "high", "rank", "status", "simulated")
"""Columns of the downloads: a row for each model and benchmark."""


def table_rows(node: Node, column: Mapping[str, Any], models: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the rows of one benchmark, see `TABLE`; the column as `aligned` returns it."""
    statuses = [CODES[code] for code in column["code"]]
    numbers = (column[name] for name in ("value", "low", "high", "rank"))
    others = [node.identifier] * len(models), *numbers, statuses, [node.simulated] * len(models)
    return list(zip(models, *others, strict=True))


def table_csv(rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV, without a header; a text that a spreadsheet takes for a formula has an apostrophe in front.

    So has one that starts with an apostrophe: without the first, every such text is what it was.
    """
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\r\n").writerows([_cell(value) for value in row] for row in rows)
    return stream.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, str):
        return f"'{value}" if value.lstrip().startswith(_FORMULA) or value.startswith(_FORMULA) else value
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else repr(value)


def table_json(rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as JSON objects, one a line, with commas between."""
    return ",\n".join(
        json.dumps(dict(zip(TABLE, row, strict=True)), ensure_ascii=False, allow_nan=False) for row in rows
    )


def table_parquet(board: Board) -> bytes | None:
    """Return the rows of all benchmarks as Parquet; None without pyarrow."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        return None
    types = {
        "score": pa.float64(),
        "low": pa.float64(),
        "high": pa.float64(),
        "rank": pa.int64(),
        "simulated": pa.bool_(),
    }
    schema = pa.schema([(name, types.get(name, pa.string())) for name in TABLE])
    models = [each.identifier for each in board.models]
    columns: list[list[Any]] = [[] for _ in TABLE]
    for place in sorted(board.leaves):
        rows = table_rows(board.nodes[place], aligned(board.columns[place], models, leaf=True), models)
        for number, values in enumerate(zip(*rows, strict=True)):
            columns[number].extend(values)
    stream = io.BytesIO()
    parquet.write_table(pa.table(columns, schema=schema), stream, compression="zstd")
    return stream.getvalue()
