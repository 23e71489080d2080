"""The command ``brainscore data``: list, describe, fetch, add, verify and remove data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brainscore_core import command_line
from brainscore_core.errors import ConfigurationError, count
from brainscore_core.identity.digest import file_digest
from brainscore_vision.catalogue.completion import complete_benchmark, complete_data
from brainscore_vision.catalogue.describe import describe, size_text
from brainscore_vision.catalogue.entries import clean, entries, verify

if TYPE_CHECKING:
    from brainscore_vision.catalogue.describe import Description

__all__ = ["app", "print_descriptions"]

_Identifier = Annotated[
    str, typer.Argument(help="registered identifier", autocompletion=complete_data, show_default=False)
]
DAMAGED = 1
"""Exit code if a cached file is damaged."""

_COLUMNS = ("IDENTIFIER", "KIND", "CACHED", "SIZE", "PLUGIN")
_PACKAGED = ("stimulus_*.csv", "stimulus_*.zip", "assy_*.nc")

app = command_line.make_app("List, describe, fetch, add, verify or remove data.")


@app.command("list", cls=command_line.Command)
def list_data(cached: Annotated[bool, typer.Option("--cached", help="only cached data")] = False) -> int:
    """List registered data with cache state and size on disk."""
    rows = [
        (entry.identifier, entry.kind, entry.cached, size_text(entry.size_bytes), entry.plugin.name)
        for entry in entries()
        if not cached or entry.cached in {"yes", "partly"}
    ]
    command_line.print_table(_COLUMNS, rows)
    return 0


@app.command("info", cls=command_line.Command)
def info(identifier: _Identifier) -> int:
    """Describe data: plugin, files, licence, citation."""
    print_descriptions(describe(identifier, ("data", "stimulus_set")))
    return 0


def print_descriptions(found: Sequence[Description]) -> None:
    """Print descriptions one below the other."""
    for description in found:
        command_line.show(f"{description.identifier} ({description.kind})")
        for label, text in description.lines:
            command_line.show(f"  {label:9} {text}")


@app.command("fetch", cls=command_line.Command)
def fetch(
    identifiers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[IDENTIFIER]...",
            help="data and stimulus sets to fetch and load once",
            autocompletion=complete_data,
        ),
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="all data of a benchmark", autocompletion=complete_benchmark),
    ] = None,
    plugin: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="all files that a data plugin names, without running its code"),
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="all public data")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="list without fetching")] = False,
) -> int:
    """Print the size of the data, then fetch missing files; run again to resume."""
    from brainscore_vision.catalogue import fetching  # keeps start-up fast

    if not (identifiers or benchmark or plugin or public):
        raise ConfigurationError(
            "Nothing to fetch: name data, a benchmark (--benchmark NAME) or a data plugin (--plugin NAME), or pass "
            "--public."
        )
    return fetching.fetch_data(identifiers or (), benchmark or (), plugin or (), public=public, dry_run=dry_run)


@app.command("add", cls=command_line.Command)
def add_data(
    folder: Annotated[
        Path, typer.Argument(help="folder with packaged .csv, .zip and .nc files", exists=True, file_okay=False)
    ],
) -> int:
    """Place packaged files in the data home, so that plugins find them by digest before an upload."""
    from brainscore_core.supported_data_standards.brainio.fetch import place_in_data_home  # keeps start-up fast

    files = [file for pattern in _PACKAGED for file in sorted(folder.glob(pattern)) if file.is_file()]
    if not files:
        raise ConfigurationError(
            f"{folder} has no files {', '.join(_PACKAGED)}. Package your data first with package_stimulus_set_locally "
            "and package_data_assembly_locally."
        )
    for file in files:
        command_line.show(str(place_in_data_home(file, file_digest(file))))
    return 0


@app.command("verify", cls=command_line.Command)
def verify_data(
    identifiers: Annotated[
        list[str] | None,
        typer.Argument(metavar="[IDENTIFIER]...", help="default: all cached data", autocompletion=complete_data),
    ] = None,
) -> int:
    """Hash cached files again and report the damaged ones (exit code 1)."""
    requested = [entry for identifier in identifiers or () for entry in entries(identifier)]
    n_files, problems = verify(requested if identifiers else None)
    for line in (*problems, f"{count(n_files, 'file')} verified, {count(len(problems), 'problem')}."):
        command_line.show(line)
    if problems:
        command_line.say("Remove damaged data (data clean IDENTIFIER) and fetch them again.")
    return DAMAGED if problems else 0


@app.command("clean", cls=command_line.Command)
def clean_data(
    identifier: Annotated[
        str | None, typer.Argument(help="identifier of the files", autocompletion=complete_data, show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="all cached files")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="list without removing")] = False,
) -> int:
    """Remove cached files: those of one identifier, or --all."""
    if (identifier is None) != everything:
        raise ConfigurationError("Name what to remove: the files of one IDENTIFIER, or --all.")
    removed = clean(None if identifier is None else entries(identifier), dry_run=dry_run)
    for folder, size_bytes in removed:
        command_line.show(f"{'Would remove' if dry_run else 'Removed'} {folder} ({size_text(size_bytes)})")
    command_line.show(f"{size_text(sum(size_bytes for _, size_bytes in removed))} in {len(removed)} folders.")
    return 0
