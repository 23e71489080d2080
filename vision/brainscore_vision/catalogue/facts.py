"""Know of each benchmark which region, which kind, who may run it and which data it needs; remembered between calls.

To know its data, a benchmark is made once, without any data (see `needs`); what came out is kept in the cache until its
plugin or the library changes. Nothing is installed for that: of a plugin that cannot be imported as things are, the
data stay unknown.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_core.config import settings
from brainscore_core.identity.digest import text_digest
from brainscore_core.identity.sources import library_digest
from brainscore_core.identity.stamp import folder_stamps
from brainscore_core.identity.store import Store
from brainscore_core.plugin_management.registry import FOLDERS, KINDS
from brainscore_vision import hierarchy
from brainscore_vision.catalogue.entries import Entry, entries, is_public, metadata_of, plugin_index

if TYPE_CHECKING:
    from brainscore_core.plugin_management.index import Plugin

__all__ = ["BenchmarkFacts", "benchmark_facts"]

_FORMAT = 1  # of what is kept
_MOST_BYTES = 64 * 2**20  # of facts, most of them of plugins as they once were


@dataclass(frozen=True, kw_only=True)
class BenchmarkFacts:
    """What is known about a benchmark without its data.

    Attributes
    ----------
    identifier : str
        Key in ``benchmark_registry``.
    plugin : Plugin
        That registers it.
    parent : str or None
        The node of the hierarchy that it stands below; None: it is in no average, or that is not known.
    region : str or None
        Such as ``'IT'``; None where no region was recorded, or none is said.
    kind : str or None
        ``'neural'``, ``'behavior'`` or ``'engineering'``.
    public : bool
        Whether everybody may have its data.
    data : tuple of Entry or None
        What it loads; None if the benchmark cannot be made as things are.
    """

    identifier: str
    plugin: Plugin
    parent: str | None
    region: str | None
    kind: str | None
    public: bool
    data: tuple[Entry, ...] | None

    @property
    def here(self) -> str:
        """Whether its data are here: ``'yes'``, ``'partly'``, ``'no'``, or ``'?'`` where it is not known.

        Data without files, which are made when they are needed, are here.
        """
        if self.data is None:
            return "?"
        states = {entry.cached for entry in self.data} - {"-"}
        if not states or states == {"yes"}:
            return "yes"
        return "no" if states == {"no"} else "partly"


def benchmark_facts(identifier: str | None = None, tell: Callable[[str], None] | None = None) -> list[BenchmarkFacts]:
    """Return the facts about all benchmarks, sorted by identifier, or about one.

    Parameters
    ----------
    identifier : str, optional
        Only this one; the list is empty if no plugin registers it literally.
    tell : callable, optional
        Is told if benchmarks have to be made, which takes a while.
    """
    cached = Store(settings().cache_home / "benchmark-facts", _MOST_BYTES)
    library = library_digest(Path(hierarchy.__file__).parent, FOLDERS)
    entry_of = {(entry.kind, entry.identifier): entry for entry in entries()}
    told = tell is None
    found = []
    for plugin in plugin_index().plugins("benchmarks"):
        wanted = [name for name in plugin.identifiers(KINDS["benchmark"]) if identifier in (None, name)]
        if not wanted:
            continue
        file_name = _cache_name(plugin, library)
        content = cached.read_json(file_name)
        kept: dict[str, dict[str, object]] = content if isinstance(content, dict) else {}
        missing = [name for name in wanted if name not in kept]
        if missing and not told and tell is not None:
            tell("Looking up what benchmarks need; that is remembered ...")
            told = True
        if missing:
            kept |= {name: _look(name) for name in missing}
            cached.write_json(file_name, kept)
            cached.make_room()
        found += [_facts(name, plugin, kept[name], entry_of) for name in dict.fromkeys(wanted)]
    return sorted(found, key=lambda facts: facts.identifier)


def _look(identifier: str) -> dict[str, object]:
    from brainscore_vision.catalogue.needs import made_and_noted  # brings NumPy

    with _installing_nothing():
        try:
            benchmark, noted = made_and_noted(identifier)
        except Exception:  # noqa: BLE001 - of a plugin: what it needs is not known then
            return {"parent": None, "data": None}
    return {"parent": getattr(benchmark, "parent", None), "data": [list(each) for each in noted]}


@contextlib.contextmanager
def _installing_nothing() -> Iterator[None]:
    name = "BS_INSTALL_DEPENDENCIES"
    before = os.environ.get(name)
    os.environ[name] = "no"  # settings are read from there when they are needed
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _facts(
    identifier: str, plugin: Plugin, kept: Mapping[str, object], entry_of: Mapping[tuple[str, str], Entry]
) -> BenchmarkFacts:
    path, asked = _path_to(kept.get("parent")), kept.get("data")
    data = _with_stimuli(asked, entry_of) if isinstance(asked, list) else None
    return BenchmarkFacts(
        identifier=identifier,
        plugin=plugin,
        parent=path[-1] if path else None,
        region=_region(identifier, path, plugin),
        kind=path[1] if len(path) > 1 else _kind(plugin),
        # One file for all variants of a benchmark cannot say of each; its data can.
        public=is_public(identifier, plugin.directory) and all(entry.is_public for entry in data or ()),
        data=data,
    )


def _path_to(parent: object) -> Sequence[str]:
    return hierarchy.path_to(parent) if isinstance(parent, str) and parent in hierarchy.nodes() else ()


def _region(identifier: str, path: Sequence[str], plugin: Plugin) -> str | None:
    """Return the region that the identifier names, else the one that the benchmark stands below, or its only one."""
    said = metadata_of(plugin.directory).get("region")
    regions = [str(each) for each in said] if isinstance(said, list) else [str(said)] if said else []
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


def _with_stimuli(data: Sequence[Sequence[str]], entry_of: Mapping[tuple[str, str], Entry]) -> tuple[Entry, ...]:
    named = [entry_of[kind, name] for kind, name in data if (kind, name) in entry_of]
    shown = [entry_of.get(("stimulus_set", entry.stimulus_set or "")) for entry in named]
    return tuple(dict.fromkeys([*named, *(entry for entry in shown if entry is not None)]))


# What is kept ---------------------------------------------------------------------------------------------------------


def _cache_name(plugin: Plugin, library: str) -> str:
    parts = [_FORMAT, str(plugin.directory), list(folder_stamps(plugin.directory)), library]
    return f"{text_digest(json.dumps(parts))[:32]}.json"
