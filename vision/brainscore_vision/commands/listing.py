"""The commands ``brainscore list`` and ``info``: registered identifiers, and the description of each."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from brainscore_core import command_line
from brainscore_core.errors import ConfigurationError
from brainscore_core.plugin_management.index import label_of
from brainscore_core.plugin_management.registry import kind_named
from brainscore_vision.catalogue.completion import complete_identifier
from brainscore_vision.catalogue.entries import entries, metadata_of, plugin_index
from brainscore_vision.commands.data import print_descriptions
from brainscore_vision.loading import known_identifiers

if TYPE_CHECKING:
    from brainscore_core.plugin_management.index import Plugin

__all__ = ["info", "list_identifiers"]

_Kind = Literal["models", "benchmarks", "metrics", "data", "stimulus_sets"]


def list_identifiers(
    kind: Annotated[_Kind, typer.Argument(show_default=False)],
    region: Annotated[
        str | None, typer.Option(metavar="NAME", help="only this region, such as IT", show_default=False)
    ] = None,
    what: Annotated[
        Literal["neural", "behavior", "engineering"] | None,
        typer.Option("--kind", help="only benchmarks of this kind", show_default=False),
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="only public entries")] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="only entries with all their data on this machine")
    ] = False,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="also list models that cannot be loaded, with the reason, and networks of installed libraries"
        ),
    ] = False,
    where: Annotated[bool, typer.Option("--where", help="also show the folder of each plugin")] = False,
    form: Annotated[
        Literal["table", "names", "json"] | None,
        typer.Option(
            "--format", help="default: a table in a terminal, otherwise one name per line", show_default=False
        ),
    ] = None,
) -> int:
    """List the registered identifiers of one kind, with facts about them."""
    if kind != "benchmarks" and what is not None:
        raise ConfigurationError(f"--kind is for benchmarks only; leave it out for {kind}.")
    if kind in ("models", "metrics") and (region or offline):
        raise ConfigurationError(f"--region and --offline are for benchmarks and data only; leave them out for {kind}.")
    form = form or ("table" if sys.stdout.isatty() else "names")
    if form == "names" and not (region or what or public or offline or where):
        identifiers = known_identifiers(kind, schemes=every)
        plugins = plugin_index().plugins(kind) if kind == "models" and every else ()
        unavailable = [identifier for plugin in plugins for identifier in plugin.unavailable]
        rows = [{"identifier": identifier} for identifier in sorted({*identifiers, *unavailable})]
    else:
        rows = _rows_of(kind, schemes=every)
    if region is not None:
        regions = sorted({name for row in rows for name in row["region"].split(", ")} - {"-"})
        if region.casefold() not in map(str.casefold, regions):
            raise ConfigurationError(
                f"No {kind} are registered for the region {region!r}; expected one of {', '.join(regions)}."
            )
    filters = {"region": region, "kind": what, "access": "public" if public else None}
    for column, value in filters.items():
        rows = [row for row in rows if value is None or value.casefold() in row[column].casefold().split(", ")]
    rows = [row for row in rows if not offline or row["data here"] == "yes"]
    if where:
        rows = _with_folders(kind, rows)
    _print(rows, form)
    if computing := plugin_index().computing(kind_named(kind)):
        names = ", ".join(map(label_of, computing))
        command_line.say(f"Not shown: identifiers that these plugins compute when they run: {names}.")
    return 0


def _rows_of(kind: str, *, schemes: bool = False) -> list[dict[str, str]]:
    """Return a row for each identifier of a kind, from column to cell; several values have commas.

    With `schemes`, names of installed libraries count, see `loading.known_identifiers`.
    """
    if kind == "benchmarks":
        return list(_benchmarks())
    return list(_data(kind) if kind in ("data", "stimulus_sets") else _others(kind, schemes=schemes))


def _with_folders(kind: str, rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return rows with the folder of each identifier's plugin as column ``where``."""
    folders = {name: str(files[0].parent) for name, files in plugin_index().owners(kind_named(kind)).items()}
    names = [(row["identifier"], f"{row['identifier'].partition(':')[0]}:") for row in rows]
    return [
        {**row, "where": folders.get(name) or folders.get(scheme, "-")}
        for row, (name, scheme) in zip(rows, names, strict=True)
    ]


def _benchmarks() -> Iterator[dict[str, str]]:
    from brainscore_vision.catalogue.facts import benchmark_facts  # slow to import, and completion does without

    for facts in benchmark_facts(tell=command_line.say):
        yield {
            "identifier": facts.identifier,
            "region": facts.region or "-",
            "kind": facts.kind or "-",
            "access": _access(facts.access),
            "data here": facts.here,
        }


def _data(kind: str) -> Iterator[dict[str, str]]:
    for entry in entries():
        if entry.kind == kind.removesuffix("s"):
            yield {
                "identifier": entry.identifier,
                "region": _text(metadata_of(entry.plugin.directory).get("region")),
                "access": _access(entry.access),
                "data here": "yes" if entry.cached == "-" else entry.cached,
                "plugin": entry.plugin.name,
            }


def _others(kind: str, *, schemes: bool) -> Iterator[dict[str, str]]:
    plugin_kind = kind_named(kind)
    plugins: dict[str, Plugin] = {}
    reasons: dict[str, str] = {}
    for plugin in plugin_index().plugins(plugin_kind.folder):
        unavailable = plugin.unavailable if schemes else {}
        reasons.update(unavailable)
        own = (*plugin.identifiers(plugin_kind), *plugin.identifiers(plugin_kind, schemes=True))
        plugins.update(dict.fromkeys([*own, *unavailable], plugin))
    known = set(known_identifiers(kind, schemes=schemes))
    for identifier in sorted({*known, *reasons}):
        found = plugins.get(identifier) or plugins.get(f"{identifier.partition(':')[0]}:")
        if found is None:  # registered at run time
            continue
        metadata = metadata_of(found.directory)
        state = "can be loaded" if identifier in known else f"cannot be loaded: {reasons[identifier]}"
        yield {
            "identifier": identifier,
            "access": _text(metadata.get("access")),
            "licence": _text(metadata.get("licence")),
            "plugin": found.name,
            **({"state": state} if schemes else {}),
        }


def _access(access: str | None) -> str:
    return "public" if access == "public" else "private"


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else "-" if value is None else str(value)


def _print(rows: list[dict[str, str]], form: str) -> None:
    if form == "json":
        command_line.show(json.dumps(rows, indent=2))
    elif form == "names":
        for row in rows:
            command_line.show("\t".join(row[column] for column in ("identifier", "where") if column in row))
    else:
        header = list(rows[0]) if rows else ["identifier"]
        command_line.print_table([name.upper() for name in header], [list(row.values()) for row in rows])
        command_line.say(f"{len(rows)} found.")


def info(
    name: Annotated[
        str,
        typer.Argument(
            help="a model, benchmark, metric, data or stimulus set, or the folder of a plugin",
            autocompletion=complete_identifier,
            show_default=False,
        ),
    ],
) -> int:
    """Describe any plugin: kind, requirements, licence, ceiling, how to cite it; runs no code of other folders."""
    from brainscore_vision.catalogue.describe import describe

    print_descriptions(describe(name, tell=command_line.say))
    return 0
