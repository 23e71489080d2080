"""Plan and fetch the absent files of registered data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from brainscore_core.supported_data_standards.brainio.fetch import fetch_all, sizes_of
from brainscore_vision.loading import load_dataset, load_stimulus_set

if TYPE_CHECKING:
    from brainscore_vision.catalogue.entries import Entry

__all__ = ["FetchPlan", "fetch_entry", "plan_of"]


@dataclass(frozen=True, kw_only=True)
class FetchPlan:
    """The absent files of one entry.

    Attributes
    ----------
    n_files
        Number of absent files.
    size_bytes
        Download size of those with known size.
    n_unknown
        Number of those with unknown size.
    """

    entry: Entry
    n_files: int
    size_bytes: int
    n_unknown: int


def plan_of(wanted: Sequence[Entry]) -> list[FetchPlan]:
    """Look up the sizes of absent files; a file shared by entries counts for the first."""
    missing: dict[Any, Entry] = {}
    for entry in wanted:
        for file in entry.files:
            if not file.is_cached:
                missing.setdefault(file.source, entry)
    sizes = dict(zip(missing, sizes_of(list(missing)), strict=True))
    plans = []
    for entry in wanted:
        own = [sizes[source] for source, first in missing.items() if first is entry]
        stated = [size for size in own if size is not None]
        plans.append(FetchPlan(entry=entry, n_files=len(own), size_bytes=sum(stated), n_unknown=len(own) - len(stated)))
    return plans


def fetch_entry(entry: Entry, *, load: bool) -> str:
    """Fetch the absent files of an entry, resuming partial downloads; return a description of the data.

    Parameters
    ----------
    load
        Load it once, too. Data whose files only the running plugin knows are always loaded.

    Raises
    ------
    DownloadError
        If a file is not available.
    """
    if entry.files and not load:
        fetch_all([(file.source, file.path) for file in entry.files])
        return f"{len(entry.files)} files"
    loaded = {"data": load_dataset, "stimulus_set": load_stimulus_set}[entry.kind](entry.identifier)
    shape = getattr(loaded, "sizes", None) or {"stimuli": len(loaded)}
    return ", ".join([type(loaded).__name__, *(f"{size} {name}" for name, size in shape.items())])
