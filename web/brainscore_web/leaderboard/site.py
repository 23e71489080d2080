"""Build the leaderboard from records: compute its columns, write its data files and pages, and replace the site as one.

What is computed is a graph: benchmarks from their records, nodes from those below them. Each has a key, the digest of
everything that it is made from, under which it is kept (`brainscore_web.leaderboard.kept`); a record that is new
changes the keys of its benchmark and of what stands above it.
"""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import brainscore_core
from brainscore_core.caching import atomic_directory, content_digest
from brainscore_core.errors import BrainScoreError, ConfigurationError, CorruptFileError
from brainscore_core.scoring import provenance
from brainscore_core.scoring.records import ScoreRecord
from brainscore_web.leaderboard import data_files
from brainscore_web.leaderboard.board import Column, Estimates, Leaf, average_of, leaf_of
from brainscore_web.leaderboard.data_files import Board
from brainscore_web.leaderboard.kept import Kept, from_arrays, to_arrays
from brainscore_web.leaderboard.pages_of import write_pages
from brainscore_web.leaderboard.sources import Source, pair_of
from brainscore_web.leaderboard.tree import Node, slugs, top_of, tree_of

if TYPE_CHECKING:
    from brainscore_web.leaderboard.catalogue import Catalogue

__all__ = ["Built", "GoneError", "build"]

_HERE = Path(__file__).parent
_MOST_TOLD = 10
_FEW_RECORDS = 5_000
"""Up to so many are sooner computed than a second process has started."""


class GoneError(BrainScoreError):
    """A model or a score that the site had is not among the records any more, and nobody said so."""


@dataclass(frozen=True)
class Built:
    """What a build has made.

    Attributes
    ----------
    n_models, n_benchmarks, n_records : int
    n_computed : int
        How many nodes were computed; the others were kept.
    problems : tuple of str
        Records that cannot be read.
    """

    n_models: int
    n_benchmarks: int
    n_records: int
    n_computed: int
    problems: tuple[str, ...]


# -- the graph ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _LeafJob:
    """A benchmark, to be computed from the records at some paths (model -> path)."""

    key: str
    shows: str
    paths: dict[str, str]

    @property
    def n_records(self) -> int:
        """How many records it takes to compute this."""
        return len(self.paths)


@dataclass(frozen=True)
class _NodeJob:
    """A node, to be computed from those below it that count."""

    key: str
    parts: tuple[_LeafJob | _NodeJob, ...]

    @property
    def n_records(self) -> int:
        """How many records it takes to compute this, if nothing is kept."""
        return sum(part.n_records for part in self.parts)


_Job = _LeafJob | _NodeJob


@cache
def _code() -> str:
    """Return the digest of the code that computes, and of what it computes with."""
    core = Path(brainscore_core.__file__).parent
    sources = provenance.sources_digest(
        [_HERE, core / "scoring", core / "metrics"], [_HERE / "pages", _HERE / "static"]
    )
    known = provenance.versions()
    return content_digest(sources, {name: known.get(name) for name in ("python", "numpy", "scipy")})


def _computed(job: _Job, source: Source, kept: Kept) -> tuple[Column, Estimates]:
    """Return column and estimates of a job, kept or computed; entries that are damaged are computed again."""
    told, arrays = kept.get("column", job.key), kept.get("estimates", job.key)
    if told is not None and arrays is not None:
        return _column_from(json.loads(told)["column"]), _estimates_from(arrays)
    if isinstance(job, _LeafJob):
        problems: list[str] = []
        leaf, estimates = leaf_of(_records(job, source, problems), shows=job.shows)
        column = leaf.column
        of_leaf: dict[str, Any] = {
            "layers": leaf.layers,
            "facts": leaf.facts,
            "problems": problems,
            "created": leaf.details["created"],
            "version": leaf.details["version"],
        }
        kept.put("details", job.key, _json(leaf.details))
    else:
        column, estimates = average_of([_computed(part, source, kept) for part in job.parts])
        of_leaf = {}
    arrays = _estimates_to(estimates)
    kept.put("estimates", job.key, arrays)
    kept.put("column", job.key, _json({"column": dataclasses.asdict(column), **of_leaf}))
    return column, _estimates_from(arrays)  # as the next build will read it


