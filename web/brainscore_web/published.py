"""Lay one's own records over a published board, so that a site shows both; nothing is uploaded."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from brainscore_core.errors import CorruptFileError
from brainscore_core.records.published import read_board
from brainscore_core.records.record import record_path
from brainscore_web.leaderboard.catalogue import Catalogue, ModelEntry
from brainscore_web.leaderboard.sources import FolderSource, pair_of
from brainscore_web.leaderboard.tree import UNAVERAGED


def lay_over(board: str, records: FolderSource, folder: Path) -> tuple[FolderSource, Catalogue]:
    """Write the records of both into an empty folder, one's own in place of published ones of the same pair.

    For what a published score states see `read_board`. Models of one's own records that the board lacks are marked as
    private.

    `board`: address or folder of a site of `brainscore_web.leaderboard.site.build`.

    Raises
    ------
    ConfigurationError
        If there is no board.
    CorruptFileError
        If it is none of this version.
    """
    content, published = read_board(board, folder / "downloads")
    own = records.paths()
    try:
        nodes = list(_entries(content["nodes"]))
        catalogue = _catalogue(list(_entries(content["models"])), nodes, board)
        for record in published:
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
