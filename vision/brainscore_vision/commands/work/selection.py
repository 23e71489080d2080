"""Select the records that a command names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_core.config import settings
from brainscore_core.errors import DataNotHereError, did_you_mean
from brainscore_core.records.store import FolderStore

if TYPE_CHECKING:
    from brainscore_core.records.record import ScoreRecord

__all__ = ["chosen_records", "records_folder"]


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
                    f"There is no record of the {what} {name!r} in {place}.{did_you_mean(name, names)} Score it: "
                    "brainscore score --model MODEL --benchmark BENCHMARK"
                )
    if not everything:
        raise DataNotHereError(f"There are no records in {place}. Score a model: brainscore score --help")
    return [
        record
        for record in everything
        if (of_others or not models or record.model in models) and (not benchmarks or record.benchmark in benchmarks)
    ]