def _records(job: _LeafJob, source: Source, problems: list[str]) -> dict[str, ScoreRecord | None]:
    found: dict[str, ScoreRecord | None] = {}
    for (model, path), content in zip(job.paths.items(), source.read(job.paths.values()), strict=True):
        found[model] = None
        try:
            record = ScoreRecord.from_json(content, path)
        except CorruptFileError as error:
            problems.append(str(error))
            continue
        if (record.benchmark, record.model) == pair_of(path):
            found[model] = record
        else:
            problems.append(f"{path} holds the record of another pair.")
    return found


def _json(content: object) -> bytes:
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def _column_from(content: Mapping[str, Any]) -> Column:
    return Column(**{**content, "models": tuple(content["models"])})


def _estimates_to(estimates: Estimates) -> bytes:
    """Return estimates as bytes; buckets as records keep them, rounded to 1/127 of the largest of their kind."""
    arrays = dict(vars(estimates))
    buckets = arrays.pop("buckets")
    scale = np.abs(buckets).max(axis=2, initial=0.0) / 127
    divisor = np.where(scale > 0, scale, 1.0)[:, :, None]
    exact = np.rint(buckets / divisor)
    if np.allclose(exact * divisor, buckets, rtol=0, atol=1e-9 * float(np.abs(buckets).max(initial=0.0))):
        arrays |= {"buckets": exact.astype(np.int8), "scale": scale}
    else:  # an average is no multiple of anything
        arrays |= {"buckets": buckets.astype(np.float32), "scale": np.ones_like(scale)}
    return to_arrays(arrays)


def _estimates_from(content: bytes) -> Estimates:
    arrays = from_arrays(content)
    scale = arrays.pop("scale")
    arrays["buckets"] = arrays["buckets"].astype(np.float64) * scale[:, :, None]
    return Estimates(**arrays)


def _compute(task: tuple[_Job, Source, Kept]) -> None:
    _computed(*task)


class _Pool:
    """Compute jobs that are not kept, in several processes."""

    def __init__(self, source: Source, kept: Kept, processes: int) -> None:
        self.source, self.kept, self.processes = source, kept, processes
        self.used: dict[str, set[str]] = {}
        self.n_computed = 0

    def ensure(self, jobs: Sequence[_Job]) -> list[dict[str, Any]]:
        """Return what is told of each job's column."""
        for job in jobs:
            self.use("column", job.key)
            self.use("estimates", job.key)
        found = [self.kept.get("column", job.key) for job in jobs]
        missing = [job for job, content in zip(jobs, found, strict=True) if content is None]
        self.n_computed += len(missing)
        tasks = [(job, self.source, self.kept) for job in missing]
        many = sum(job.n_records for job in missing) > _FEW_RECORDS
        if many and len(tasks) > 1 and self.processes > 1:
            context = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")
            with ProcessPoolExecutor(min(self.processes, len(tasks)), mp_context=context) as pool:
                list(pool.map(_compute, tasks))
        else:
            for task in tasks:
                _compute(task)
        told = []
        for job, content in zip(jobs, found, strict=True):
            content = content if content is not None else self.kept.get("column", job.key)
            if content is None:
                raise ConfigurationError(f"{self.kept.folder} cannot be written; name another folder: --kept FOLDER")
            told.append(json.loads(content))
        return told

    def use(self, kind: str, key: str) -> None:
        """Note that an entry is of this build."""
        self.used.setdefault(kind, set()).add(key)

    def remembered(self, kind: str, key: str, make: Callable[[], bytes]) -> bytes:
        """Return an entry, made if it is not kept."""
        self.use(kind, key)
        content = self.kept.get(kind, key)
        if content is None:
            content = make()
            self.kept.put(kind, key, content)
        return content


# -- the build ---------------------------------------------------------------------------------------------------------


