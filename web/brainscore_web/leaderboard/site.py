"""Build the leaderboard from records, and put it in the place of the one that was there, unless scores are gone."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brainscore_core.errors import BrainScoreError, ConfigurationError, CorruptFileError
from brainscore_core.files import atomic_directory
from brainscore_core.identity.digest import content_digest
from brainscore_core.records.run import RUN_FILE, Run
from brainscore_web.leaderboard.board import Column, Leaf
from brainscore_web.leaderboard.data_files import Board, Layers
from brainscore_web.leaderboard.graph import Graph, Job, LeafJob, NodeJob, as_json, code_digest, column_from
from brainscore_web.leaderboard.history import past_of
from brainscore_web.leaderboard.kept import Kept
from brainscore_web.leaderboard.sources import Source, pair_of
from brainscore_web.leaderboard.tree import Node, slugs, tree_of
from brainscore_web.leaderboard.writing import write_site

if TYPE_CHECKING:
    from brainscore_web.leaderboard.catalogue import Catalogue

__all__ = ["Built", "GoneError", "build"]

_MOST_TOLD = 10


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
        Records, and what is told of the last run, that cannot be read.
    """

    n_models: int
    n_benchmarks: int
    n_records: int
    n_computed: int
    problems: tuple[str, ...]


# -- the build ---------------------------------------------------------------------------------------------------------


