"""Format records as rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brainscore_core.records.record import ScoreRecord

__all__ = ["SCORE_COLUMNS", "SPARE_COLUMNS", "interval_of", "number", "score_row"]

SCORE_COLUMNS = ("MODEL", "BENCHMARK", "SCORE", "ERROR", "INTERVAL", "RAW", "CEILING", "NOTE")
SPARE_COLUMNS = ("RAW", "CEILING", "ERROR")
"""Columns that a narrow terminal omits, in this order."""


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