def build(
    source: Source,
    catalogue: Catalogue,
    target: Path,
    *,
    kept: Path | None = None,
    gone: Collection[str] | None = (),
    pictures: Path | None = None,
    run: Mapping[str, object] | None = None,
    processes: int | None = None,
) -> Built:
    """Build the site of all records of a source.

    Parameters
    ----------
    catalogue : Catalogue
        What is known besides; models and benchmarks that only have records are added.
    target : Path
        Folder of the site. One that is there is replaced as a whole, if it is a site.
    kept : Path, optional
        Where to keep what was computed for the next build; None: nothing is.
    gone : collection of str or None
        Which scores may be gone that the site at `target` has: models, benchmarks, or pairs ``'model benchmark'``;
        None: any.
    pictures : Path, optional
        Folder that the paths of stimuli in the catalogue start from.
    run : mapping, optional
        ``started``, ``finished`` and ``trigger`` of what has scored last.
    processes : int, optional
        How many compute at a time; None: one for each processor.

    Raises
    ------
    GoneError
        See `gone`; nothing is replaced.
    ConfigurationError
        If `target` is something else than a site.
    """
    _check_target(target)
    with ExitStack() as held:
        folder = kept or Path(held.enter_context(tempfile.TemporaryDirectory(prefix="leaderboard-")))
        pool = _Pool(source, Kept(folder), processes or os.cpu_count() or 1)
        board, jobs, problems, n_records = _board(source, catalogue, pool)
        if gone is not None:
            _check_gone(board, target, gone)
        with _replacing(target) as temporary:
            _write(temporary, board, jobs, pool, pictures, run or {}, catalogue_of(board, catalogue))
        pool.kept.sweep(pool.used)
    return Built(len(board.models), len(board.leaves), n_records, pool.n_computed, tuple(problems))


def _board(source: Source, catalogue: Catalogue, pool: _Pool) -> tuple[Board, dict[int, _LeafJob], list[str], int]:
    """Compute the board; return it with the job of each benchmark that has records, problems, and how many records."""
    notes_key = content_digest("notes", str(getattr(source, "folder", "")))
    noted = pool.kept.get("notes", notes_key)
    digests, notes = source.digests(None if noted is None else json.loads(noted))
    pool.use("notes", notes_key)
    pool.kept.put("notes", notes_key, _json(notes))
    by_benchmark: dict[str, dict[str, str]] = {}
    for path in sorted(digests):
        benchmark, model = pair_of(path) or ("", "")
        by_benchmark.setdefault(benchmark, {})[model] = path
    catalogue = catalogue.with_recorded((each for paths in by_benchmark.values() for each in paths), by_benchmark)
    catalogue.validate()

    job_of = {}
    for entry in catalogue.benchmarks:
        paths = by_benchmark.get(entry.identifier, {})
        if paths:
            state = {model: digests[path] for model, path in paths.items()}
            key = content_digest(_code(), "leaf", entry.identifier, entry.shows, state)
            job_of[entry.identifier] = _LeafJob(key, entry.shows, paths)
    told = dict(zip(job_of, pool.ensure(list(job_of.values())), strict=True))
    simulated = [name for name, each in told.items() if each["facts"]["simulated"]]
    scored = [name for name, each in told.items() if "s" in each["column"]["code"]]
    nodes = tree_of(catalogue, simulated=simulated, scored=scored)
    jobs: dict[int, _Job] = {at: job_of[node.identifier] for at, node in enumerate(nodes) if node.identifier in job_of}
    columns = [_column_from(told[node.identifier]["column"]) if node.identifier in told else _NONE for node in nodes]
    for places in _levels(nodes):
        for place in places:
            parts = tuple(jobs[below] for below, node in enumerate(nodes) if node.parent == place and node.counts)
            jobs[place] = _NodeJob(content_digest(_code(), "node", [part.key for part in parts]), parts)
        for place, each in zip(places, pool.ensure([jobs[place] for place in places]), strict=True):
            columns[place] = _column_from(each["column"])

    leaves = {}
    for place, node in enumerate(nodes):
        if node.leaf:
            about = told.get(node.identifier, _UNKNOWN)
            made = {name: about[name] for name in ("created", "version")}
            leaves[place] = Leaf(columns[place], made, about["layers"], about["facts"], about["problems"])
    models = tuple(sorted(catalogue.models, key=lambda entry: entry.identifier))
    named = slugs(entry.identifier for entry in models)
    created = [when for leaf in leaves.values() for when in leaf.details.get("created", ()) if when is not None]
    board = Board(
        models,
        tuple(named[entry.identifier] for entry in models),
        nodes,
        columns,
        leaves,
        source.revision,
        max(created, default=None),
    )
    of_leaves = {place: job_of[nodes[place].identifier] for place in leaves if nodes[place].identifier in job_of}
    return board, of_leaves, [problem for leaf in leaves.values() for problem in leaf.problems], len(digests)


