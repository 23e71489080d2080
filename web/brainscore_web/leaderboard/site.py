"""Build the leaderboard from records and replace the previous one, unless scores would be gone."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brainscore_core.errors import BrainScoreError, ConfigurationError, CorruptFileError
from brainscore_core.files import atomic_directory
from brainscore_core.names import folded, why_no_identifier
from brainscore_core.records.store import RUN_FILE, Run
from brainscore_web.leaderboard.columns import Column, Leaf
from brainscore_web.leaderboard.computing import ComputedBoard, changes_of, compute, history_of
from brainscore_web.leaderboard.data_files import Board, Past
from brainscore_web.leaderboard.sources import Source, pair_of
from brainscore_web.leaderboard.tree import slugs
from brainscore_web.leaderboard.workers import Workers
from brainscore_web.leaderboard.writing import write_site

if TYPE_CHECKING:
    from brainscore_web.leaderboard.catalogue import Catalogue

_MOST_LISTED = 10


class GoneError(BrainScoreError):
    """A model or score of the previous site is no longer among the records."""


@dataclass(frozen=True)
class SiteSummary:
    """Summary of a build; `problems` are unreadable records or notes of the last run.

    `n_left_out` registered benchmarks are in no average and have no record, so they are not among `n_benchmarks`.
    """

    n_models: int
    n_benchmarks: int
    n_left_out: int
    n_records: int
    problems: tuple[str, ...]


def build(
    source: Source,
    catalogue: Catalogue,
    target: Path,
    *,
    gone: Collection[str] | None = (),
    pictures: Path | None = None,
    processes: int | None = None,
) -> SiteSummary:
    """Build the site of a source, and replace an existing one as a whole.

    Parameters
    ----------
    catalogue
        Models and benchmarks that only have records are added.
    gone
        Scores of the site at `target` that may be missing now: models, benchmarks, or pairs ``'model benchmark'``;
        None: any.
    pictures
        Folder that the paths of stimuli in the catalogue start from.
    processes
        None: one per processor.

    Raises
    ------
    GoneError
        If another score is missing; nothing is replaced.
    ConfigurationError
        If `target` holds anything but a site.
    """
    target = target.resolve()  # replace the target of a link, not the link
    _check_target(target)
    paths = source.paths()
    by_benchmark, problems = _by_benchmark(paths, catalogue)
    # A benchmark in no average is listed once it has records: domains register many variants without scores.
    listed = [
        entry
        for entry in catalogue.benchmarks
        if (entry.parent and not entry.simulated) or entry.identifier in by_benchmark
    ]
    n_left_out = len(catalogue.benchmarks) - len(listed)
    models = {model for path_of in by_benchmark.values() for model in path_of}
    catalogue = dataclasses.replace(catalogue, benchmarks=tuple(listed))
    catalogue = catalogue.with_recorded(models, by_benchmark)
    catalogue.validate()
    with tempfile.TemporaryDirectory(prefix="leaderboard-") as scratch, Workers(processes, len(paths)) as workers:
        changes = changes_of(source)
        computed = compute(source, catalogue, by_benchmark, changes, Path(scratch), workers)
        shows = {entry.identifier: entry.shows for entry in catalogue.benchmarks if entry.identifier in by_benchmark}
        board = _board(source, catalogue, computed, history_of(source, changes, shows, workers))
        if gone is not None:
            _check_gone(board, target, gone)
        problems += [problem for leaf in board.leaves.values() for problem in leaf.problems]
        run = _run_of(source, problems)
        with _replacing(target) as folder:
            write_site(folder, board, computed.scratch, catalogue, workers, pictures=pictures, run=run)
    return SiteSummary(len(board.models), len(board.leaves), n_left_out, len(paths), tuple(problems))


def _by_benchmark(paths: Iterable[str], catalogue: Catalogue) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return benchmark -> model -> path of its record, and why records are left out.

    A record is left out if its name is not an identifier or looks like another name: the name in the catalogue wins,
    otherwise the first.
    """
    pairs = {path: pair_of(path) or ("", "") for path in paths}
    known = ({entry.identifier for entry in catalogue.benchmarks}, {entry.identifier for entry in catalogue.models})
    why: tuple[dict[str, str], ...] = ({}, {})
    for place, listed in enumerate(known):
        names = [*sorted(listed), *sorted({pair[place] for pair in pairs.values()} - listed)]
        first = {folded(name): name for name in reversed(names) if not why_no_identifier(name)}
        for name in names[len(listed) :]:
            other = first.get(folded(name), name)
            why[place][name] = why_no_identifier(name) or ("" if other == name else f"is too similar to {other}")
    by_benchmark: dict[str, dict[str, str]] = {}
    problems = []
    for path, (benchmark, model) in pairs.items():
        if reason := why[0].get(benchmark) or why[1].get(model):
            problems.append(f"{path} is left out: its name {reason}. Score the pair again under another name.")
        else:
            by_benchmark.setdefault(benchmark, {})[model] = path
    return by_benchmark, problems


