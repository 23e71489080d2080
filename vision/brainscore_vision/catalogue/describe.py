"""Describe anything registered; only benchmarks of the library are built for it, to find their data (see `facts`)."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_core.errors import UnknownIdentifierError, did_you_mean
from brainscore_core.plugin_management.registry import KINDS, Kind
from brainscore_core.plugin_management.source import read_plugin
from brainscore_core.supported_data_standards.brainio.access import public_variant
from brainscore_vision.catalogue.entries import Entry, access_of, entries, metadata_of, plugin_index, stated_facts
from brainscore_vision.catalogue.model_tables import Row, published_rows
from brainscore_vision.catalogue.references import citation, constant

if TYPE_CHECKING:
    from brainscore_core.plugin_management.index import Plugin
    from brainscore_core.plugin_management.source import PluginSource
    from brainscore_vision.catalogue.facts import BenchmarkFacts

__all__ = ["Description", "describe", "first_sentence", "licence_of", "size_text"]

_EXPERIMENT = ("region", "behaviour", "species", "technique", "n_stimuli", "n_neuroids", "n_subjects")
_STATED = ("family", "parameters", "training", "year", "imagenet", "image_size", "paper", "url")
_COSTS = {"minutes": "minutes", "memory_gb": "GB of memory", "gpus": "GPUs"}
_NOT_STATED = "not stated by the plugin"


@dataclass(frozen=True)
class Description:
    """Facts about one registered identifier: lines of a label and a text."""

    identifier: str
    kind: str
    lines: tuple[tuple[str, str], ...]


def describe(
    identifier: str, kinds: tuple[str, ...] = tuple(KINDS), tell: Callable[[str], None] | None = None
) -> list[Description]:
    """Describe an identifier of some kinds, or all identifiers of the plugin folder with this name.

    `UnknownIdentifierError` if neither exists; see `facts.benchmark_facts` for `tell`.
    """
    index = plugin_index()
    everything = [
        (KINDS[kind], name, plugin)
        for kind in kinds
        for plugin in index.plugins(KINDS[kind].folder)
        for name in dict.fromkeys(plugin.identifiers(KINDS[kind]))
    ]
    matches = [candidate for candidate in everything if candidate[1] == identifier]
    matches = matches or [
        (KINDS[kind], identifier, plugin) for kind in kinds for plugin, _ in index.find(KINDS[kind], identifier)
    ]
    matches = matches or [
        (KINDS["model"], identifier, plugin)
        for plugin in index.plugins("models")
        if "model" in kinds and identifier in plugin.unavailable
    ]
    matches = matches or [candidate for candidate in everything if candidate[2].name == identifier]
    if not matches:
        names = dict.fromkeys(
            [*(candidate[1] for candidate in everything), *(candidate[2].name for candidate in everything)]
        )
        what = " or ".join(kinds)
        raise UnknownIdentifierError(
            f"No {what} and no plugin folder is named {identifier!r}.{did_you_mean(identifier, names)} To list all "
            "names: brainscore list KIND"
        )
    return [
        Description(
            name, kind.name, tuple(_lines(kind, name, plugin, [candidate[1] for candidate in everything], tell))
        )
        for kind, name, plugin in matches
    ]


def _lines(
    kind: Kind, name: str, plugin: Plugin, known: list[str], tell: Callable[[str], None] | None
) -> Iterator[tuple[str, str]]:
    source, metadata = read_plugin(plugin.directory, plugin.module), metadata_of(plugin.directory)
    if what := first_sentence(source):
        yield "what", what
    yield "plugin", str(plugin.directory)
    facts = _facts(name, tell) if kind.name == "benchmark" else None
    public = (access_of(name, plugin.directory) if facts is None else facts.access) == "public"
    if metadata or kind.name != "metric":  # metrics are public
        yield "access", "public" if public else "not public"
    if not public and (variant := public_variant(name, known)):
        yield "public", variant
    for key in _EXPERIMENT:
        if key in metadata and (value := metadata[key] if facts is None else _own(key, metadata[key], facts)):
            yield key.removeprefix("n_"), _text(value)
    if kind.name in ("data", "stimulus_set"):
        yield from _files(next(entry for entry in entries(name) if entry.kind == kind.name))
    if facts is not None:
        yield from _of_benchmark(facts)
    row = published_rows().get(name) if kind.name == "model" else None
    yield from _of_row(row)
    stated = stated_facts(row.source if row is not None and row.library else name)
    for key in _STATED:
        if key in stated:
            yield key.replace("_", " "), f"{stated[key]:,}" if key == "parameters" else _text(stated[key])
    yield from _costs(plugin.directory, metadata)
    yield from _terms(plugin.directory, source, metadata, stated)


def _of_row(row: Row | None) -> Iterator[tuple[str, str]]:
    if row is not None:
        shown = {
            "source": row.source,
            "weights": row.weights,
            "state": row.reason and f"cannot be loaded: {row.reason}",
        }
        yield from ((label, text) for label, text in shown.items() if text)


def _costs(directory: Path, metadata: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    path = directory / "requirements.txt"
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
    if requirements := ", ".join(bare for line in lines if (bare := line.partition("#")[0].strip())):
        yield "requires", requirements
    costs = [f"{metadata[key]} {unit}" for key, unit in _COSTS.items() if key in metadata]
    if costs:
        yield "takes", f"about {' and '.join(costs)}"


def _terms(
    directory: Path, source: PluginSource, metadata: Mapping[str, object], stated: Mapping[str, object]
) -> Iterator[tuple[str, str]]:
    # The plugin's own licence is not that of a library's weights.
    licence = stated.get("licence") if stated else licence_of(directory, source, metadata)
    yield "licence", str(licence or _NOT_STATED)
    if "contact" in metadata:
        yield "contact", str(metadata["contact"])
    bibtex = citation(source)
    yield "citation", str(bibtex or metadata.get("citation") or _NOT_STATED)
    if "doi" in metadata and str(metadata["doi"]) not in (bibtex or ""):
        yield "doi", f"https://doi.org/{metadata['doi']}"


def _files(entry: Entry) -> Iterator[tuple[str, str]]:
    yield "cached", f"{entry.cached}, {size_text(entry.size_bytes)}"
    for file in entry.files:
        yield "bucket", file.source.bucket
        yield "  key", file.source.key
        yield "  version", file.source.version_id or "newest"
        yield "  sha1", file.source.sha1 or "not given"
        yield "  file", f"{file.path}{'' if file.is_cached else ' (absent)'}"
    if not entry.files:
        yield "files", "unknown without running the plugin"


def _facts(name: str, tell: Callable[[str], None] | None) -> BenchmarkFacts:
    from brainscore_vision.catalogue.facts import benchmark_facts  # keeps start-up fast

    (facts,) = benchmark_facts(name, tell)
    return facts


def _own(key: str, value: object, facts: BenchmarkFacts) -> object:
    """Return a plugin's fact as it applies to one of its benchmarks; None if it is about others.

    If there are several regions, it is the benchmark's; with counts by part, it is the count for the part in the
    benchmark's identifier, for its region or for its access. Without such a part all are returned.
    """
    foreign = {"behavior": ("region", "n_neuroids"), "neural": ("behaviour",)}
    if key in foreign.get(facts.kind or "", ()):
        return None
    if key == "region":
        return facts.region or value
    if not isinstance(value, Mapping):
        return value
    named = [part for part in value if re.search(rf"(?<![^\W_]){re.escape(str(part))}(?![^\W_])", facts.identifier)]
    parts = [
        *sorted(named, key=lambda part: len(str(part)), reverse=True),
        facts.region,
        "public" if facts.access == "public" else "private",
    ]
    return next((value[part] for part in parts if part in value), value)


def _of_benchmark(facts: BenchmarkFacts) -> Iterator[tuple[str, str]]:
    yield "kind", ", ".join(part for part in (facts.kind, facts.region) if part) or "not stated"
    if facts.metric:
        yield "metric", facts.metric
    if facts.data is None:
        outside = "its plugin is outside the library, so its code is not run to describe it"
        yield (
            "data",
            f"unknown: {outside if facts.plugin.root.rank else 'the benchmark cannot be loaded on this machine'}",
        )
    for entry in facts.data or ():
        state = {"-": "generated when needed", "yes": "here", "no": "not here"}.get(entry.cached, entry.cached)
        yield "data", f"{entry.identifier} ({entry.kind}, {state})"
    yield "ceiling", _ceiling(facts.identifier)


def _ceiling(benchmark: str) -> str:
    from brainscore_core.config import settings  # keeps start-up fast
    from brainscore_core.records.store import FolderStore  # keeps start-up fast

    records = [record for record in FolderStore(settings().home / "scores") if record.benchmark == benchmark]
    ceiled = [record for record in records if record.ceiling is not None]
    if not ceiled:
        return "known after the first model is scored"
    newest = max(ceiled, key=lambda record: record.created)
    return f"{newest.ceiling:.4f} (version {newest.benchmark_version}, {newest.created[:10]})"


def licence_of(directory: Path, source: PluginSource, metadata: Mapping[str, object]) -> str | None:
    """Return the licence in a plugin's source, ``metadata.yml`` or a file."""
    if licence := constant(source, "LICENSE", "LICENCE") or metadata.get("licence"):
        return str(licence)
    for path in sorted(directory.glob("LICEN[SC]E*")):
        lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return f"{lines[0] if lines else ''} ({path})"
    return None


def first_sentence(source: PluginSource) -> str | None:
    """Return the first paragraph of a plugin's docstring as one line, without "Register" and code marks."""
    init = source.files.get("__init__.py")
    text = ast.get_docstring(init.tree) if init and init.tree else None
    if not text:
        return None
    line = re.sub(r"^Registers? (?:the )?(?=.)", "", " ".join(text.split("\n\n")[0].split())).replace("`", "")
    return line[:1].upper() + line[1:]


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {item}" for name, item in value.items())
    return str(value)


def size_text(size_bytes: int) -> str:
    """Return a size with its unit, such as ``'1.2 MB'``."""
    size = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
