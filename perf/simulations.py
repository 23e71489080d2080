"""Estimate on many simulated data sets: in parallel, seeded, and going on where a run was cut off."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from brainscore_core.metrics import Score

Row = dict[str, object]  # what one estimator said of one data set
Task = tuple[str, str, int]  # design, estimator, seed


def described(score: Score) -> Row:
    """Return the numbers that say how certain a score is, for a file: None for what is not finite."""
    low, high = score.attrs.get("interval", (np.nan, np.nan))
    error, of_splits = (float(score.attrs.get(name, np.nan)) for name in ("error", "split_error"))
    numbers = {"score": float(score), "error": error, "low": float(low), "high": float(high), "split_error": of_splits}
    return {key: value if np.isfinite(value) else None for key, value in numbers.items()}


def column(rows: Iterable[Row], name: str) -> np.ndarray:
    """Return one number of every row, NaN for what is not there."""
    return np.array([np.nan if row.get(name) is None else row[name] for row in rows], dtype=float)


def measure(
    estimate: Callable[[str, str, int], Row], tasks: Sequence[Task], scratch: Path, processes: int
) -> dict[Task, Row]:
    """Estimate what a former run has not left in a file of lines, to which each row is appended as it comes.

    Parameters
    ----------
    estimate : callable
        ``estimate(design, estimator, seed)``, of a module that other processes can import.
    scratch : Path
        A last line that was cut off does not count.
    """
    known = {(row["design"], row["estimator"], row["seed"]): row for row in _measured(scratch)}
    missing = [task for task in tasks if task not in known]
    scratch.parent.mkdir(parents=True, exist_ok=True)
    if scratch.exists() and not scratch.read_text().endswith("\n"):
        scratch.write_text("".join(json.dumps(row) + "\n" for row in known.values()))
    with scratch.open("a") as file, _mapper(processes) as mapped:
        for task, found in zip(missing, mapped(estimate, *zip(*missing, strict=True)) if missing else (), strict=True):
            known[task] = {**dict(zip(("design", "estimator", "seed"), task, strict=True)), **found}
            file.write(json.dumps(known[task]) + "\n")
            file.flush()
    return {task: known[task] for task in tasks}


def markdown(columns: Iterable[str], rows: Mapping[str, Iterable[str]]) -> str:
    """Return a table whose rows begin with their names."""
    names = list(columns)
    lines = [f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    return "\n".join([*lines, *(f"| {name} | {' | '.join(entries)} |" for name, entries in rows.items())])


def _measured(path: Path) -> Iterator[Row]:
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            yield json.loads(line)
        except ValueError:
            continue


@contextmanager
def _mapper(processes: int) -> Iterator[Callable[..., Iterator[Row]]]:
    """Give what maps a function, in processes of their own if there are several."""
    if processes == 1:
        yield map
        return
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        yield partial(pool.map, chunksize=4)
