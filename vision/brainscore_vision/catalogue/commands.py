"""The command ``brainscore data``: list, describe, fetch, verify and remove data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from brainscore_core import command_line
from brainscore_core.errors import ConfigurationError, DownloadError
from brainscore_vision.catalogue.completion import complete_benchmark, complete_data

if TYPE_CHECKING:
    from brainscore_vision.catalogue.describe import Description
    from brainscore_vision.catalogue.fetching import FetchPlan

__all__ = ["app", "print_descriptions"]

_Identifier = Annotated[
    str, typer.Argument(help="registered identifier", autocompletion=complete_data, show_default=False)
]
_LIST_COLUMNS = ("IDENTIFIER", "KIND", "CACHED", "SIZE", "PLUGIN")
DAMAGED = 1
"""Exit code if a cached file is damaged."""

app = command_line.make_app("List, describe, fetch, verify or remove data.")


@app.command("list", cls=command_line.Command)
def list_data(cached: Annotated[bool, typer.Option("--cached", help="only cached data")] = False) -> int:
    """List registered data with cache state and size on disk."""
    from brainscore_vision.catalogue.describe import size_text  # keeps start-up fast
    from brainscore_vision.catalogue.entries import entries  # keeps start-up fast

    listed = [entry for entry in entries() if not cached or entry.cached in {"yes", "partly"}]
    rows = [
        (entry.identifier, entry.kind, entry.cached, size_text(entry.size_bytes), entry.plugin.name) for entry in listed
    ]
    command_line.print_table(_LIST_COLUMNS, rows)
    return 0


@app.command("info", cls=command_line.Command)
def info(identifier: _Identifier) -> int:
    """Describe data: plugin, files, licence, citation."""
    from brainscore_vision.catalogue.describe import describe  # keeps start-up fast

    print_descriptions(describe(identifier, ("data", "stimulus_set")))
    return 0


def print_descriptions(found: Sequence[Description]) -> None:
    """Print descriptions one below the other."""
    for description in found:
        _print(f"{description.identifier} ({description.kind})")
        for label, text in description.lines:
            _print(f"  {label:9} {text}")


@app.command("fetch", cls=command_line.Command)
def fetch(
    identifiers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[IDENTIFIER]...",
            help="data and stimulus sets, also loaded once",
            autocompletion=complete_data,
        ),
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="all data of a benchmark", autocompletion=complete_benchmark),
    ] = None,
    plugin: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="all files named in a data plugin, without running it"),
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="all public data")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="list without fetching")] = False,
) -> int:
    """Print the size of data, then fetch absent files; run again to resume."""
    from brainscore_vision.catalogue.describe import size_text  # keeps start-up fast
    from brainscore_vision.catalogue.entries import entries, entries_of  # keeps start-up fast
    from brainscore_vision.catalogue.fetching import fetch_entry, plan_of  # keeps start-up fast
    from brainscore_vision.catalogue.needs import data_of  # keeps start-up fast

    if benchmark:
        command_line.say(f"Looking up the data of {', '.join(benchmark)} ...")
    named = [
        entry for identifier in identifiers or () for entry in entries(identifier)
    ]  # raises before anything is fetched
    requested = [*named, *(entry for name in benchmark or () for entry in data_of(name))]
    requested += [entry for name in plugin or () for entry in entries_of(name) if entry.files]
    if public:
        requested += [entry for entry in entries() if entry.is_public and entry.files]
    if not (identifiers or benchmark or plugin or public):
        raise ConfigurationError(
            "Nothing to fetch: name data, a benchmark (--benchmark NAME), a data plugin (--plugin NAME), or say "
            "--public."
        )
    requested = list({(entry.kind, entry.identifier): entry for entry in requested}.values())
    plan = plan_of(requested)
    rows = [
        (transfer.entry.identifier, transfer.entry.kind, transfer.entry.cached, _to_fetch(transfer))
        for transfer in plan
    ]
    command_line.print_table(("IDENTIFIER", "KIND", "HERE", "TO FETCH"), rows)
    missing, unknown = sum(transfer.size_bytes for transfer in plan), sum(transfer.n_unknown for transfer in plan)
    more = f" and {unknown} files of unknown size" if unknown else ""
    command_line.say(
        f"To fetch: {size_text(missing)}{more}, {sum(transfer.n_files for transfer in plan)} files in all."
    )
    if dry_run:
        return 0
    failed = 0
    for transfer in plan:
        try:
            described = fetch_entry(transfer.entry, load=transfer.entry in named)
        except DownloadError as error:
            if len(plan) == 1:
                raise
            command_line.say(f"Not fetched: {transfer.entry.identifier} ({transfer.entry.kind}). {error}")
            failed += 1
        else:
            _print(
                f"{transfer.entry.identifier} ({transfer.entry.kind}): {described}, "
                f"{size_text(transfer.entry.size_bytes)}"
            )
    if failed:
        command_line.say(f"{failed} of {len(plan)} could not be fetched. Finished files stay; try again later.")
    return command_line.NOT_AVAILABLE if failed else 0


def _to_fetch(plan: FetchPlan) -> str:
    from brainscore_vision.catalogue.describe import size_text  # keeps start-up fast

    if not plan.n_files:
        return "-"
    sizes = [size_text(plan.size_bytes)] if plan.n_files > plan.n_unknown else []
    return " + ".join([*sizes, *([f"{plan.n_unknown} files of unknown size"] if plan.n_unknown else [])])


@app.command("verify", cls=command_line.Command)
def verify_data(
    identifiers: Annotated[
        list[str] | None,
        typer.Argument(metavar="[IDENTIFIER]...", help="default: all cached data", autocompletion=complete_data),
    ] = None,
) -> int:
    """Hash cached files again and report the damaged ones (exit code 1)."""
    from brainscore_vision.catalogue.entries import entries, verify  # keeps start-up fast

    requested = [entry for identifier in identifiers or () for entry in entries(identifier)]
    count, problems = verify(requested if identifiers else None)
    for problem in problems:
        _print(problem)
    _print(f"{count} files verified, {len(problems)} problems.")
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
    from brainscore_vision.catalogue.describe import size_text  # keeps start-up fast
    from brainscore_vision.catalogue.entries import clean, entries  # keeps start-up fast

    if (identifier is None) != everything:
        raise ConfigurationError("Say what to remove: the files of one IDENTIFIER, or --all.")
    removed = clean(None if identifier is None else entries(identifier), dry_run=dry_run)
    for folder, size_bytes in removed:
        _print(f"{'Would remove' if dry_run else 'Removed'} {folder} ({size_text(size_bytes)})")
    _print(f"{size_text(sum(size_bytes for _, size_bytes in removed))} in {len(removed)} folders.")
    return 0


def _print(line: str) -> None:
    print(line)  # noqa: T201 - command output
