"""Lay one's own records over a published board, so that a site shows both; nothing is uploaded."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from brainscore_core.errors import ConfigurationError, CorruptFileError
from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_core.statistics.influence import t_quantile
from brainscore_core.transfer.http import fetch_url
from brainscore_core.untrusted import parse, read_start
from brainscore_web.leaderboard.catalogue import Catalogue, ModelEntry
from brainscore_web.leaderboard.sources import FolderSource, pair_of
from brainscore_web.leaderboard.tree import UNAVERAGED

_MOST_BYTES = 512 * 2**20  # 741 models on 289 benchmarks take 50 MB
_STATUS = {"scored": "scored", "not applicable": "not_applicable", "failed": "failed:Published"}


def lay_over(board: str, records: FolderSource, folder: Path) -> tuple[FolderSource, Catalogue]:
    """Write the records of both into an empty folder, one's own in place of published ones of the same pair.

    A published score has the error that its interval implies, but neither influences nor provenance, so that errors of
    averages are upper bounds. Models of one's own records that the board lacks are marked as private.

    `board`: address or folder of a site of `brainscore_web.leaderboard.site.build`.

    Raises
    ------
    ConfigurationError
        If there is no board.
    CorruptFileError
        If it is none of this version.
    """
    content, rows = (_load(board, name, folder / "downloads") for name in ("board.json", "scores.json"))
    own = records.paths()
    try:
        nodes = list(_entries(content["nodes"]))
        versions = {node["id"]: node["version"] for node in nodes}
        catalogue = _catalogue(list(_entries(content["models"])), nodes, board)
        for record in (_record(row, versions) for row in rows if row["status"] in _STATUS):
            record.write(record_path(folder / "records", record.model, record.benchmark))
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise CorruptFileError(f"{board} is no board that this version reads ({error!r}).") from None
    for path in own:
        target = folder / "records" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(records.folder / path, target)
    names = sorted({pair[1] for path in own if (pair := pair_of(path)) is not None} - catalogue.model.keys())
    private = (ModelEntry(identifier=name, public=False) for name in names)
    return FolderSource(folder / "records"), replace(catalogue, models=(*catalogue.models, *private))


def _load(board: str, name: str, folder: Path) -> Any:  # JSON
    if board.startswith(("https://", "http://")):
        base = board if board.endswith(".html") else f"{board.rstrip('/')}/"
        file = fetch_url(urljoin(base, f"data/{name}"), folder / name, sha256=None)
    else:
        file = Path(board) / "data" / name
    try:
        return parse(read_start(file, _MOST_BYTES), f"{name} of {board}", _MOST_BYTES)
    except OSError as error:
        raise ConfigurationError(
            f"{board} is no board: {file} cannot be read ({error.strerror}). Give the address of a leaderboard, or the "
            "folder of one from: brainscore leaderboard build"
        ) from None


def _entries(lists: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    for values in zip(*lists.values(), strict=True):
        yield dict(zip(lists, values, strict=True))


def _catalogue(models: list[dict[str, Any]], nodes: list[dict[str, Any]], board: str) -> Catalogue:
    of_models = ("name", "family", "year", "parameters", "training", "public", "imagenet", "image_size")
    of_nodes = ("name", "region", "kind")

    def entry(of: Mapping[str, Any], names: tuple[str, ...], **more: object) -> dict[str, object]:
        facts = {"identifier": of["id"], **{name: of[name] for name in names}, **more}
        return {name: value for name, value in facts.items() if value is not None}

    def parent(node: Mapping[str, Any]) -> object:
        above = None if node["parent"] < 0 else nodes[node["parent"]]["id"]
        return None if above in UNAVERAGED else above

    content = {
        "models": [entry(model, of_models) for model in models],
        "benchmarks": [
            entry(node, (*of_nodes, "public", "simulated"), parent=parent(node)) for node in nodes if node["leaf"]
        ],
        "nodes": [
            entry(node, of_nodes, parent=parent(node))
            for node in nodes
            if not node["leaf"] and node["id"] not in UNAVERAGED
        ],
        "notice": f"Your own records beside those of {board}. Only this machine shows this page.",
    }
    return Catalogue.from_json(json.dumps(content))


def _record(row: Mapping[str, Any], versions: Mapping[str, int | None]) -> ScoreRecord:
    has_error = row["low"] is not None and not row["bounded"]
    return ScoreRecord.without_score(
        _STATUS[row["status"]],
        "published without a message" if row["score"] is None else "",
        model=row["model"],
        benchmark=row["benchmark"],
        benchmark_version=versions[row["benchmark"]],
        score=row["score"],
        interval=(row["low"], row["high"]) if has_error else None,
        error=(row["high"] - row["low"]) / 2 / t_quantile(float("inf")) if has_error else None,
        simulated=row["simulated"],
        machine="unknown",
        versions={},
        source_revision=None,
    )