_UNKNOWN: dict[str, Any] = {"created": [], "version": [], "layers": [], "facts": {}, "problems": []}
_NONE = Column((), [], [], [], "", [], [], [], [], [], [])


def _levels(nodes: Sequence[Node]) -> Iterator[list[int]]:
    """Yield the places of inner nodes that count, those below first."""
    deepest = max((node.depth for node in nodes), default=0)
    for depth in range(deepest, -1, -1):
        yield [at for at, node in enumerate(nodes) if node.depth == depth and not node.leaf and node.counts]


def _check_target(target: Path) -> None:
    if target.is_dir() and any(target.iterdir()) and not (target / "data/board.js").is_file():
        raise ConfigurationError(f"{target} is no site of a leaderboard: it is not replaced. Name another folder.")
    if target.exists() and not target.is_dir():
        raise ConfigurationError(f"{target} is a file; name a folder for the site.")


@contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    """Give an empty folder and put it in the place of the target when all is written."""
    fresh = target.with_name(f".{target.name}.new.{os.getpid()}")
    with atomic_directory(fresh) as temporary:
        yield temporary
    try:
        if target.exists():
            before = target.with_name(f".{target.name}.old.{os.getpid()}")
            target.rename(before)
            fresh.rename(target)
            shutil.rmtree(before)
        else:
            fresh.rename(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


# -- what was there ----------------------------------------------------------------------------------------------------


def _check_gone(board: Board, before: Path, allowed: Collection[str]) -> None:
    """Refuse a board that lacks a model or a score that the site has."""
    try:
        old, status = (read_data(before / f"data/{name}.js") for name in ("board", "status"))
    except OSError:
        return
    of_old = old["nodes"]
    benchmarks = [name for name, is_leaf in zip(of_old["id"], of_old["leaf"], strict=True) if is_leaf]
    models = {each.identifier for each in board.models}
    here = {
        (board.nodes[place].identifier, model)
        for place, leaf in board.leaves.items()
        for model, code in zip(leaf.column.models, leaf.column.code, strict=True)
        if code == "s"
    }
    gone = [f"the model {model}" for model in old["models"]["id"] if model not in models and model not in allowed]
    for benchmark, codes in zip(benchmarks, status["codes"], strict=True):
        for model, code in zip(old["models"]["id"], codes, strict=True):
            if (
                code == "s"
                and (benchmark, model) not in here
                and not {model, benchmark, f"{model} {benchmark}"} & set(allowed)
            ):
                gone.append(f"the score of {model} on {benchmark}")
    if gone:
        more = f" and {len(gone) - _MOST_TOLD} more" if len(gone) > _MOST_TOLD else ""
        raise GoneError(
            f"{len(gone)} that the site at {before} shows would be gone: {', '.join(gone[:_MOST_TOLD])}{more}. If that "
            "is meant, name models, benchmarks or pairs ('MODEL BENCHMARK'), one a line, in a file: --gone FILE"
        )


def read_data(file: Path) -> dict[str, Any]:
    """Return the JSON of a data file."""
    content = file.read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(content[content.index(", ") + 2 : content.rindex(");")])
    return found


# -- files -------------------------------------------------------------------------------------------------------------


def catalogue_of(board: Board, catalogue: Catalogue) -> Catalogue:
    """Return the catalogue with entries of all models and benchmarks of a board."""
    leaves = (board.nodes[place].identifier for place in board.leaves)
    return catalogue.with_recorded((each.identifier for each in board.models), leaves)


def _write(
    folder: Path,
    board: Board,
    jobs: Mapping[int, _LeafJob],
    pool: _Pool,
    pictures: Path | None,
    run: Mapping[str, object],
    catalogue: Catalogue,
) -> None:
    names = [each.identifier for each in board.models]
    order = content_digest(_code(), names)

    def write(path: str, content: str | bytes) -> None:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode("utf-8", "replace") if isinstance(content, str) else content)

    write("data/board.js", data_files.board_file(board))
    write("data/status.js", data_files.status_file(board, run))
    write("data/similarity.js", _similarity(board, jobs, pool))
    top = set(top_of(board.nodes))
    for place, node in enumerate(board.nodes):
        if place not in top:
            write(f"data/columns/{node.slug}.js", data_files.column_file(board, place))
        if node.leaf:
            write(f"data/detail/{node.slug}.js", _detail(board, place, jobs.get(place), pool, order))
            write(f"data/benchmarks/{node.slug}.js", data_files.benchmark_file(board, place, catalogue.benchmark))
    for place, slug in enumerate(board.slugs):
        write(f"data/models/{slug}.js", data_files.model_file(board, place))
    for name, content in _downloads(board, jobs, pool, order):
        write(f"downloads/{name}", content)
    write_pages(write, board, catalogue)
    for file in sorted((_HERE / "static").glob("*.*")):
        write(f"static/{file.name}", file.read_bytes())
    if pictures is not None:
        for picture in sorted({each for entry in catalogue.benchmarks for each in entry.stimuli}):
            _copy(pictures / picture, folder / "stimuli" / picture)
    write(".nojekyll", "")  # GitHub's pages take files as they are then


