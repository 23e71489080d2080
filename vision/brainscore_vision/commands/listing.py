"""The command ``brainscore list``: registered identifiers with their kind and whether their data are here."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from brainscore_core import command_line
from brainscore_core.errors import ConfigurationError

if TYPE_CHECKING:
    from brainscore_core.plugin_management.index import Plugin

__all__ = ["list_identifiers"]

_Kind = Literal["models", "benchmarks", "metrics", "data", "stimulus_sets"]
_Row = dict[str, str]


def list_identifiers(
    kind: Annotated[_Kind, typer.Argument(show_default=False)],
    region: Annotated[
        str | None, typer.Option(metavar="NAME", help="only those of a region, such as IT", show_default=False)
    ] = None,
    what: Annotated[
        Literal["neural", "behavior", "engineering"] | None,
        typer.Option("--kind", help="only benchmarks of this kind", show_default=False),
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="only what everybody may have")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="only what has all of its data here")] = False,
    form: Annotated[
        Literal["table", "names", "json"] | None,
        typer.Option("--format", help="default: a table at a terminal, else a name on each line", show_default=False),
    ] = None,
) -> int:
    """List the registered identifiers of one kind, with what is known about them."""
    if kind != "benchmarks" and what is not None:
        raise ConfigurationError(f"--kind tells benchmarks apart; leave it out for {kind}.")
    if kind in ("models", "metrics") and (region or offline):
        raise ConfigurationError(f"--region and --offline are for benchmarks and data; leave them out for {kind}.")
    form = form or ("table" if sys.stdout.isatty() else "names")
    if form == "names" and not (region or what or public or offline):
        from brainscore_vision.loading import known_identifiers

        rows = [{"identifier": identifier} for identifier in known_identifiers(kind)]
    else:
        rows = list({"benchmarks": _benchmarks, "data": _data, "stimulus_sets": _data}.get(kind, _others)(kind))
    filters = {"region": region, "kind": what, "access": "public" if public else None}
    for column, value in filters.items():
        rows = [row for row in rows if value is None or value.casefold() in _parts(row[column])]
    rows = [row for row in rows if not offline or row["data here"] == "yes"]
    _print(rows, form)
    return 0


def _parts(cell: str) -> list[str]:
    return [part.strip().casefold() for part in cell.split(",")]


def _print(rows: list[_Row], form: str) -> None:
    if form == "json":
        print(json.dumps(rows, indent=2))  # noqa: T201 - the result
    elif form == "names":
        for row in rows:
            print(row["identifier"])  # noqa: T201 - the result
    else:
        header = list(rows[0]) if rows else ["identifier"]
        command_line.print_table([name.upper() for name in header], [list(row.values()) for row in rows])
        command_line.say(f"{len(rows)} found.")


def _benchmarks(_: str) -> Iterator[_Row]:
    from brainscore_vision.catalogue.facts import benchmark_facts

    for facts in benchmark_facts(tell=command_line.say):
        yield {
            "identifier": facts.identifier,
            "region": facts.region or "-",
            "kind": facts.kind or "-",
            "access": _access(facts.public),
            "data here": facts.here,
        }


def _data(kind: str) -> Iterator[_Row]:
    from brainscore_vision.catalogue.entries import entries, metadata_of

    for entry in entries():
        if entry.kind == kind.removesuffix("s"):
            yield {
                "identifier": entry.identifier,
                "region": _text(metadata_of(entry.plugin.directory).get("region")),
                "access": _access(entry.is_public),
                "data here": "yes" if entry.cached == "-" else entry.cached,
                "plugin": entry.plugin.name,
            }


def _others(kind: str) -> Iterator[_Row]:
    from brainscore_core.plugin_management.registry import kind_named
    from brainscore_vision.catalogue.entries import metadata_of, plugin_index

    plugin_kind = kind_named(kind)
    plugins = {
        name: plugin
        for plugin in plugin_index().plugins(plugin_kind.folder)
        for name in plugin.identifiers(plugin_kind)
    }
    for identifier in sorted(plugins):
        plugin: Plugin = plugins[identifier]
        metadata = metadata_of(plugin.directory)
        yield {
            "identifier": identifier,
            "access": _text(metadata.get("access")),
            "licence": _text(metadata.get("licence")),
            "plugin": plugin.name,
        }


def _access(is_public: bool) -> str:
    return "public" if is_public else "private"


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else "-" if value is None else str(value)
