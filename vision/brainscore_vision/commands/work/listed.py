"""List registered identifiers, without running their plugins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from brainscore_core import command_line
from brainscore_core.plugin_management.registry import kind_named
from brainscore_vision.catalogue.entries import entries, metadata_of, plugin_index
from brainscore_vision.catalogue.facts import benchmark_facts
from brainscore_vision.loading import known_identifiers

if TYPE_CHECKING:
    from brainscore_core.plugin_management.index import Plugin

__all__ = ["rows_of", "with_folders"]


def rows_of(kind: str, *, schemes: bool = False) -> list[dict[str, str]]:
    """Return a row for each identifier of a kind, from column to cell; several values have commas.

    With `schemes`, names of installed libraries count, see `loading.known_identifiers`.
    """
    if kind == "benchmarks":
        return list(_benchmarks())
    return list(_data(kind) if kind in ("data", "stimulus_sets") else _others(kind, schemes=schemes))


def with_folders(kind: str, rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return rows with the folder of each identifier's plugin as column ``where``."""
    folders = {name: str(files[0].parent) for name, files in plugin_index().owners(kind_named(kind)).items()}
    names = [(row["identifier"], f"{row['identifier'].partition(':')[0]}:") for row in rows]
    return [
        {**row, "where": folders.get(name) or folders.get(scheme, "-")}
        for row, (name, scheme) in zip(rows, names, strict=True)
    ]


def _benchmarks() -> Iterator[dict[str, str]]:
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