def _copy(source: Path, target: Path) -> None:
    if not source.is_file():
        raise ConfigurationError(f"The catalogue names the picture {source}, which is not there.")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _detail(board: Board, place: int, job: _LeafJob | None, pool: _Pool, order: str) -> bytes:
    names = [each.identifier for each in board.models]
    slug = board.nodes[place].slug
    if job is None:
        return data_files.detail_file(slug, names, (), {}).encode()

    def make() -> bytes:
        pool.use("details", job.key)
        content = pool.kept.get("details", job.key)
        if content is None:  # damaged, or not written
            leaf, _ = leaf_of(_records(job, pool.source, []), shows=job.shows)
            content = _json(leaf.details)
        return data_files.detail_file(slug, names, board.columns[place].models, json.loads(content)).encode()

    pool.use("details", job.key)
    return pool.remembered("detail-files", content_digest(job.key, order, slug), make)


def _similarity(board: Board, jobs: Mapping[int, _LeafJob], pool: _Pool) -> bytes:
    places = sorted(board.leaves)

    def make() -> bytes:
        position = {each.identifier: at for at, each in enumerate(board.models)}
        values = np.full((len(places), len(board.models)), np.nan)
        for row, place in zip(values, places, strict=True):
            column = board.columns[place]
            row[[position[model] for model in column.models]] = [np.nan if v is None else v for v in column.value]
        r, n = data_files.similarity(values)
        rows = [[None if np.isnan(each) else each for each in row] for row in r.tolist()]
        return data_files.script("similarity", {"nodes": places, "r": rows, "n": n.tolist()}).encode()

    keys = [jobs[place].key if place in jobs else "" for place in places]
    return pool.remembered("similarity", content_digest(_code(), places, keys), make)


def _downloads(
    board: Board, jobs: Mapping[int, _LeafJob], pool: _Pool, order: str
) -> Iterator[tuple[str, str | bytes]]:
    names = [each.identifier for each in board.models]
    csv_parts, json_parts = [data_files.table_csv([data_files.TABLE])], []
    for place in sorted(board.leaves):
        node, column = board.nodes[place], board.columns[place]

        def make(node: Node = node, column: Column = column) -> bytes:
            rows = data_files.table_rows(node, column, names)
            return _json([data_files.table_csv(rows), data_files.table_json(rows)])

        key = jobs[place].key if place in jobs else ""
        parts = json.loads(pool.remembered("rows", content_digest(key, order, node.identifier, node.simulated), make))
        csv_parts.append(parts[0])
        json_parts.append(parts[1])
    yield "scores.csv", "".join(csv_parts)
    yield "scores.json", "[\n" + ",\n".join(json_parts) + "\n]\n"
    parquet = data_files.table_parquet(board)
    if parquet is not None:
        yield "scores.parquet", parquet
