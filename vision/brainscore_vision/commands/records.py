"""Select the records that a command names, and format them as rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_core.config import settings
from brainscore_core.errors import DataNotHereError, did_you_mean
from brainscore_core.records.store import FolderStore

if TYPE_CHECKING:
    from brainscore_core.records.record import ScoreRecord

__all__ = [
    "SCORE_COLUMNS",
    "SPARE_COLUMNS",
    "chosen_records",
    "interval_of",
    "number",
    "records_folder",
    "score_row",
]

SCORE_COLUMNS = ("MODEL", "BENCHMARK", "SCORE", "ERROR", "INTERVAL", "RAW", "CEILING", "NOTE")
SPARE_COLUMNS = ("RAW", "CEILING", "ERROR")
"""Columns that a narrow terminal omits, in this order."""


def records_folder(given: Path | None) -> Path:
    """Return the given folder, or the scores folder."""
    return given or settings().home / "scores"


def chosen_records(
    folder: Path | None, models: Sequence[str] | None, benchmarks: Sequence[str] | None, *, of_others: bool = False
) -> list[ScoreRecord]:
    """Return records of some models and benchmarks, or `of_others` too; each named must have one."""
    place = records_folder(folder)
    everything = FolderStore(place).whole()
    for what, named, names in (
        ("model", models, {record.model for record in everything}),
        ("benchmark", benchmarks, {record.benchmark for record in everything}),
    ):
        for name in named or ():
            if name not in names:
                raise DataNotHereError(
                    f"The {what} {name!r} has no record in {place}.{did_you_mean(name, names)} Score it: brainscore "
                    "score --model MODEL --benchmark BENCHMARK"
                )
    if not everything:
        raise DataNotHereError(f"{place} has no records. To score a model, see: brainscore score --help")
    return [
        record
        for record in everything
        if (of_others or not models or record.model in models) and (not benchmarks or record.benchmark in benchmarks)
    ]


def score_row(record: ScoreRecord) -> tuple[str, ...]:
    """Return the cells for `SCORE_COLUMNS`; without a score the last one gives the reason."""
    notes = [*(["SIMULATED"] if record.simulated else []), *([] if record.is_scored else [record.status])]
    notes += ["not applicable"] if record.is_scored and record.score is None else []
    return (
        record.model,
        record.benchmark,
        number(record.score),
        number(record.error),
        interval_of(record),
        number(record.raw),
        number(record.ceiling),
        ", ".join(notes),
    )


def number(value: float | None) -> str:
    """Return a number with four digits; a dash for None."""
    return "-" if value is None else f"{value:.4f}"


def interval_of(record: ScoreRecord) -> str:
    """Return the 95 % interval of a score; a dash without one."""
    return "-" if record.interval is None else f"{record.interval[0]:.3f} to {record.interval[1]:.3f}"
