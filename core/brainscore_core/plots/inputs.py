"""Read the records of a figure and check names."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from brainscore_core.errors import ConfigurationError, DataNotHereError, UnknownIdentifierError, did_you_mean
from brainscore_core.records.record import ScoreRecord
from brainscore_core.records.store import FolderStore

Records: TypeAlias = Iterable[ScoreRecord] | str | os.PathLike[str]
"""Records, or their folder."""


def read_records(records: Records) -> list[ScoreRecord]:
    """Return the records: some, one of each pair."""
    if isinstance(records, (str, os.PathLike)):
        entries, where = FolderStore(Path(records)).whole(), f" in {os.fspath(records)}"
    else:
        entries, where = list(records), ""
    if not entries:
        raise DataNotHereError(f"There is nothing to draw: no record of a score{where}.")
    pairs = set()
    for record in entries:
        if (record.model, record.benchmark) in pairs:
            raise ConfigurationError(
                f"There are several records of {record.model} on {record.benchmark}; a figure shows one. Choose them."
            )
        pairs.add((record.model, record.benchmark))
    return entries


def check_known(what: str, named: Iterable[str], known: Collection[str]) -> None:
    """Raise `UnknownIdentifierError` for the first unknown name."""
    for name in named:
        if name not in known:
            raise UnknownIdentifierError(
                f"There is no record of the {what} {name!r} ({len(known)} known).{did_you_mean(name, known)}"
            )


def check_most(most: int | None) -> None:
    """Raise `ConfigurationError` unless `most` is None or positive."""
    if most is not None and most < 1:
        raise ConfigurationError(f"most={most} rows; expected at least 1, or None for all.")


def models_of(records: Iterable[ScoreRecord], named: Sequence[str] | None) -> list[str]:
    """Return the named models, or all, sorted."""
    models = {record.model for record in records}
    if named is None:
        return sorted(models)
    check_known("model", named, models)
    return list(dict.fromkeys(named))


def sizes_of(records: Iterable[ScoreRecord]) -> str:
    """Return the sizes of measurements, such as ``'500 stimuli, 60 to 72 neuroids'``."""
    scored = [record for record in records if record.score is not None]
    sizes = []
    for name, one in (("stimuli", "stimulus"), ("neuroids", "neuroid"), ("subjects", "subject")):
        numbers = {number for record in scored if (number := getattr(record, f"n_{name}")) is not None}
        if numbers:
            ends = dict.fromkeys(f"{number:,}" for number in (min(numbers), max(numbers)))
            sizes.append(f"{' to '.join(ends)} {one if numbers == {1} else name}")
    return ", ".join(sizes)
