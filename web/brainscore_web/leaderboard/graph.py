"""Compute benchmarks from their records and nodes from those below them, each only if it is not kept.

Each has a key, the digest of everything that it is made from, under which it is kept
(`brainscore_web.leaderboard.kept`). A record that is new changes the keys of its benchmark and of what stands above it.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import brainscore_core
from brainscore_core.errors import ConfigurationError, CorruptFileError
from brainscore_core.identity import software, sources
from brainscore_core.identity.digest import content_digest
from brainscore_core.records.record import ScoreRecord
from brainscore_web.leaderboard.board import Column, Computed, Estimates, average_of, leaf_of
from brainscore_web.leaderboard.kept import Kept, from_arrays, to_arrays
from brainscore_web.leaderboard.pairs import Codes, encode
from brainscore_web.leaderboard.sources import Source, pair_of

__all__ = ["Graph", "Job", "LeafJob", "NodeJob", "as_json", "code_digest", "column_from", "details_of", "pairs_of"]

_HERE = Path(__file__).parent
_FEW_RECORDS = 5_000
"""Up to so many are sooner computed than a second process has started."""

_AHEAD = 3
"""So many tasks for each process wait for it, so that it never waits for one."""

Task = TypeVar("Task")


@dataclass(frozen=True)
class LeafJob:
    """A benchmark, to be computed from its records: model -> path and digest."""

    key: str
    shows: str
    records: dict[str, tuple[str, str]]

    @property
    def n_records(self) -> int:
        """How many records it takes to compute this."""
        return len(self.records)


@dataclass(frozen=True)
class NodeJob:
    """A node, to be computed from those below it that count."""

    key: str
    parts: tuple[LeafJob | NodeJob, ...]

    @property
    def n_records(self) -> int:
        """How many records it takes to compute this, if nothing is kept."""
        return sum(part.n_records for part in self.parts)


Job = LeafJob | NodeJob


@cache
def code_digest() -> str:
    """Return the digest of the code that computes, and of what it computes with."""
    core = Path(brainscore_core.__file__).parent
    code = sources.sources_digest([_HERE, core / "scoring", core / "metrics"], [_HERE / "pages", _HERE / "static"])
    known = software.versions()
    return content_digest(code, {name: known.get(name) for name in ("python", "numpy", "scipy")})


def _computed(job: Job, source: Source, kept: Kept) -> tuple[Column, Estimates]:
    """Return column and estimates of a job, kept or computed; entries that are damaged are computed again."""
    told, arrays = kept.get("column", job.key), kept.get("estimates", job.key)
    if told is not None and arrays is not None:
        return column_from(json.loads(told)["column"]), _estimates_from(arrays)
    of_leaf: dict[str, Any] = {}
    if isinstance(job, LeafJob):
        problems: list[str] = []
        computed = leaf_of(_records(job, source, problems), shows=job.shows)
        if computed.leaf is not None:
            of_leaf = {"layers": computed.leaf.layers, "facts": computed.leaf.facts, "problems": problems}
            of_leaf |= {name: computed.leaf.details[name] for name in ("created", "version")}
            kept.put("details", job.key, as_json(computed.leaf.details))
    else:
        computed = _average(job, source, kept)
    kept.put("pairs", job.key, encode(computed.joint).tobytes())
    arrays = _estimates_to(computed.estimates)
    kept.put("estimates", job.key, arrays)
    kept.put("column", job.key, as_json({"column": vars(computed.column), **of_leaf}))
    return computed.column, _estimates_from(arrays)  # as the next build will read it


def _average(job: NodeJob, source: Source, kept: Kept) -> Computed:
    columns = [_column(part, source, kept) for part in job.parts]
    return average_of(columns, (_computed(part, source, kept)[1] for part in job.parts))


def _column(job: Job, source: Source, kept: Kept) -> Column:
    told = kept.get("column", job.key)
    return _computed(job, source, kept)[0] if told is None else column_from(json.loads(told)["column"])


def _records(job: LeafJob, source: Source, problems: list[str]) -> dict[str, ScoreRecord | None]:
    found: dict[str, ScoreRecord | None] = {}
    contents = source.read(path for path, _ in job.records.values())
    for (model, (path, digest)), content in zip(job.records.items(), contents, strict=True):
        if not source.is_of(content, digest):  # it would be kept under a key that is not its own
            raise ConfigurationError(f"{path} was changed while it was read. Build again.")
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


def details_of(job: LeafJob, source: Source, kept: Kept) -> dict[str, list[Any]]:
    """Return the details of a benchmark, kept or computed."""
    content = kept.get("details", job.key)
    if content is not None:
        return dict(json.loads(content))
    leaf = leaf_of(_records(job, source, []), shows=job.shows).leaf
    return {} if leaf is None else leaf.details


def pairs_of(job: Job, n_models: int, source: Source, kept: Kept) -> Codes:
    """Return the codes of all pairs of a job's models, kept or computed, shape (n_models, n_models)."""
    content = kept.get("pairs", job.key)
    if content is not None and len(content) == 2 * n_models**2:
        return np.frombuffer(content, np.uint16).reshape(n_models, n_models)
    if isinstance(job, LeafJob):
        computed = leaf_of(_records(job, source, []), shows=job.shows)
    else:
        computed = _average(job, source, kept)
    codes = encode(computed.joint)
    kept.put("pairs", job.key, codes.tobytes())
    return codes


