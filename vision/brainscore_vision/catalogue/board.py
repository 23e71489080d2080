"""Facts about models and benchmarks for the leaderboard, besides scores.

Plain JSON in the format of `brainscore_web.leaderboard.catalogue`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brainscore_core.errors import ConfigurationError
from brainscore_core.plugin_management.registry import KINDS
from brainscore_core.plugin_management.source import PluginSource, read_plugin
from brainscore_core.records.record import file_name_of
from brainscore_core.untrusted import ADDRESS
from brainscore_vision import hierarchy
from brainscore_vision.catalogue.describe import first_sentence, licence_of
from brainscore_vision.catalogue.entries import metadata_of, plugin_index, stated_facts
from brainscore_vision.catalogue.facts import BenchmarkFacts, benchmark_facts
from brainscore_vision.catalogue.references import citation

if TYPE_CHECKING:
    from brainscore_core.plugin_management.index import Plugin

__all__ = ["board_catalogue", "board_nodes"]

_ROOTS = {"neural": "average", "behavior": "average", "engineering": None}
"""Top nodes of the hierarchy -> their parent on the board; engineering does not count in any average."""

_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_MOST = 1_000  # characters of a text on the board


def board_catalogue(*, recorded: Iterable[str] = ()) -> dict[str, list[dict[str, Any]]]:
    """Return ``models``, ``benchmarks`` and ``nodes`` of the hierarchy; unknown facts are omitted.

    Networks of libraries, such as ``timm:resnet18``, are included if they are among the `recorded` models.
    """
    index = plugin_index()
    registered = index.identifiers(KINDS["model"])
    of_libraries = [
        entry
        for name in sorted({name for name in recorded if ":" in name}.difference(registered))
        for plugin, _ in index.find(KINDS["model"], name)
        for entry in _models(plugin, name)
    ]
    models = [entry for plugin in index.plugins("models") for entry in _models(plugin)]
    return {
        "models": [*models, *of_libraries],
        "benchmarks": [_benchmark(facts) for facts in benchmark_facts()],
        "nodes": list(board_nodes()),
    }


def board_nodes() -> Iterator[dict[str, Any]]:
    """Yield the inner nodes of the board's tree, each with its parent, if any."""
    yield {"identifier": "average", "name": "Average"}
    for node in hierarchy.nodes()[1:]:
        path = hierarchy.path_to(node)
        entry = {"identifier": node, "kind": path[1], "parent": _ROOTS[node] if len(path) == 2 else path[-2]}
        if node in _ROOTS:
            entry["name"] = node.capitalize()
        if path[1] == "neural" and len(path) > 2:
            is_experiment = re.search(r"\d{4}$", path[2])  # of several regions: its name ends in a year
            is_region = path[2] in hierarchy.children("neural") and not is_experiment
            entry["region"] = path[2] if is_region else None
        yield {name: value for name, value in entry.items() if value is not None}


def _models(plugin: Plugin, *names: str) -> Iterator[dict[str, Any]]:
    source, metadata = read_plugin(plugin.directory, plugin.module), metadata_of(plugin.directory)
    about = _about(plugin, source, metadata)
    year = _YEAR.search(str(metadata.get("citation") or about.get("bibtex") or ""))
    for name in names or dict.fromkeys(plugin.identifiers(KINDS["model"])):
        stated = stated_facts(name)
        url = str(stated.get("url", ""))
        yield {
            "identifier": name,
            "public": metadata.get("access", "public") == "public",
            "load": f"load_model({name!r})",
            **{fact: value for fact, value in about.items() if fact != "licence" or not stated},
            **_stated(
                licence=_line(stated.get("licence")) if stated else about.get("licence"),
                url=url if ADDRESS.fullmatch(url) else about.get("url"),
                family=_line(stated.get("family") or metadata.get("family")),
                year=stated.get("year") or (int(year.group()) if year else None),
                training=_line(stated.get("training") or metadata.get("training_data")),
                parameters=_of_identifier(stated.get("parameters") or metadata.get("parameters"), name),
                imagenet=_of_identifier(stated.get("imagenet") or metadata.get("imagenet_top1"), name),
                image_size=_of_identifier(stated.get("image_size") or metadata.get("image_size"), name),
                description=_line(first_sentence(source)),
                atlas=_atlas(plugin.directory, name),
            ),
        }


def _atlas(directory: Path, identifier: str) -> dict[str, Any] | None:
    file = directory / "layer_atlas" / f"{file_name_of(identifier)}.json"
    try:
        atlas = json.loads(file.read_bytes())
        regions = [
            {
                **{name: region[name] for name in ("region", "benchmark", "simulated")},
                "scores": [layer["score"] for layer in region["scores"]],
            }
            for region in atlas["regions"]
        ]
        return {"layers": atlas["layers"], "regions": regions}
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{file} is not an atlas of layers ({type(error).__name__}: {error}). Write it with: brainscore atlas "
            f"{identifier} --output {identifier}.json"
        ) from error


def _benchmark(facts: BenchmarkFacts) -> dict[str, Any]:
    plugin = facts.plugin
    source, metadata = read_plugin(plugin.directory, plugin.module), metadata_of(plugin.directory)
    nodes = hierarchy.nodes()[1:]
    return {
        "identifier": facts.identifier,
        "public": facts.access == "public",
        "simulated": metadata.get("technique") == "simulation",
        **_about(plugin, source, metadata),
        **_stated(
            parent=facts.parent if facts.parent in nodes else None,
            region=facts.region,
            kind=facts.kind,
            paradigm=_line(first_sentence(source)),
            data=[entry.identifier for entry in facts.data or ()] or None,
        ),
        **_metric(facts.metric),
    }


def _metric(identifier: str | None) -> dict[str, Any]:
    """Return a metric's summary, the first sentence of its plugin, and the plugin's folder."""
    for plugin, _ in plugin_index().find(KINDS["metric"], identifier) if identifier else ():
        sentence = _line(first_sentence(read_plugin(plugin.directory, plugin.module)))
        return _stated(metric=sentence, metric_plugin=f"vision/{_folder(plugin.directory)}")
    return {}


def _about(plugin: Plugin, source: PluginSource, metadata: Mapping[str, object]) -> dict[str, Any]:
    doi, contact = metadata.get("doi"), str(metadata.get("contact", ""))
    address = f"https://doi.org/{doi}" if doi else contact
    return _stated(
        licence=_line(licence_of(plugin.directory, source, metadata)),
        bibtex=citation(source),
        reference=_line(metadata.get("citation")),
        url=address if ADDRESS.fullmatch(address) else None,
        plugin=_folder(plugin.directory),
    )


def _folder(directory: Path) -> str:
    return "/".join(directory.parts[-3:])


def _of_identifier(value: object, identifier: str) -> object:
    number = value.get(identifier) if isinstance(value, Mapping) else value
    return number if isinstance(number, (int, float)) and not isinstance(number, bool) else None


def _line(value: object) -> str | None:
    text = " ".join("".join(char if char.isprintable() else " " for char in str(value or "")).split())
    return text[:_MOST] or None


def _stated(**values: object) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
