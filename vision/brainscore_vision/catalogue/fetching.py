"""Plan and fetch the absent files of registered data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from brainscore_core import command_line
from brainscore_core.errors import DownloadError, count
from brainscore_core.supported_data_standards.brainio.fetch import fetch_all, sizes_of
from brainscore_vision.catalogue.describe import size_text
from brainscore_vision.catalogue.entries import Entry, entries, entries_of
from brainscore_vision.loading import load_dataset, load_stimulus_set

__all__ = ["FetchPlan", "fetch_data", "fetch_entry", "plan_of"]


@dataclass(frozen=True, kw_only=True)
class FetchPlan:
    """The absent files of one entry, their known size, and the number of unknown size."""

    entry: Entry
    n_files: int
    size_bytes: int
    n_unknown: int

    def __str__(self) -> str:
        sizes = [size_text(self.size_bytes)] if self.n_files > self.n_unknown else []
        unknown = [f"{count(self.n_unknown, 'file')} of unknown size"] if self.n_unknown else []
        return " + ".join([*sizes, *unknown]) or "-"


def plan_of(wanted: Sequence[Entry]) -> list[FetchPlan]:
    """Look up absent files' sizes; a shared file counts for the first entry."""
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

    `load` also loads it once, as always if only the running plugin knows the files; `DownloadError` if one is not
    available.
    """
    if entry.files and not load:
        fetch_all([(file.source, file.path) for file in entry.files])
        return count(len(entry.files), "file")
    loaded = {"data": load_dataset, "stimulus_set": load_stimulus_set}[entry.kind](entry.identifier)
    shape = getattr(loaded, "sizes", None) or {"stimuli": len(loaded)}
    return ", ".join([type(loaded).__name__, *(f"{size} {name}" for name, size in shape.items())])


def fetch_data(
    identifiers: Sequence[str], benchmarks: Sequence[str], plugins: Sequence[str], *, public: bool, dry_run: bool
) -> int:
    """Fetch data for ``brainscore data fetch`` and return its exit code; data named by identifiers are loaded too."""
    named = [entry for identifier in identifiers for entry in entries(identifier)]  # raises before anything is fetched
    requested = list(named)
    if benchmarks:
        from brainscore_vision.catalogue.needs import data_of  # heavy: xarray

        command_line.say(f"Looking up the data of {', '.join(benchmarks)} ...")
        requested += [entry for name in benchmarks for entry in data_of(name)]
    requested += [entry for name in plugins for entry in entries_of(name) if entry.files]
    requested += [entry for entry in entries() if entry.access == "public" and entry.files] if public else []
    plans = plan_of(list({(entry.kind, entry.identifier): entry for entry in requested}.values()))
    rows = [(plan.entry.identifier, plan.entry.kind, plan.entry.cached, str(plan)) for plan in plans]
    command_line.print_table(("IDENTIFIER", "KIND", "HERE", "TO FETCH"), rows)
    missing, n_unknown = sum(plan.size_bytes for plan in plans), sum(plan.n_unknown for plan in plans)
    unknown = f" and {count(n_unknown, 'file')} of unknown size" if n_unknown else ""
    command_line.say(
        f"To fetch: {size_text(missing)}{unknown}, {count(sum(plan.n_files for plan in plans), 'file')} in total."
    )
    failed = 0
    for entry in () if dry_run else [plan.entry for plan in plans]:
        try:
            described = fetch_entry(entry, load=entry in named)
        except DownloadError as error:
            if len(plans) == 1:
                raise
            command_line.say(f"Not fetched: {entry.identifier} ({entry.kind}). {error}")
            failed += 1
        else:
            command_line.show(f"{entry.identifier} ({entry.kind}): {described}, {size_text(entry.size_bytes)}")
    if failed:
        command_line.say(f"{failed} of {len(plans)} could not be fetched. Finished files are kept; try again later.")
    return command_line.NOT_AVAILABLE if failed else 0
