"""Estimate on many simulated data sets: seeded, in parallel, continued after an interruption, tables of what was kept.

A script of simulations names its cells, such as ``'A: ridge'``, estimates one data set of a cell, and summarises all of
them; `Simulation` does the rest.
"""

import json
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from harness import QUICK, keep, markdown, options_of, read, with_one_thread

from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.testing.synthetic import assembly_of

Row = dict[str, object]  # the numbers of one data set, or a summary of a cell
Task = tuple[str, int]  # cell, seed


@dataclass(frozen=True)
class Simulation:
    """A measurement on simulated data sets.

    Attributes
    ----------
    name : str
        Of the script and of its results, a mapping of cell to summary.
    cells : mapping of str to int
        Number of data sets of each cell.
    estimate : callable
        ``estimate(cell, seed)``, of a module that other processes can import.
    summary : callable
        ``summary(cell, rows)``; ``n``, the number of data sets, is added.
    table : callable
        Return results as Markdown, also by name if there are several `tables`; the pages show it (`docs/_ext`).
    first_seed : int
        Estimators were chosen by trial on data sets with lower seeds.
    """

    name: str
    cells: Mapping[str, int]
    estimate: Callable[[str, int], Row]
    summary: Callable[[str, Sequence[Row]], Row]
    table: Callable[..., str]
    first_seed: int = 0
    tables: Sequence[str] = ()

    def run(self, sizes: Mapping[str, int], scratch: Path, processes: int = 1) -> dict[str, Row]:
        """Return the summaries of cells. Rows are appended to `scratch` as they come; those it has are not repeated."""
        tasks = [(cell, self.first_seed + number) for cell, n in sizes.items() for number in range(n)]
        rows = _estimate_missing(self.estimate, tasks, scratch, processes)
        return {
            cell: {"n": n, **self.summary(cell, [rows[cell, self.first_seed + number] for number in range(n)])}
            for cell, n in sizes.items()
        }

    def main(self, doc: str | None) -> None:
        """Measure the cells that are not stored with as many data sets, and print the tables."""
        options = options_of(
            doc,
            only=([], "cells whose name contains this text; may be repeated"),
            sets=(0, "data sets of each cell; default: that of the script"),
            again=(False, "measure stored cells too"),
            table=(False, "print the stored results as tables, measure nothing"),
            processes=(os.cpu_count() or 1, "at once"),
            scratch=(
                Path(os.devnull if QUICK else f"{self.name}.jsonl"),
                "numbers of single data sets, with which an interrupted run continues",
            ),
        )
        results = read(self.name)
        if not options.table:
            with_one_thread()
            chosen = [cell for cell in self.cells if not options.only or any(text in cell for text in options.only)]
            sizes = {cell: options.sets or self.cells[cell] for cell in chosen}
            if QUICK:
                sizes = dict.fromkeys(chosen[:1], 2)
            elif options.again:
                options.scratch.unlink(missing_ok=True)
            else:
                sizes = {cell: n for cell, n in sizes.items() if results.get(cell, {}).get("n") != n}
            if sizes:
                measured = self.run(sizes, options.scratch, options.processes)
                keep(self.name, results | measured, text="\n".join(f"{cell}: {measured[cell]}" for cell in sizes))
                results = read(self.name)
        print(*([self.table(results, name) for name in self.tables] or [self.table(results)]), sep="\n\n")


def labelled(values: np.ndarray, n_stimuli: int, letter: str = "n", **coords: object) -> NeuroidAssembly:
    """Label responses, dims (presentation, neuroid); stimuli repeat in order."""
    return assembly_of(
        values,
        stimulus_id=[f"s{number % n_stimuli:04d}" for number in range(len(values))],
        repetition=np.arange(len(values)) // n_stimuli,
        neuroid_id=("neuroid", [f"{letter}{number:03d}" for number in range(values.shape[1])]),
        **{"object_name": None, **coords},
    )


