"""Write the files of the site: data, pages, downloads, what is static.

What belongs to one node of the tree, to a model or to two blocks of models is made by several processes and kept under
the digest of all it is made from.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.errors import ConfigurationError
from brainscore_core.identity.digest import content_digest
from brainscore_web.leaderboard import data_files
from brainscore_web.leaderboard.data_files import Board, script
from brainscore_web.leaderboard.graph import Graph, Job, LeafJob, as_json, code_digest, details_of, pairs_of
from brainscore_web.leaderboard.kept import Kept, from_parts, to_parts
from brainscore_web.leaderboard.pages_of import COUNTED, DIGESTS, Pages, without_counts
from brainscore_web.leaderboard.pairs import BLOCK, tile_file, tile_names, tiles
from brainscore_web.leaderboard.tree import Node, top_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from brainscore_core.records.run import Run
    from brainscore_web.leaderboard.board import Column
    from brainscore_web.leaderboard.catalogue import Catalogue
    from brainscore_web.leaderboard.sources import Source

    Floats = npt.NDArray[np.float64]
    Places = npt.NDArray[np.intp]

__all__ = ["write_site"]

_STATIC = Path(__file__).parent / "static"
_SINGLE = ("index", "compare", "explore", "status")
_KINDS = ("column-file", "detail-file", "node-file", "page", "rows", "table", "tile-digests")
_DIGEST_BYTES = 16
_MODELS_AT_ONCE = 20


@dataclass(frozen=True)
class _NodeTask:
    """All that the files of one node are made from.

    Attributes
    ----------
    key : str
        Digest of all that follows; the column is what its own key says.
    board : dict
        As `without_counts` leaves it.
    """

    key: str

    place: int
    node: Node
    column: Column
    data: dict[str, Any]
    job: Job | None
    board: dict[str, Any]

    @property
    def leaf_job(self) -> LeafJob | None:
        """How its details are computed; None of an average."""
        return self.job if isinstance(self.job, LeafJob) else None


@dataclass(frozen=True)
class _ModelTask:
    """All that the page of a model is made from, beside the board; `key` is the digest of it."""

    key: str

    place: int
    data: dict[str, Any]
    rows: bytes
    tiles: list[dict[str, Any]]
    made_with: dict[str, dict[str | None, int]]


def write_site(
    folder: Path,
    board: Board,
    jobs: Mapping[int, Job],
    graph: Graph,
    catalogue: Catalogue,
    *,
    pictures: Path | None,
    run: Run | None,
) -> None:
    """Write all files.

    Parameters
    ----------
    folder : Path
        Empty.
    jobs : mapping of int to LeafJob or NodeJob
        Place of a node that has records -> how it was computed.
    catalogue : Catalogue
        With an entry for each model and benchmark.
    pictures
        See `brainscore_web.leaderboard.site.build`.
    run : Run or None
        What has scored last.
    """
    writer = _Writer(folder, board, graph)
    writer.write("data/board.js", script("board", writer.content))
    status = data_files.status_content(board, run)
    writer.write("data/status.js", script("status", status))
    of_leaves = {place: job for place, job in jobs.items() if isinstance(job, LeafJob)}
    writer.write("data/similarity.js", _similarity(board, of_leaves, graph))
    parquet = data_files.table_parquet(board)
    writer.write("data/scores.parquet", parquet)
    pages = Pages(writer.content)
    more: dict[str, dict[str, object]] = {
        "status": {"data": status},
        "index": {"has_parquet": parquet is not None, "scored": data_files.scored_counts(status)},
    }
    for page in _SINGLE:
        writer.write(f"{page}.html", pages.single(page, **more.get(page, {})))
    tasks = writer.write_nodes(jobs, catalogue)
    writer.write_models()
    writer.write_pairs(tasks)
    for file in sorted(_STATIC.glob("*.*")):
        writer.write(f"static/{file.name}", file.read_bytes())
    if pictures is not None:
        for picture in sorted({each for entry in catalogue.benchmarks for each in entry.stimuli}):
            _copy(pictures / picture, folder / "stimuli" / picture)
    writer.write(".nojekyll", "")  # GitHub's pages take files as they are then


class _Writer:
    def __init__(self, folder: Path, board: Board, graph: Graph) -> None:
        self.folder, self.board, self.graph = folder, board, graph
        self.content = data_files.board_content(board)
        self.rows: list[list[bytes]] = []
        self.made_with: list[tuple[Counter[str | None], ...]] = [
            tuple(Counter() for _ in DIGESTS) for _ in board.models
        ]
        self.tile_digests: dict[int, bytes] = {}
        for name in (
            "data/columns",
            "data/detail",
            "data/models",
            "data/benchmarks",
            "data/pairs",
            "models",
            "benchmarks",
            "static",
        ):
            (folder / name).mkdir(parents=True, exist_ok=True)

    def write(self, path: str, content: str | bytes | None) -> None:
        """Write a file; None is none."""
        if content is not None:
            (self.folder / path).write_bytes(_encoded(content) if isinstance(content, str) else content)

    def _tasks(self, jobs: Mapping[int, Job], catalogue: Catalogue) -> Iterator[_NodeTask]:
        of_all = without_counts(self.content)
        common = content_digest(code_digest(), Pages(of_all).revision, as_json(of_all))
        for place, node in enumerate(self.board.nodes):
            data, job = data_files.benchmark_content(self.board, place, catalogue.benchmark), jobs.get(place)
            own = [place, data, *(self.content["nodes"][name][place] for name in COUNTED)]
            key = content_digest(common, as_json(own), None if job is None else job.key)
            board = without_counts(self.content, place)
            yield _NodeTask(key, place, node, self.board.columns[place], data, job, board)

    def write_nodes(self, jobs: Mapping[int, Job], catalogue: Catalogue) -> list[_NodeTask]:
        """Write the files of all nodes, and the downloads of all scores."""
        board, graph = self.board, self.graph
        tasks = list(self._tasks(jobs, catalogue))
        missing = [
            (task, graph.source, graph.kept)
            for task in tasks
            if not all(graph.kept.has(kind, task.key) for kind in _KINDS)
        ]
        graph.run(_node_files, missing, n_records=lambda given: len(given[0].column.models))
        top = set(top_of(board.nodes))
        tables: list[list[bytes]] = []
        for task in tasks:
            files = {kind: graph.kept.get(kind, task.key) for kind in _KINDS}
            for kind in _KINDS:
                graph.use(kind, task.key)
            if task.leaf_job is not None:
                graph.use("details", task.leaf_job.key)
            if None in files.values():  # damaged, or the disk is full
                files = dict(_node_files((task, graph.source, graph.kept)))
            slug = task.node.slug
            if task.place not in top:
                self.write(f"data/columns/{slug}.js", files["column-file"])
            if task.node.leaf:
                self.write(f"data/detail/{slug}.js", files["detail-file"])
                tables.append(from_parts(files["table"] or b""))
            self.write(f"data/benchmarks/{slug}.js", files["node-file"])
            self.write(f"benchmarks/{slug}.html", files["page"])
            made_with, *rows = from_parts(files["rows"] or b"")
            self.rows.append(rows)
            for model, digests in json.loads(made_with).items():
                for counter, digest in zip(self.made_with[int(model)], digests, strict=True):
                    counter[digest] += 1
            self.tile_digests[task.place] = files["tile-digests"] or b""
        header = _encoded(data_files.table_csv([data_files.TABLE]))
        self.write("data/scores.csv", header + b"".join(part for part, _ in tables))
        self.write("data/scores.json", b"[\n" + b",\n".join(part for _, part in tables if part) + b"\n]\n")
        return tasks

    def write_models(self) -> None:
        """Write the files of all models; what their pages are made from is there for some of them at a time."""
        graph, board = self.graph, without_counts(self.content)
        pages, keys = Pages(self.content), []
        common = content_digest(code_digest(), pages.revision, as_json(board))

        def task_of(place: int) -> _ModelTask:
            data = data_files.model_content(self.board, place)
            content = script(f"models/{self.board.slugs[place]}", data)
            self.write(f"data/models/{self.board.slugs[place]}.js", content)
            return self._model_task(place, data, pages.tiles(place), [common, content])

        def shares() -> Iterator[tuple[dict[str, Any], list[_ModelTask], Kept]]:
            share: list[_ModelTask] = []
            for place in range(len(self.board.models)):
                task = task_of(place)
                keys.append(task.key)
                graph.use("model-page", task.key)
                if not graph.kept.has("model-page", task.key):
                    share.append(task)
                if len(share) == _MODELS_AT_ONCE:
                    yield board, share, graph.kept
                    share = []
            if share:
                yield board, share, graph.kept

        graph.run(_model_pages, shares(), n_records=lambda given: len(given[1]) * len(self.board.nodes))
        for place, key in enumerate(keys):
            page = graph.kept.get("model-page", key)
            if page is None:  # damaged, or the disk is full
                (page,) = _model_pages((board, [task_of(place)], graph.kept))
            self.write(f"models/{self.board.slugs[place]}.html", page)

    def _model_task(self, place: int, data: dict[str, Any], tiles: list[dict[str, Any]], of: list[str]) -> _ModelTask:
        """Return what the page of a model is made from; `of` is what else its key is of."""
        rows = b"".join(of_node[place] for of_node in self.rows)
        made = {
            what: dict(of_what.most_common())
            for what, of_what in zip(DIGESTS.values(), self.made_with[place], strict=True)
            if of_what
        }
        parts = as_json([place, tiles, [list(each.items()) for each in made.values()]])
        return _ModelTask(content_digest(*of, rows, parts), place, data, rows, tiles, made)

    def write_pairs(self, tasks: Sequence[_NodeTask]) -> None:
        """Write the errors of the differences of all pairs of models, one file for each two blocks of models."""
        graph, of = self.graph, [task for task in tasks if self.tile_digests[task.place]]
        digests = np.array([np.frombuffer(self.tile_digests[task.place], np.uint8) for task in of])
        tiles_of_board = tile_names(len(self.board.models))
        digests = digests.reshape(len(of), len(tiles_of_board), _DIGEST_BYTES)
        places = as_json([task.place for task in of])
        keys = {
            name: content_digest(code_digest(), "tile", name, places, digests[:, at].tobytes())
            for at, name in enumerate(tiles_of_board)
        }
        missing = [(at, name, key) for at, (name, key) in enumerate(keys.items()) if not graph.kept.has("tile", key)]
        names = [each.identifier for each in self.board.models]
        tables = [(task.place, task.job, _places(task.column.models, names)) for task in of if task.job is not None]
        shares = [missing[start :: graph.processes] for start in range(min(graph.processes, len(missing)))]
        # Whoever makes some reads the codes of all nodes, so that each process makes its share at once.
        graph.run(
            _tile_files,
            [(share, tables, len(names), graph.source, graph.kept) for share in shares],
            n_records=lambda given: BLOCK * len(given[0]),
        )
        for at, (name, key) in enumerate(keys.items()):
            graph.use("tile", key)
            content = graph.kept.get("tile", key)
            if content is None:
                ((_, content),) = _tile_files(([(at, name, key)], tables, len(names), graph.source, graph.kept))
            self.write(f"data/pairs/{name}.js", content)


def _model_pages(given: tuple[dict[str, Any], Sequence[_ModelTask], Kept]) -> list[bytes]:
    """Make the pages of some models and keep them."""
    board, tasks, kept = given
    pages, found = Pages(board), []
    for task in tasks:
        page = pages.model(task.place, task.data, task.rows.decode(), task.tiles, task.made_with)
        found.append(_encoded(page))
        kept.put("model-page", task.key, found[-1])
    return found


def _tile_files(
    given: tuple[Sequence[tuple[int, str, str]], Sequence[tuple[int, Job, Places]], int, Source, Kept],
) -> list[tuple[str, bytes]]:
    """Make some tiles and keep them; return name and content of each.

    Each is given by its place, its name and its key; then follow the place of each node, its job and the places of its
    models among all, and how many these are.
    """
    wanted, tables, n_models, source, kept = given
    at = [place for place, *_ in wanted]
    codes = np.zeros((len(at), len(tables), BLOCK, BLOCK), dtype=np.uint16)
    for number, (_, job, places) in enumerate(tables):
        codes[:, number] = tiles(pairs_of(job, len(places), source, kept), places, n_models)[at]
    found = []
    for of_tile, (_, name, key) in zip(codes, wanted, strict=True):
        file = script(f"pairs/{name}", tile_file([node for node, *_ in tables], of_tile)).encode()
        kept.put("tile", key, file)
        found.append((name, file))
    return found


def _node_files(given: tuple[_NodeTask, Source, Kept]) -> list[tuple[str, bytes]]:
    """Make the files of a node and keep them; return kind and content of each."""
    task, source, kept = given
    names = task.board["models"]["id"]
    slug, column = task.node.slug, data_files.aligned(task.column, names, leaf=task.node.leaf)
    detail = None
    if task.node.leaf:
        details = {} if task.leaf_job is None else details_of(task.leaf_job, source, kept)
        detail = data_files.aligned_details(names, task.column.models, details)
    pages = Pages(task.board)
    rows = pages.rows(task.place, column, detail)
    table = data_files.table_rows(task.node, task.column, names) if task.node.leaf else []
    files = {
        "column-file": script(f"columns/{slug}", column),
        "detail-file": script(f"detail/{slug}", detail),
        "node-file": script(f"benchmarks/{slug}", task.data),
        "page": pages.benchmark(task.place, task.data, column, rows),
    }
    found = [(kind, _encoded(content)) for kind, content in files.items()]
    found += [
        ("rows", to_parts([as_json(rows["digests"]), *map(_encoded, rows["of_models"])])),
        ("table", to_parts([_encoded(data_files.table_csv(table)), _encoded(data_files.table_json(table))])),
        ("tile-digests", b""),
    ]
    if task.job is not None:
        places = _places(task.column.models, names)
        codes = tiles(pairs_of(task.job, len(places), source, kept), places, len(names))
        digests = (blake2b(each, digest_size=_DIGEST_BYTES).digest() for each in codes)
        found[-1] = ("tile-digests", b"".join(digests) if codes.any() else b"")
    for kind, content in found:
        kept.put(kind, task.key, content)
    return found


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _places(models: Sequence[str], names: Sequence[str]) -> Places:
    position = {name: at for at, name in enumerate(names)}
    return np.array([position[model] for model in models], dtype=np.intp)


def _similarity(board: Board, jobs: Mapping[int, LeafJob], graph: Graph) -> str:
    """Return the content of ``similarity.js``; only pairs of which a benchmark has changed are computed."""
    places = sorted(board.leaves)
    keys = [jobs[place].key if place in jobs else "" for place in places]
    position = {each.identifier: at for at, each in enumerate(board.models)}
    values = np.full((len(places), len(board.models)), np.nan)
    for row, place in zip(values, places, strict=True):
        column = board.columns[place]
        row[[position[model] for model in column.models]] = [np.nan if v is None else v for v in column.value]
    kind, last = "similarity", content_digest(code_digest(), "similarity")
    graph.use(kind, last)
    content = graph.kept.get(kind, last)
    before = {"keys": [], "r": []} if content is None else json.loads(content)
    r, n = data_files.similarity(values, *_known(keys, before))
    rows = [[None if np.isnan(each) else each for each in row] for row in r.tolist()]
    graph.kept.put(kind, last, as_json({"keys": keys, "r": rows}))
    return script("similarity", {"nodes": places, "r": rows, "n": n.tolist()})


def _known(keys: Sequence[str], before: Mapping[str, Any]) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return the correlations that were computed before of benchmarks that are as they were, and which these are."""
    values, is_known = np.full((len(keys), len(keys)), np.nan), np.zeros((len(keys), len(keys)), dtype=bool)
    place_of = {key: place for place, key in enumerate(before["keys"]) if key}
    there = [at for at, key in enumerate(keys) if key in place_of]
    if there:
        old = [place_of[keys[at]] for at in there]
        values[np.ix_(there, there)] = np.array(before["r"], dtype=np.float64)[np.ix_(old, old)]
        is_known[np.ix_(there, there)] = True
    return values, is_known


def _copy(source: Path, target: Path) -> None:
    if not source.is_file():
        raise ConfigurationError(f"The catalogue names the picture {source}, which is not there.")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
