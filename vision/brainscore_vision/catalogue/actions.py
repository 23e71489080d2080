"""List, verify and remove data; the command ``brainscore data`` loads this when it runs."""

from __future__ import annotations

from collections.abc import Sequence

from brainscore_core import command_line
from brainscore_core.errors import count
from brainscore_vision.catalogue.describe import size_text
from brainscore_vision.catalogue.entries import clean, entries, verify

__all__ = ["clean_data", "list_data", "verify_data"]

_COLUMNS = ("IDENTIFIER", "KIND", "CACHED", "SIZE", "PLUGIN")


def list_data(*, cached: bool) -> int:
    """Print registered data, or only cached ones."""
    rows = [
        (entry.identifier, entry.kind, entry.cached, size_text(entry.size_bytes), entry.plugin.name)
        for entry in entries()
        if not cached or entry.cached in {"yes", "partly"}
    ]
    command_line.print_table(_COLUMNS, rows)
    return 0


def verify_data(identifiers: Sequence[str]) -> int:
    """Verify the files of identifiers, or all cached ones; return the number of problems."""
    requested = [entry for identifier in identifiers for entry in entries(identifier)]
    n_files, problems = verify(requested if identifiers else None)
    for line in (*problems, f"{count(n_files, 'file')} verified, {count(len(problems), 'problem')}."):
        _print(line)
    if problems:
        command_line.say("Remove damaged data (data clean IDENTIFIER) and fetch them again.")
    return len(problems)


def clean_data(identifier: str | None, *, dry_run: bool) -> int:
    """Remove the cached files of an identifier; None: all."""
    removed = clean(None if identifier is None else entries(identifier), dry_run=dry_run)
    for folder, size_bytes in removed:
        _print(f"{'Would remove' if dry_run else 'Removed'} {folder} ({size_text(size_bytes)})")
    _print(f"{size_text(sum(size_bytes for _, size_bytes in removed))} in {len(removed)} folders.")
    return 0


def _print(line: str) -> None:
    command_line.show(line)
