"""Write the files of the site: data, pages, downloads, and static files."""

from __future__ import annotations

import json
import pickle
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.errors import ConfigurationError
from brainscore_web.leaderboard import data_files
from brainscore_web.leaderboard.data_files import Board, script
from brainscore_web.leaderboard.pages_of import DIGESTS, Pages
from brainscore_web.leaderboard.pairs import BLOCK, tile_file, tile_names
from brainscore_web.leaderboard.tree import Node, top_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from brainscore_core.records.store import Run
    from brainscore_core.statistics.averages import Missing
    from brainscore_web.leaderboard.catalogue import Catalogue
    from brainscore_web.leaderboard.columns import Column
    from brainscore_web.leaderboard.computing import Scratch
    from brainscore_web.leaderboard.workers import Workers

    Floats = npt.NDArray[np.float64]

Counts = dict[str, Counter[str | None]]
"""Value of `DIGESTS` -> digest -> number of records of a model."""

_STATIC = Path(__file__).parent / "static"
_SINGLE = ("index", "compare", "explore", "status")
_FOLDERS = ("columns", "zero", "left-out", "detail", "models", "benchmarks", "pairs")
_MODELS_AT_ONCE = 50
_TILES_AT_ONCE = 100
"""100 tiles of 350 nodes take 18 MB."""


@dataclass(frozen=True)
class _Site:
    """Context of the files of all nodes and models; `content` is that of ``data/board.js``."""

    folder: Path
    content: dict[str, Any]
    scratch: Scratch

    def write(self, path: str, content: str | bytes) -> None:
        (self.folder / path).write_bytes(_encoded(content) if isinstance(content, str) else content)


@lru_cache(maxsize=1)
def _site(file: Path) -> _Site:
    """Read the context, once per process."""
    site: _Site = pickle.loads(file.read_bytes())  # noqa: S301  # written by `write_site`
    return site


@dataclass(frozen=True)
class _NodeTask:
    """A node whose files are to be written; `is_top`: its column is in ``data/board.js``.

    `others` are the columns of an average if missing scores count as 0 or are left out.
    """

    site: Path
    place: int
    node: Node
    column: Column
    others: dict[Missing, Column]
    data: dict[str, Any]
    is_top: bool


@dataclass(frozen=True)
class _NodeRows:
    """Contribution of a node to files of the whole site: rows of the downloads.

    For each model with a record, `digests` are those that its page lists.
    """

    digests: list[tuple[str | None, ...] | None]
    csv: bytes
    json: bytes


@dataclass(frozen=True)
class _ModelTask:
    place: int
    data: dict[str, Any]
    digests: dict[str, dict[str | None, int]]