def build(
    source: Source,
    catalogue: Catalogue,
    target: Path,
    *,
    kept: Path | None = None,
    gone: Collection[str] | None = (),
    pictures: Path | None = None,
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
    processes : int, optional
        How many compute at a time; None: one for each processor.

    Raises
    ------
    GoneError
        See `gone`; nothing is replaced.
    ConfigurationError
        If `target` is something else than a site.
    """
    target = target.resolve()  # what a link leads to is replaced, and the folder one is in has a name
    _check_target(target)
    with ExitStack() as held:
        folder = kept or Path(held.enter_context(tempfile.TemporaryDirectory(prefix="leaderboard-")))
        graph = Graph(source, Kept(folder), processes or os.cpu_count() or 1)
        board, jobs, problems, n_records = _board(source, catalogue, graph)
        if gone is not None:
            _check_gone(board, target, gone)
        with _replacing(target) as temporary:
            whole = catalogue.with_recorded((each.identifier for each in board.models), _benchmarks_of(board))
            run = _run_of(source, problems)
            write_site(temporary, board, jobs, graph, whole, pictures=pictures, run=run)
        graph.kept.sweep(graph.used)
    return Built(len(board.models), len(board.leaves), n_records, graph.n_computed, tuple(problems))


def _run_of(source: Source, problems: list[str]) -> Run | None:
    """Return what the last run has done; None if nothing is told, or it cannot be read, which is a problem."""
    content = source.run()
    try:
        return None if content is None else Run.from_json(content)
    except CorruptFileError as error:
        problems.append(f"{RUN_FILE}: {error}")
        return None


def _board(source: Source, catalogue: Catalogue, graph: Graph) -> tuple[Board, dict[int, Job], list[str], int]:
    """Compute the board; return it with the job of each node that has records, problems, and how many records."""
    notes_key = content_digest("notes", str(getattr(source, "folder", "")))
    noted = graph.kept.get("notes", notes_key)
    before = None if noted is None else json.loads(noted)
    digests, notes = source.digests(before)
    graph.use("notes", notes_key)
    if notes != before:
        graph.kept.put("notes", notes_key, as_json(notes))
    by_benchmark: dict[str, dict[str, str]] = {}
    for path in sorted(digests):
        benchmark, model = pair_of(path) or ("", "")
        by_benchmark.setdefault(benchmark, {})[model] = path
    # What is in no average is shown once it has records: domains register many variants that nobody has scored.
    shown = [
        each for each in catalogue.benchmarks if (each.parent and not each.simulated) or each.identifier in by_benchmark
    ]
    catalogue = dataclasses.replace(catalogue, benchmarks=tuple(shown))
    catalogue = catalogue.with_recorded((each for paths in by_benchmark.values() for each in paths), by_benchmark)
    catalogue.validate()

    job_of = {}
    for entry in catalogue.benchmarks:
        paths = by_benchmark.get(entry.identifier, {})
        if paths:
            state = {model: (path, digests[path]) for model, path in paths.items()}
            # As JSON, which takes a tenth of the time that the digest of a mapping does.
            key = content_digest(code_digest(), "leaf", entry.identifier, entry.shows, as_json(sorted(state.items())))
            job_of[entry.identifier] = LeafJob(key, entry.shows, state)
    told = dict(zip(job_of, graph.ensure(list(job_of.values())), strict=True))
    simulated = [name for name, each in told.items() if each["facts"]["simulated"]]
    scored = [name for name, each in told.items() if "s" in each["column"]["code"]]
    nodes = tree_of(catalogue, simulated=simulated, scored=scored)
    jobs: dict[int, Job] = {at: job_of[node.identifier] for at, node in enumerate(nodes) if node.identifier in job_of}
    columns = [column_from(told[node.identifier]["column"]) if node.identifier in told else _NONE for node in nodes]
    for places in _levels(nodes):
        for place in places:
            parts = tuple(jobs[below] for below, node in enumerate(nodes) if node.parent == place and node.counts)
            jobs[place] = NodeJob(content_digest(code_digest(), "node", [part.key for part in parts]), parts)
        for place, each in zip(places, graph.ensure([jobs[place] for place in places]), strict=True):
            columns[place] = column_from(each["column"])

    leaves, layers = _leaves(nodes, columns, told)
    models = tuple(sorted(catalogue.models, key=lambda entry: entry.identifier))
    named = slugs(entry.identifier for entry in models)
    past = past_of(source, {name: job.shows for name, job in job_of.items()}, graph)
    created = [when for leaf in leaves.values() for when in leaf.details.get("created", ()) if when is not None]
    board = Board(
        models,
        tuple(named[entry.identifier] for entry in models),
        nodes,
        columns,
        leaves,
        source.revision,
        max(created, default=None),
        {place: past[nodes[place].identifier] for place in leaves if nodes[place].identifier in past},
        catalogue.notice,
        layers,
    )
    return board, jobs, [problem for leaf in leaves.values() for problem in leaf.problems], len(digests)


def _leaves(
    nodes: Sequence[Node], columns: Sequence[Column], told: Mapping[str, Any]
) -> tuple[dict[int, Leaf], Layers]:
    """Return what is known of each benchmark, and of the layers of each model."""
    leaves = {}
    layers: Layers = {}
    for place, node in enumerate(nodes):
        if node.leaf:
            about = told.get(node.identifier, _UNKNOWN)
            made = {name: about[name] for name in ("created", "version")}
            leaves[place] = Leaf(made, [], about["facts"], about["problems"])
            for model, of_regions in zip(columns[place].models, about["layers"], strict=True):
                for region, entry in (of_regions or {}).items():
                    known = layers.setdefault(model, {}).setdefault(region, {})
                    known.setdefault(entry["layer"], {**entry, "n": 0})["n"] += 1
    return leaves, layers


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
    # Before the work: the folder above the site is made and written to in the end.
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=target.parent).close()
    except OSError as error:
        raise ConfigurationError(
            f"Nothing can be written to {target.parent.resolve()} ({error.strerror}). Name another folder for the site."
        ) from None


def _benchmarks_of(board: Board) -> list[str]:
    return [board.nodes[place].identifier for place in board.leaves]


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
        for place in board.leaves
        for model, code in zip(board.columns[place].models, board.columns[place].code, strict=True)
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
            "is meant, name models, benchmarks or pairs ('MODEL BENCHMARK'), one a line, in a file (--gone FILE), or "
            "build into another folder (--to FOLDER)."
        )


def read_data(file: Path) -> dict[str, Any]:
    """Return the JSON of a data file."""
    content = file.read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(content[content.index(", ") + 2 : content.rindex(");")])
    return found