def as_json(content: object) -> bytes:
    """Return JSON as bytes."""
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def column_from(content: Mapping[str, Any]) -> Column:
    """Read the JSON of a column."""
    return Column(**{**content, "models": tuple(content["models"])})


def _estimates_to(estimates: Estimates) -> bytes:
    """Return estimates as bytes; buckets as records keep them, rounded to 1/127 of the largest of their kind."""
    arrays = dict(vars(estimates))
    buckets = arrays.pop("buckets")
    scale = np.maximum(buckets.max(axis=2, initial=0.0), -buckets.min(axis=2, initial=0.0)) / 127
    divisor = np.where(scale > 0, scale, 1.0)[:, :, None]
    exact = buckets / divisor
    np.rint(exact, out=exact)
    steps = exact.astype(np.int8)
    exact *= divisor
    exact -= buckets
    if np.abs(exact, out=exact).max(initial=0.0) <= 1e-9 * 127 * float(scale.max(initial=0.0)):
        arrays |= {"buckets": steps, "scale": scale}
    else:  # an average is no multiple of anything
        arrays |= {"buckets": buckets.astype(np.float32), "scale": np.ones_like(scale)}
    return to_arrays(arrays)


def _estimates_from(content: bytes) -> Estimates:
    arrays = from_arrays(content)
    scale = arrays.pop("scale")
    arrays["buckets"] = arrays["buckets"] * scale[:, :, None]
    return Estimates(**arrays)


def _compute(task: tuple[Job, Source, Kept]) -> None:
    _computed(*task)


class Graph:
    """Compute jobs that are not kept, in several processes."""

    def __init__(self, source: Source, kept: Kept, processes: int) -> None:
        self.source, self.kept, self.processes = source, kept, processes
        self.used: dict[str, set[str]] = {}
        self.n_computed = 0

    def ensure(self, jobs: Sequence[Job]) -> list[dict[str, Any]]:
        """Return what is told of each job's column."""
        for job in jobs:
            for kind in ("column", "estimates", "pairs"):
                self.use(kind, job.key)
        found = [self.kept.get("column", job.key) for job in jobs]
        missing = [job for job, content in zip(jobs, found, strict=True) if content is None]
        self.n_computed += len(missing)
        tasks = [(job, self.source, self.kept) for job in missing]
        self.run(_compute, tasks, n_records=lambda task: task[0].n_records)
        told = []
        for job, content in zip(jobs, found, strict=True):
            made = self.kept.get("column", job.key) if content is None else content
            if made is None:
                raise ConfigurationError(f"{self.kept.folder} cannot be written; name another folder: --kept FOLDER")
            told.append(json.loads(made))
        return told

    def run(
        self, function: Callable[[Task], object], tasks: Iterable[Task], *, n_records: Callable[[Task], int]
    ) -> None:
        """Call a function with each task, in several processes if they are about many records.

        Parameters
        ----------
        tasks : iterable
            Taken as they are worked on, so that not all need be there at a time.
        n_records : callable
            Returns how many records a task is about.
        """
        rest = iter(tasks)
        first: list[Task] = []
        if self.processes > 1:
            n = 0
            for task in rest:
                first.append(task)
                n += n_records(task)
                if n > _FEW_RECORDS and len(first) > 1:
                    self._run_apart(function, itertools.chain(first, rest))
                    return
        for task in itertools.chain(first, rest):
            function(task)

    def _run_apart(self, function: Callable[[Task], object], tasks: Iterable[Task]) -> None:
        context = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")
        with ProcessPoolExecutor(self.processes, mp_context=context) as pool:
            waiting: deque[Future[object]] = deque()
            for task in tasks:
                waiting.append(pool.submit(function, task))
                if len(waiting) > _AHEAD * self.processes:
                    waiting.popleft().result()
            for each in waiting:
                each.result()

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