def _run_of(source: Source, problems: list[str]) -> Run | None:
    """Return the last run; None without notes, or if they are unreadable, which is a problem."""
    content = source.run()
    try:
        return None if content is None else Run.from_json(content)
    except CorruptFileError as error:
        problems.append(f"{RUN_FILE}: {error}")
        return None


def _board(source: Source, catalogue: Catalogue, computed: ComputedBoard, past: Mapping[str, Past]) -> Board:
    nodes = computed.place(catalogue)
    leaves = {place: computed.leaves.get(node.identifier, _NO_LEAF) for place, node in enumerate(nodes) if node.leaf}
    models = tuple(sorted(catalogue.models, key=lambda entry: entry.identifier))
    slug_of = slugs(entry.identifier for entry in models)
    created = [time for leaf in leaves.values() for time in leaf.details["created"] if time is not None]
    return Board(
        models,
        tuple(slug_of[entry.identifier] for entry in models),
        nodes,
        [computed.columns.get(node.identifier, _NO_COLUMN) for node in nodes],
        leaves,
        source.revision,
        max(created, default=None),
        source.address,
        {place: past[nodes[place].identifier] for place in leaves if nodes[place].identifier in past},
        catalogue.notice,
        computed.layers,
        {
            place: computed.averages[node.identifier]
            for place, node in enumerate(nodes)
            if node.identifier in computed.averages
        },
    )


_NO_LEAF = Leaf({"created": [], "version": []}, [], {})
_NO_COLUMN = Column((), [], [], [], "", "", [], [], [], [], [], [])


def _check_target(target: Path) -> None:
    if target.is_dir() and any(target.iterdir()) and not (target / "data/board.js").is_file():
        raise ConfigurationError(
            f"{target} is not the site of a leaderboard, so it is not replaced. Name another folder."
        )
    if target.exists() and not target.is_dir():
        raise ConfigurationError(f"{target} is a file; expected a folder for the site.")
    # First, since the site is moved into the folder above in the end.
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=target.parent).close()
    except OSError as error:
        raise ConfigurationError(
            f"{target.parent.resolve()} is not writable ({error.strerror}). Name another folder for the site."
        ) from None


@contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    """Yield an empty folder and replace the target with it at the end."""
    fresh = target.with_name(f".{target.name}.new.{os.getpid()}")
    with atomic_directory(fresh) as temporary:
        yield temporary
    try:
        if target.exists():
            previous = target.with_name(f".{target.name}.old.{os.getpid()}")
            target.rename(previous)
            fresh.rename(target)
            shutil.rmtree(previous)
        else:
            fresh.rename(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _check_gone(board: Board, previous: Path, allowed: Collection[str]) -> None:
    try:
        old, status = (read_data(previous / f"data/{name}.js") for name in ("board", "status"))
    except OSError:
        return
    benchmarks = [name for name, is_leaf in zip(old["nodes"]["id"], old["nodes"]["leaf"], strict=True) if is_leaf]
    models = {entry.identifier for entry in board.models}
    pairs = {
        (board.nodes[place].identifier, model)
        for place in board.leaves
        for model, code in zip(board.columns[place].models, board.columns[place].code, strict=True)
        if code in "sv"
    }
    gone = [f"the model {model}" for model in old["models"]["id"] if model not in models and model not in allowed]
    for benchmark, codes in zip(benchmarks, status["codes"], strict=True):
        for model, code in zip(old["models"]["id"], codes, strict=True):
            if (
                code in "sv"
                and (benchmark, model) not in pairs
                and not {model, benchmark, f"{model} {benchmark}"} & set(allowed)
            ):
                gone.append(f"the score of {model} on {benchmark}")
    if gone:
        more = f" and {len(gone) - _MOST_LISTED} more" if len(gone) > _MOST_LISTED else ""
        raise GoneError(
            f"This build would remove from the site at {previous}: {', '.join(gone[:_MOST_LISTED])}{more}. If this is "
            "intended, list models, benchmarks or pairs ('MODEL BENCHMARK'), one per line, in a file (--gone FILE), "
            "or build into another folder (--to FOLDER)."
        )


def read_data(file: Path) -> dict[str, Any]:
    """Return the JSON of a data file."""
    content = file.read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(content[content.index(", ") + 2 : content.rindex(");")])
    return data
