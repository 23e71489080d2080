"""Offer the command ``brainscore data``: list, describe, fetch, verify and remove data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from brainscore_core import command_line
from brainscore_core.errors import ConfigurationError, DownloadError
from brainscore_vision.catalogue.completion import complete_benchmark, complete_data

if TYPE_CHECKING:
    from brainscore_vision.catalogue.describe import Description
    from brainscore_vision.catalogue.fetching import Plan

__all__ = ["app", "print_descriptions"]

_Identifier = Annotated[
    str, typer.Argument(help="as it is registered", autocompletion=complete_data, show_default=False)
]
_LIST_COLUMNS = ("IDENTIFIER", "KIND", "CACHED", "SIZE", "PLUGIN")
DAMAGED = 1
"""Exit code if a cached file is damaged."""

app = command_line.make_app("List, describe, fetch, verify or remove data.")


@app.command("list", cls=command_line.Command)
def list_data(cached: Annotated[bool, typer.Option("--cached", help="only what is cached")] = False) -> int:
    """List what is registered, whether it is cached, and its size on the disk."""
    from brainscore_vision.catalogue.describe import size_text
    from brainscore_vision.catalogue.entries import entries

    shown = [entry for entry in entries() if not cached or entry.cached in {"yes", "partly"}]
    rows = [
        (entry.identifier, entry.kind, entry.cached, size_text(entry.size_bytes), entry.plugin.name) for entry in shown
    ]
    command_line.print_table(_LIST_COLUMNS, rows)
    return 0


@app.command("info", cls=command_line.Command)
def info(identifier: _Identifier) -> int:
    """Describe data: plugin, files, licence, citation."""
    from brainscore_vision.catalogue.describe import describe

    print_descriptions(describe(identifier, ("data", "stimulus_set")))
    return 0


def print_descriptions(found: Sequence[Description]) -> None:
    """Print descriptions one below the other."""
    for each in found:
        _print(f"{each.identifier} ({each.kind})")
        for label, text in each.lines:
            _print(f"  {label:9} {text}")


@app.command("fetch", cls=command_line.Command)
def fetch(
    identifiers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[IDENTIFIER]...",
            help="data and stimulus sets, which are also loaded once",
            autocompletion=complete_data,
        ),
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="what a benchmark needs", autocompletion=complete_benchmark),
    ] = None,
    plugin: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="the files that a data plugin names, which is read and not run"),
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="all that everybody may have")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only say what would be fetched")] = False,
) -> int:
    """Say how large data are, and fetch what is not here; run it again to continue."""
    from brainscore_vision.catalogue.describe import size_text
    from brainscore_vision.catalogue.entries import entries, entries_of
    from brainscore_vision.catalogue.fetching import fetch_entry, plan_of
    from brainscore_vision.catalogue.needs import data_of

    if benchmark:
        command_line.say(f"Looking up what {', '.join(benchmark)} needs ...")
    named = [entry for identifier in identifiers or () for entry in entries(identifier)]  # all known, or none
    wanted = [*named, *(entry for name in benchmark or () for entry in data_of(name))]
    wanted += [entry for name in plugin or () for entry in entries_of(name) if entry.files]
    if public:
        wanted += [entry for entry in entries() if entry.is_public and entry.files]
    if not (identifiers or benchmark or plugin or public):
        raise ConfigurationError(
            "Nothing to fetch: name data, a benchmark (--benchmark NAME), a data plugin (--plugin NAME), or say "
            "--public."
        )
    wanted = list({(entry.kind, entry.identifier): entry for entry in wanted}.values())
    plan = plan_of(wanted)
    rows = [(each.entry.identifier, each.entry.kind, each.entry.cached, _to_fetch(each)) for each in plan]
    command_line.print_table(("IDENTIFIER", "KIND", "HERE", "TO FETCH"), rows)
    missing, unknown = sum(each.size_bytes for each in plan), sum(each.n_unknown for each in plan)
    more = f" and {unknown} files of unknown size" if unknown else ""
    command_line.say(f"To fetch: {size_text(missing)}{more}, {sum(each.n_files for each in plan)} files in all.")
    if dry_run:
        return 0
    failed = 0
    for each in plan:
        try:
            described = fetch_entry(each.entry, load=each.entry in named)
        except DownloadError as error:
            if len(plan) == 1:
                raise
            command_line.say(f"Not fetched: {each.entry.identifier} ({each.entry.kind}). {error}")
            failed += 1
        else:
            _print(f"{each.entry.identifier} ({each.entry.kind}): {described}, {size_text(each.entry.size_bytes)}")
    if failed:
        command_line.say(f"{failed} of {len(plan)} could not be fetched. What has arrived is kept; try again later.")
    return command_line.NOT_AVAILABLE if failed else 0


def _to_fetch(plan: Plan) -> str:
    from brainscore_vision.catalogue.describe import size_text

    if not plan.n_files:
        return "-"
    known = [size_text(plan.size_bytes)] if plan.n_files > plan.n_unknown else []
    return " + ".join([*known, *([f"{plan.n_unknown} files of unknown size"] if plan.n_unknown else [])])


@app.command("verify", cls=command_line.Command)
def verify_data(
    identifiers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[IDENTIFIER]...", help="default: everything that is cached", autocompletion=complete_data
        ),
    ] = None,
) -> int:
    """Hash cached files again and report the damaged ones (exit code 1)."""
    from brainscore_vision.catalogue.entries import entries, verify

    wanted = [entry for identifier in identifiers or () for entry in entries(identifier)]
    count, problems = verify(wanted if identifiers else None)
    for problem in problems:
        _print(problem)
    _print(f"{count} files verified, {len(problems)} problems.")
    if problems:
        command_line.say("Remove what is damaged (data clean IDENTIFIER) and fetch it again.")
    return DAMAGED if problems else 0


@app.command("clean", cls=command_line.Command)
def clean_data(
    identifier: Annotated[
        str | None, typer.Argument(help="whose files", autocompletion=complete_data, show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="everything that is cached")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only say what would be removed")] = False,
) -> int:
    """Remove cached files: those of one identifier, or --all."""
    from brainscore_vision.catalogue.describe import size_text
    from brainscore_vision.catalogue.entries import clean, entries

    if (identifier is None) != everything:
        raise ConfigurationError("Say what to remove: the files of one IDENTIFIER, or --all.")
    removed = clean(None if identifier is None else entries(identifier), dry_run=dry_run)
    for folder, size_bytes in removed:
        _print(f"{'Would remove' if dry_run else 'Removed'} {folder} ({size_text(size_bytes)})")
    _print(f"{size_text(sum(size_bytes for _, size_bytes in removed))} in {len(removed)} folders.")
    return 0


def _print(line: str) -> None:
    print(line)  # noqa: T201 - a command line talks
