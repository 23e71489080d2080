"""The command ``brainscore data``: list, describe, fetch, add, verify and remove data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brainscore_core import command_line
from brainscore_core.errors import ConfigurationError
from brainscore_vision.catalogue.completion import complete_benchmark, complete_data

if TYPE_CHECKING:
    from brainscore_vision.catalogue.describe import Description

__all__ = ["app", "print_descriptions"]

_Identifier = Annotated[
    str, typer.Argument(help="registered identifier", autocompletion=complete_data, show_default=False)
]
DAMAGED = 1
"""Exit code if a cached file is damaged."""

app = command_line.make_app("List, describe, fetch, add, verify or remove data.")


@app.command("list", cls=command_line.Command)
def list_data(cached: Annotated[bool, typer.Option("--cached", help="only cached data")] = False) -> int:
    """List registered data with cache state and size on disk."""
    from brainscore_vision.catalogue import actions  # keeps start-up fast

    return actions.list_data(cached=cached)


@app.command("info", cls=command_line.Command)
def info(identifier: _Identifier) -> int:
    """Describe data: plugin, files, licence, citation."""
    from brainscore_vision.catalogue.describe import describe  # keeps start-up fast

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
            metavar="[IDENTIFIER]...", help="data and stimulus sets, also loaded once", autocompletion=complete_data
        ),
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="all data of a benchmark", autocompletion=complete_benchmark),
    ] = None,
    plugin: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="all files named in a data plugin, without running it")
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="all public data")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="list without fetching")] = False,
) -> int:
    """Print the size of data, then fetch absent files; run again to resume."""
    from brainscore_vision.catalogue import fetching  # keeps start-up fast

    if not (identifiers or benchmark or plugin or public):
        raise ConfigurationError(
            "Nothing to fetch: name data, a benchmark (--benchmark NAME), a data plugin (--plugin NAME), or say "
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
    from brainscore_vision.catalogue import actions  # keeps start-up fast

    return actions.add_data(folder)


@app.command("verify", cls=command_line.Command)
def verify_data(
    identifiers: Annotated[
        list[str] | None,
        typer.Argument(metavar="[IDENTIFIER]...", help="default: all cached data", autocompletion=complete_data),
    ] = None,
) -> int:
    """Hash cached files again and report the damaged ones (exit code 1)."""
    from brainscore_vision.catalogue import actions  # keeps start-up fast

    return DAMAGED if actions.verify_data(identifiers or ()) else 0


@app.command("clean", cls=command_line.Command)
def clean_data(
    identifier: Annotated[
        str | None, typer.Argument(help="identifier of the files", autocompletion=complete_data, show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="all cached files")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="list without removing")] = False,
) -> int:
    """Remove cached files: those of one identifier, or --all."""
    from brainscore_vision.catalogue import actions  # keeps start-up fast

    if (identifier is None) != everything:
        raise ConfigurationError("Say what to remove: the files of one IDENTIFIER, or --all.")
    return actions.clean_data(identifier, dry_run=dry_run)
