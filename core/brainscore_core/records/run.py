"""Summarise the last scoring run, as one JSON file beside the folders of records."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, Strict, TypeAdapter

from brainscore_core.untrusted import MOST_BYTES, Count, Line, Name, Untrusted, at_most, matching, read, text

if TYPE_CHECKING:
    from brainscore_core.records.record import ScoreRecord

RUN_FILE = "run.json"

_MOST_MISSING = 1_000
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}", re.ASCII)

_Time = Annotated[str, text(40), matching(_TIME, "a time such as 2026-10-03T08:00:00+00:00")]
_Commit = Annotated[str, text(64), matching(_COMMIT, "a commit in hexadecimal digits")]
_Seconds = Annotated[float, Strict(), Field(ge=0, le=1e12)]


@dataclass(frozen=True, kw_only=True)
class Run(Untrusted):
    """Plan and results of a scoring run for one commit."""

    commit: _Commit | None  # None: uncommitted code
    # Trigger, such as ``'push'`` for a merge. Start of the first pair and end of the last one: UTC, ISO 8601. None
    # without a record.
    event: Name
    started: _Time | None
    finished: _Time | None
    duration_s: _Seconds  # sum over all pairs, which may have run in parallel
    # Number of planned pairs and of new records
    n_planned: Count
    n_records: Count
    n_missing: Count  # planned pairs without any record, old or new
    # Models and benchmarks of the first 1,000 of them
    missing: Annotated[tuple[tuple[Line, Line], ...], at_most(_MOST_MISSING)]

    @classmethod
    def of(
        cls,
        records: Iterable[ScoreRecord],
        missing: Sequence[tuple[str, str]],
        *,
        commit: str | None,
        event: str,
        n_planned: int,
    ) -> Run:
        """Summarise the new records and the models and benchmarks of all planned pairs without a record."""
        new_records = list(records)
        took = [timedelta(seconds=max(0.0, min(record.duration_s or 0.0, 1e9))) for record in new_records]
        ends = [_time(record.created) for record in new_records]
        spans = [(end - spent, end) for end, spent in zip(ends, took, strict=True) if end is not None]
        return cls(
            commit=commit,
            event=event,
            started=_written(min(start for start, _ in spans)) if spans else None,
            finished=_written(max(end for _, end in spans)) if spans else None,
            duration_s=round(sum(took, timedelta()).total_seconds(), 1),
            n_planned=n_planned,
            n_records=len(new_records),
            n_missing=len(missing),
            missing=tuple(missing[:_MOST_MISSING]),
        )

    def to_json(self) -> str:
        """Return the content of the file."""
        return json.dumps(dataclasses.asdict(self), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, data: str | bytes) -> Run:
        """Read what `to_json` wrote; raise `CorruptFileError` for anything else."""
        return read(_RUN, data, "run", MOST_BYTES)


_RUN = TypeAdapter(Run)


def _time(value: str) -> datetime | None:
    """Return the time in a record, which may be any text; None if invalid or outside 2000-2199."""
    try:
        time = datetime.fromisoformat(value)
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return time if 2000 <= time.year < 2200 else None


def _written(at: datetime) -> str:
    return at.isoformat(timespec="seconds")
