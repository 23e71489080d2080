"""Region, kind, access, metric and data of each benchmark, cached until its plugin or the library changes.

A benchmark of the library is built once without data (see `needs`). Those of outside folders are not built, since that
would run a stranger's code to list names: their facts are those of their names and their ``metadata.yml``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_core.config import installing_nothing, settings
from brainscore_core.identity.digest import folder_stamps, text_digest
from brainscore_core.identity.software import library_digest
from brainscore_core.identity.store import Store
from brainscore_core.plugin_management.registry import FOLDERS, KINDS
from brainscore_core.plugin_management.source import filled, read_files
from brainscore_vision import hierarchy
from brainscore_vision.catalogue.entries import Entry, access_of, entries, metadata_of, plugin_index

if TYPE_CHECKING:
    from brainscore_core.plugin_management.index import Plugin

__all__ = ["BenchmarkFacts", "benchmark_facts"]

_FORMAT = 2  # of cached files
_MOST_BYTES = 64 * 2**20  # facts, mostly of earlier versions of plugins


@dataclass(frozen=True, kw_only=True)
class BenchmarkFacts:
    """Facts about a benchmark, available without its data.

    Attributes
    ----------
    parent
        Its node of the hierarchy; None if in no average, or unknown.
    region
        Recorded region, such as ``'IT'``; None if none is stated.
    kind
        ``'neural'``, ``'behavior'`` or ``'engineering'``.
    access
        ``'public'`` if the benchmark and all its data are; ``'private'`` if one of them is; otherwise None: some
        do not state who may read them. See `access_of`.
    metric
        Identifier of its metric: the first that it loads; if it loads none, the end of its name or the ``metric`` of
        its ``metadata.yml``. None if no metric of that name is registered.
    data
        Data it loads; None if the benchmark cannot be built here, or is of an outside folder.
    """

    identifier: str
    plugin: Plugin
    parent: str | None
    region: str | None
    kind: str | None
    access: str | None
    metric: str | None
    data: tuple[Entry, ...] | None

    @property
    def here(self) -> str:
        """``'yes'``, ``'partly'`` or ``'no'``: its data are cached or generated; ``'?'`` if unknown."""
        if self.data is None:
            return "?"
        states = {entry.cached for entry in self.data} - {"-"}
        if not states or states == {"yes"}:
            return "yes"
        return "no" if states == {"no"} else "partly"


def benchmark_facts(identifier: str | None = None, tell: Callable[[str], None] | None = None) -> list[BenchmarkFacts]:
    """Return facts about all benchmarks, sorted by identifier, or about one that a plugin registers literally.

    `tell` is called with a message before benchmarks are built, which takes a while.
    """
    cached = Store(settings().cache_home / "benchmark-facts", _MOST_BYTES)
    library = library_digest(Path(hierarchy.__file__).parent, FOLDERS)
    entry_of = {(entry.kind, entry.identifier): entry for entry in entries()}
    metrics = plugin_index().identifiers(KINDS["metric"])
    announced = tell is None
    result = []
    for plugin in plugin_index().plugins("benchmarks"):
        names = [name for name in plugin.identifiers(KINDS["benchmark"]) if identifier in (None, name)]
        if not names:
            continue
        if plugin.root.rank:
            result += [_facts(name, plugin, {}, entry_of, metrics) for name in dict.fromkeys(names)]
            continue
        key = json.dumps([_FORMAT, str(plugin.directory), list(folder_stamps(plugin.directory)), library])
        file_name = f"{text_digest(key)[:32]}.json"
        content = cached.read_json(file_name)
        stored: dict[str, dict[str, object]] = content if isinstance(content, dict) else {}
        missing = [name for name in names if name not in stored]
        if missing and not announced and tell is not None:
            tell("Looking up the data of benchmarks; the result is cached ...")
            announced = True
        if missing:
            stored |= {name: _look(name) for name in missing}
            cached.write_json(file_name, stored)
            cached.make_room()
        result += [_facts(name, plugin, stored[name], entry_of, metrics) for name in dict.fromkeys(names)]
    return sorted(result, key=lambda facts: facts.identifier)


def _look(identifier: str) -> dict[str, object]:
    from brainscore_vision.catalogue.needs import made_and_noted  # brings NumPy

    with installing_nothing():
        try:
            benchmark, loads = made_and_noted(identifier)
        except Exception:  # noqa: BLE001 - code of a plugin; its data stay unknown
            return {"parent": None, "data": None}
    metrics = [name for kind, name in loads if kind == "metric"]
    return {
        "parent": getattr(benchmark, "parent", None),
        "data": [list(load) for load in loads if load[0] != "metric"],
        "metric": metrics[0] if metrics else None,
    }


def _facts(
    identifier: str,
    plugin: Plugin,
    kept: Mapping[str, object],
    entry_of: Mapping[tuple[str, str], Entry],
    metrics: Collection[str],
) -> BenchmarkFacts:
    parent, asked = kept.get("parent"), kept.get("data")
    data: tuple[Entry, ...] | None = None
    path = hierarchy.path_to(parent) if isinstance(parent, str) and parent in hierarchy.nodes() else ()
    if isinstance(asked, list):
        named = [entry_of[kind, name] for kind, name in asked if (kind, name) in entry_of]
        stimulus_sets = [entry_of.get(("stimulus_set", entry.stimulus_set or "")) for entry in named]
        data = tuple(dict.fromkeys([*named, *filter(None, stimulus_sets)]))
    # metadata.yml covers all variants of a benchmark; only their data tell them apart.
    access = {access_of(identifier, plugin.directory)}
    if data is not None:
        access |= {entry.access for entry in data}
    elif access != {"public"}:
        access |= _access_of_named(plugin, entry_of.values())
    named_metrics = kept.get("metric"), identifier.rpartition("-")[2], metadata_of(plugin.directory).get("metric")
    return BenchmarkFacts(
        identifier=identifier,
        plugin=plugin,
        parent=path[-1] if path else None,
        region=_region(identifier, path, plugin),
        kind=path[1] if len(path) > 1 else _kind(plugin),
        access="private" if "private" in access else None if None in access else "public",
        metric=next((name for name in named_metrics if isinstance(name, str) and name in metrics), None),
        data=data,
    )


def _access_of_named(plugin: Plugin, known: Iterable[Entry]) -> set[str | None]:
    """Return the access of data that the sources of a benchmark name, which is not built.

    A name that only a run can tell may be that of any data, private ones too.
    """
    access: set[str | None] = set()
    for file in read_files(plugin.directory).values():
        loads = [load.pattern for load in file.facts.loads if load.kind in ("data", "stimulus_set")]
        access |= {
            entry.access
            for entry in known
            if entry.identifier in file.facts.texts or any(filled(load, entry.identifier) is not None for load in loads)
        }
    return access


def _region(identifier: str, path: Sequence[str], plugin: Plugin) -> str | None:
    said = metadata_of(plugin.directory).get("region")
    regions = [str(region) for region in said] if isinstance(said, list) else [str(said)] if said else []
    named = identifier.rpartition(".")[2].partition("-")[0].partition("_")[0]
    if named in regions or named in hierarchy.children("neural"):
        return named
    if len(path) > 2 and path[1] == "neural" and path[2] in (regions or hierarchy.children("neural")):
        return path[2]
    return regions[0] if len(regions) == 1 else None


def _kind(plugin: Plugin) -> str | None:
    metadata = metadata_of(plugin.directory)
    if "region" in metadata and "behaviour" not in metadata:
        return "neural"
    return "behavior" if "behaviour" in metadata and "region" not in metadata else None