def write_site(
    folder: Path,
    board: Board,
    scratch: Scratch,
    catalogue: Catalogue,
    workers: Workers,
    *,
    pictures: Path | None,
    run: Run | None,
) -> None:
    """Write all files into an empty folder; the catalogue has every model and benchmark."""
    for name in (*(f"data/{kind}" for kind in _FOLDERS), "models", "benchmarks", "static"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    site = _Site(folder, data_files.board_content(board), scratch)
    file = scratch.folder / "site"
    file.write_bytes(pickle.dumps(site, pickle.HIGHEST_PROTOCOL))
    similarity = workers.submit(_write_similarity, folder, *data_files.scores_of_leaves(board))
    counts = _write_nodes(file, site, board, catalogue, workers)
    parquet = workers.submit(data_files.write_parquet, *(folder / f"data/scores.{end}" for end in ("csv", "parquet")))
    _write_models(file, board, counts, workers)
    _write_tiles(file, board, workers)
    _write_single(site, board, run, has_parquet=parquet.result())
    for static in sorted(_STATIC.glob("*.*")):
        shutil.copyfile(static, folder / "static" / static.name)
    if pictures is not None:
        for picture in sorted({name for entry in catalogue.benchmarks for name in entry.stimuli}):
            source, target = pictures / picture, folder / "stimuli" / picture
            if not source.is_file():
                raise ConfigurationError(f"The catalogue names the picture {source}, which does not exist.")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    site.write(".nojekyll", "")  # else GitHub's pages leave out some files
    similarity.result()
    _site.cache_clear()


def _write_single(site: _Site, board: Board, run: Run | None, *, has_parquet: bool) -> None:
    site.write("data/board.js", script("board", site.content))
    site.write("data/board.json", _json(site.content))
    status = data_files.status_content(board, run)
    site.write("data/status.js", script("status", status))
    site.write("data/dates.js", script("dates", data_files.dates_content(board)))
    site.write("datapackage.json", _json(data_files.data_package(site.content["made"], has_parquet=has_parquet)))
    more: dict[str, dict[str, object]] = {
        "status": {"data": status},
        "index": {"has_parquet": has_parquet, "scored": data_files.scored_counts(status)},
    }
    pages = Pages(site.content)
    for page in _SINGLE:
        site.write(f"{page}.html", pages.single(page, **more.get(page, {})))


def _write_similarity(folder: Path, places: list[int], scores: Floats) -> None:
    content = script("similarity", data_files.similarity_content(places, scores))
    (folder / "data/similarity.js").write_bytes(_encoded(content))


def _write_nodes(file: Path, site: _Site, board: Board, catalogue: Catalogue, workers: Workers) -> list[Counts]:
    top = set(top_of(board.nodes))
    tasks = (
        _NodeTask(
            file,
            place,
            node,
            board.columns[place],
            board.averages.get(place, {}),
            data_files.benchmark_content(board, place, catalogue.benchmark),
            place in top,
        )
        for place, node in enumerate(board.nodes)
    )
    counts: list[Counts] = [{what: Counter() for what in DIGESTS.values()} for _ in board.models]
    with ExitStack() as held:
        csv, json_ = (held.enter_context((site.folder / f"data/scores.{end}").open("wb")) for end in ("csv", "json"))
        csv.write(_encoded(data_files.table_csv([[*data_files.TABLE]])))
        separator = b"[\n"
        for rows in workers.map(_write_node, tasks):
            csv.write(rows.csv)
            if rows.json:
                json_.write(separator + rows.json)
                separator = b",\n"
            for of_model, digests in zip(counts, rows.digests, strict=True):
                for what, digest in zip(of_model, digests or (), strict=False):
                    of_model[what][digest] += 1
        json_.write(b"[\n\n]\n" if separator == b"[\n" else b"\n]\n")
    return counts


def _write_node(task: _NodeTask) -> _NodeRows:
    site, node = _site(task.site), task.node
    names, slug = site.content["models"]["id"], node.slug
    column = data_files.aligned(task.column, names, leaf=node.leaf)
    detail = None
    if not task.is_top:
        site.write(f"data/columns/{slug}.js", script(f"columns/{slug}", column))
    for rule, other in task.others.items():
        name = f"{rule.replace(' ', '-')}/{slug}"
        site.write(f"data/{name}.js", script(name, data_files.aligned(other, names, leaf=False)))
    csv = json_ = ""
    if node.leaf:
        detail = data_files.aligned_details(names, task.column.models, site.scratch.details(node.identifier))
        site.write(f"data/detail/{slug}.js", script(f"detail/{slug}", detail))
        table = data_files.table_rows(node, column, names)
        csv, json_ = data_files.table_csv(table), data_files.table_json(table)
    pages = Pages(site.content)
    rows = pages.rows(task.place, column, detail)
    site.write(f"data/benchmarks/{slug}.js", script(f"benchmarks/{slug}", task.data))
    site.write(f"benchmarks/{slug}.html", pages.benchmark(task.place, task.data, column, rows))
    site.scratch.put_rows(task.place, [_encoded(row) for row in rows.of_models])
    return _NodeRows(rows.digests, _encoded(csv), _encoded(json_))


def _write_models(file: Path, board: Board, counts: Sequence[Counts], workers: Workers) -> None:
    def task(place: int) -> _ModelTask:
        digests = {what: dict(count.most_common()) for what, count in counts[place].items() if count}
        return _ModelTask(place, data_files.model_content(board, place), digests)

    def shares() -> Iterator[tuple[Path, list[_ModelTask]]]:
        for start in range(0, len(board.models), _MODELS_AT_ONCE):
            yield file, [task(place) for place in range(start, min(start + _MODELS_AT_ONCE, len(board.models)))]

    for _ in workers.map(_write_model_pages, shares()):
        pass


def _write_model_pages(share: tuple[Path, list[_ModelTask]]) -> None:
    file, tasks = share
    site = _site(file)
    pages, slugs = Pages(site.content), site.content["models"]["slug"]
    places = range(tasks[0].place, tasks[-1].place + 1)
    of_nodes = [site.scratch.rows(node, places) for node in range(len(site.content["nodes"]["id"]))]
    for task, rows in zip(tasks, zip(*of_nodes, strict=True), strict=True):
        slug = slugs[task.place]
        site.write(f"data/models/{slug}.js", script(f"models/{slug}", task.data))
        page = pages.model(task.place, task.data, b"".join(rows).decode(), pages.tiles(task.place), task.digests)
        site.write(f"models/{slug}.html", page)


def _write_tiles(file: Path, board: Board, workers: Workers) -> None:
    n_tiles = len(tile_names(len(board.models)))
    coded = {
        place: node.identifier
        for place, (node, column) in enumerate(zip(board.nodes, board.columns, strict=True))
        if column.models
    }
    shares = (
        (file, range(start, min(start + _TILES_AT_ONCE, n_tiles)), coded) for start in range(0, n_tiles, _TILES_AT_ONCE)
    )
    for _ in workers.map(_write_some_tiles, shares):
        pass


def _write_some_tiles(share: tuple[Path, range, dict[int, str]]) -> None:
    file, numbers, coded = share
    site = _site(file)
    codes = np.array([site.scratch.codes(identifier, numbers) for identifier in coded.values()], dtype=np.uint16)
    names = tile_names(len(site.scratch.position))[numbers.start : numbers.stop]
    for at, name in enumerate(names):
        of_tile = codes.reshape(len(coded), len(names), BLOCK, BLOCK)[:, at]
        site.write(f"data/pairs/{name}.js", script(f"pairs/{name}", tile_file(list(coded), of_tile)))


def _json(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")
