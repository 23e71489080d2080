"""Take records from where they are, and say what is wrong with a name that none of them has."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from brainscore_core.errors import ConfigurationError, DataNotHereError, UnknownIdentifierError, did_you_mean
from brainscore_core.records.record import ScoreRecord
from brainscore_core.records.store import FolderStore

__all__ = ["Records", "check_known", "check_most", "models_of", "read_records", "sizes_of"]

Records: TypeAlias = Iterable[ScoreRecord] | str | os.PathLike[str]
"""Records, or the folder that holds them."""


def read_records(records: Records) -> list[ScoreRecord]:
    """Return records, at most one of each pair.

    Raises
    ------
    DataNotHereError
        There is none.
    ConfigurationError
        There are several of one pair.
    """
    if isinstance(records, (str, os.PathLike)):
        found, where = list(FolderStore(Path(records))), f" in {os.fspath(records)}"
    else:
        found, where = list(records), ""
    if not found:
        raise DataNotHereError(f"There is nothing to draw: no record of a score{where}.")
    pairs = set()
    for record in found:
        if (record.model, record.benchmark) in pairs:
            raise ConfigurationError(
                f"There are several records of {record.model} on {record.benchmark}; a figure shows one. Choose them."
            )
        pairs.add((record.model, record.benchmark))
    return found


def check_known(what: str, named: Iterable[str], known: Collection[str]) -> None:
    """Raise `UnknownIdentifierError` for the first name that is not known."""
    for name in named:
        if name not in known:
            raise UnknownIdentifierError(
                f"There is no record of the {what} {name!r} ({len(known)} known).{did_you_mean(name, known)}"
            )


def check_most(most: int | None) -> None:
    """Raise `ConfigurationError` for a number of rows that is none."""
    if most is not None and most < 1:
        raise ConfigurationError(f"most={most} rows; expected at least 1, or None for all.")


def models_of(records: Iterable[ScoreRecord], named: Sequence[str] | None) -> list[str]:
    """Return the models to draw: those that are named, in their order, or all, sorted."""
    known = {record.model for record in records}
    if named is None:
        return sorted(known)
    check_known("model", named, known)
    return list(dict.fromkeys(named))


def sizes_of(records: Iterable[ScoreRecord]) -> str:
    """Return how many stimuli, neuroids and subjects scores are over, such as ``'500 stimuli, 60 to 72 neuroids'``."""
    scored = [record for record in records if record.score is not None]
    told = []
    for name, one in (("stimuli", "stimulus"), ("neuroids", "neuroid"), ("subjects", "subject")):
        numbers = {number for record in scored if (number := getattr(record, f"n_{name}")) is not None}
        if numbers:
            ends = dict.fromkeys(f"{number:,}" for number in (min(numbers), max(numbers)))
            told.append(f"{' to '.join(ends)} {one if numbers == {1} else name}")
    return ", ".join(told)