def described(score: Score) -> Row:
    """Return the numbers that say how certain a score is, for a file: None for values that are not finite."""
    low, high = score.attrs.get("interval", (np.nan, np.nan))
    error, split_error = (float(score.attrs.get(name, np.nan)) for name in ("error", "split_error"))
    numbers = {"score": float(score), "error": error, "low": float(low), "high": float(high)}
    return {
        key: value if np.isfinite(value) else None for key, value in {**numbers, "split_error": split_error}.items()
    }


def column(rows: Iterable[Row], name: str) -> np.ndarray:
    """Return one number of every row, NaN for None and absent ones."""
    return np.array([np.nan if row.get(name) is None else row[name] for row in rows], dtype=float)


def counted(rows: Sequence[Row], truth: float | None = None) -> Row:
    """Count intervals that hold the mean of the scores (and the true value), and compare errors with their scatter."""
    scores = column(rows, "score")
    scores = scores[np.isfinite(scores)]
    with_interval = [row for row in rows if row.get("low") is not None]
    result: Row = {"n_undefined": len(rows) - len(with_interval)}
    if len(scores):
        result.update(mean=float(scores.mean()), sd=float(scores.std(ddof=1)) if len(scores) > 1 else None)
    if not with_interval:
        return {**result, "reason": next((row["reason"] for row in rows if row.get("reason")), "")}
    low, high, error, split_error = (column(with_interval, key) for key in ("low", "high", "error", "split_error"))
    result["coverage"] = float(np.mean((low <= scores.mean()) & (scores.mean() <= high)))
    result["error_over_sd"] = float(np.sqrt(np.mean(error**2)) / scores.std(ddof=1))
    split_error = split_error[np.isfinite(split_error)]
    if len(split_error):
        result["split_error_over_sd"] = float(np.sqrt(np.mean(split_error**2)) / scores.std(ddof=1))
    if truth is not None:
        result["coverage_of_truth"] = float(np.mean((low <= truth) & (truth <= high)))
        result["bias"] = float(scores.mean() - truth)
    return result


def coverage_table(results: Mapping[str, Row], designs: Iterable[str], estimators: Iterable[str]) -> str:
    """Return the coverages (of the mean; of the truth), in brackets error over standard deviation, as Markdown."""

    def entry(cell: Mapping[str, float] | None) -> str:
        if cell is None or "coverage" not in cell:
            return "" if cell is None else "none"
        truth = f"; {cell['coverage_of_truth']:.2f}" if "coverage_of_truth" in cell else ""
        return f"{cell['coverage']:.2f}{truth} ({cell['error_over_sd']:.2f})"

    measured = {cell.partition(": ")[2] for cell in results}
    rows = (
        [name, *(entry(results.get(f"{design}: {name}")) for design in designs)]
        for name in estimators
        if name in measured
    )
    return markdown(["", *designs], rows)


def _estimate_missing(
    estimate: Callable[[str, int], Row], tasks: Sequence[Task], scratch: Path, processes: int
) -> dict[Task, Row]:
    """Estimate the tasks that a file of lines lacks; a last line that was cut off does not count."""
    rows = {(row["cell"], row["seed"]): row for row in _read_lines(scratch)}
    missing = [task for task in tasks if task not in rows]
    scratch.parent.mkdir(parents=True, exist_ok=True)
    if scratch.exists() and not scratch.read_text().endswith("\n"):
        scratch.write_text("".join(json.dumps(row) + "\n" for row in rows.values()))
    with scratch.open("a") as file, _mapper(processes) as mapped:
        for task, row in zip(missing, mapped(estimate, *zip(*missing, strict=True)) if missing else (), strict=True):
            rows[task] = {**dict(zip(("cell", "seed"), task, strict=True)), **row}
            file.write(json.dumps(rows[task]) + "\n")
            file.flush()
    return {task: rows[task] for task in tasks}


def _read_lines(path: Path) -> Iterator[Row]:
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            yield json.loads(line)
        except ValueError:
            continue


@contextmanager
def _mapper(processes: int) -> Iterator[Callable[..., Iterator[Row]]]:
    if processes == 1:
        yield map
        return
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        yield partial(pool.map, chunksize=4)
