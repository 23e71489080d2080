"""Run the commands ``brainscore data``."""

from collections.abc import Sequence
from pathlib import Path

from brainscore_core import command_line
from brainscore_core.errors import ConfigurationError, count
from brainscore_core.identity.digest import file_digest
from brainscore_core.supported_data_standards.brainio.fetch import place_in_data_home
from brainscore_vision.catalogue.describe import size_text
from brainscore_vision.catalogue.entries import clean, entries, verify

__all__ = ["add_data", "clean_data", "list_data", "verify_data"]

_COLUMNS = ("IDENTIFIER", "KIND", "CACHED", "SIZE", "PLUGIN")
_PACKAGED = ("stimulus_*.csv", "stimulus_*.zip", "assy_*.nc")


def list_data(*, cached: bool) -> int:
    """Print registered data, or only cached ones."""
    rows = [
        (entry.identifier, entry.kind, entry.cached, size_text(entry.size_bytes), entry.plugin.name)
        for entry in entries()
        if not cached or entry.cached in {"yes", "partly"}
    ]
    command_line.print_table(_COLUMNS, rows)
    return 0


def add_data(folder: Path) -> int:
    """Place the packaged files of a folder in the data home and print their digests."""
    files = [file for pattern in _PACKAGED for file in sorted(folder.glob(pattern)) if file.is_file()]
    if not files:
        raise ConfigurationError(
            f"{folder} holds none of {', '.join(_PACKAGED)}. Package your data first with package_stimulus_set_locally "
            "and package_data_assembly_locally."
        )
    for file in files:
        command_line.show(str(place_in_data_home(file, file_digest(file))))
    return 0


def verify_data(identifiers: Sequence[str]) -> int:
    """Verify the files of identifiers, or all cached ones; return the number of problems."""
    requested = [entry for identifier in identifiers for entry in entries(identifier)]
    n_files, problems = verify(requested if identifiers else None)
    for line in (*problems, f"{count(n_files, 'file')} verified, {count(len(problems), 'problem')}."):
        command_line.show(line)
    if problems:
        command_line.say("Remove damaged data (data clean IDENTIFIER) and fetch them again.")
    return len(problems)


def clean_data(identifier: str | None, *, dry_run: bool) -> int:
    """Remove the cached files of an identifier; None: all."""
    removed = clean(None if identifier is None else entries(identifier), dry_run=dry_run)
    for folder, size_bytes in removed:
        command_line.show(f"{'Would remove' if dry_run else 'Removed'} {folder} ({size_text(size_bytes)})")
    command_line.show(f"{size_text(sum(size_bytes for _, size_bytes in removed))} in {len(removed)} folders.")
    return 0
