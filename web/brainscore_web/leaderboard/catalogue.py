"""Describe models and benchmarks besides their scores; read from untrusted JSON, without importing a domain.

Names and texts may hold any character: escape them before display. Addresses must be ``http(s)``.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import entry_points
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, Strict, TypeAdapter

from brainscore_core.errors import ConfigurationError, CorruptFileError, count, did_you_mean
from brainscore_core.untrusted import (
    Address,
    Flag,
    Identifier,
    Line,
    PathText,
    Untrusted,
    at_most,
    matching,
    read,
    text,
)

ROOTS = {"average": "Average", "engineering": "Engineering", "simulated": "Simulated", "other": "Outside all averages"}
"""Roots of the tree, in the order of the board. Simulated benchmarks are below `simulated` whatever their parent,
benchmarks without a parent below `other`; neither root has an average."""

_MOST_BYTES, _MOST_ENTRIES, _MOST_BIBTEX, _MOST_IN_LIST, _MOST_REGIONS = 64 * 2**20, 100_000, 20_000, 1_000, 100
_PICTURE = re.compile(r"(?!/|(.*/)?\.\./)[\w./+=@,() -]+\.(png|jpg|jpeg|gif|webp)", re.ASCII)


def _named(value: str) -> str:
    if not value or not value.isprintable():
        raise ValueError("expected a name of printable characters")
    return value


_Named = Annotated[Line, AfterValidator(_named)]
Kind = Literal["neural", "behavior", "engineering"]
_Bibtex = Annotated[str, text(_MOST_BIBTEX)]
_Picture = Annotated[PathText, matching(_PICTURE, "a path of a picture inside the folder of the catalogue")]
_Amount = Annotated[int, Strict(), Field(ge=0, le=10**15)]
_Score = Annotated[float, Strict(), Field(gt=-1e6, lt=1e6)]
_Year = Annotated[int, Strict(), Field(ge=1900, le=2200)]


@dataclass(frozen=True, kw_only=True)
class AtlasRegion(Untrusted):
    """The score of each layer of a model for one region, on one benchmark."""

    region: _Named
    benchmark: Identifier
    simulated: Flag
    scores: Annotated[tuple[_Score | None, ...], at_most(_MOST_IN_LIST)]


@dataclass(frozen=True, kw_only=True)
class Atlas(Untrusted):
    """Scores of all layers of a model, early to late, for some regions."""

    layers: Annotated[tuple[Line, ...], at_most(_MOST_IN_LIST)]
    regions: Annotated[tuple[AtlasRegion, ...], at_most(_MOST_REGIONS)]


@dataclass(frozen=True, kw_only=True)
class ModelEntry(Untrusted):
    """Facts about a model; None: unknown.

    Attributes
    ----------
    name
        Display name; None: the identifier.
    family, training
        Such as ``'ResNet'``, ``'ImageNet-1k'``.
    imagenet
        Top-1 accuracy on ImageNet, in [0, 1].
    image_size
        Side of the pictures that it takes, pixels.
    plugin
        Folder of its plugin, relative to the repository.
    load
        A line of Python that loads it.
    """

    identifier: Identifier
    name: _Named | None = None
    family: _Named | None = None
    year: _Year | None = None
    parameters: _Amount | None = None
    training: _Named | None = None
    public: Flag = True
    imagenet: Annotated[float, Field(ge=0, le=1)] | None = None
    image_size: _Amount | None = None
    licence: Line | None = None
    bibtex: _Bibtex | None = None
    reference: Line | None = None
    url: Address | None = None
    description: Line | None = None
    plugin: PathText | None = None
    load: Line | None = None
    atlas: Atlas | None = None


@dataclass(frozen=True, kw_only=True)
class BenchmarkEntry(Untrusted):
    """Facts about a benchmark; None: unknown.

    Attributes
    ----------
    parent
        The node above; None: in no average.
    public
        Whether its data are public.
    shows : {'all', 'score', 'nothing'}
        Part of its results that may be shown: ``'score'`` hides raw values, sizes and messages. ``'nothing'`` also
        excludes it from averages, since they would reveal its scores.
    paradigm
        The task and stimuli, in a sentence.
    metric, metric_plugin
        Summary of its metric in a sentence, and the folder of its plugin, relative to the repository.
    data
        Identifiers of its data.
    stimuli
        Paths of example pictures, relative to the folder of the catalogue.
    """

    identifier: Identifier
    name: _Named | None = None
    parent: Identifier | None = None
    region: _Named | None = None
    kind: Kind | None = None
    public: Flag = True
    simulated: Flag = False
    shows: Literal["all", "score", "nothing"] = "all"
    licence: Line | None = None
    bibtex: _Bibtex | None = None
    reference: Line | None = None
    url: Address | None = None
    paradigm: Line | None = None
    metric: Line | None = None
    metric_plugin: PathText | None = None
    plugin: PathText | None = None
    data: Annotated[tuple[Line, ...], at_most(_MOST_IN_LIST)] = ()
    stimuli: Annotated[tuple[_Picture, ...], at_most(_MOST_IN_LIST)] = ()


@dataclass(frozen=True, kw_only=True)
class NodeEntry(Untrusted):
    """An inner node, the average of its children; `parent` is None for a root."""

    identifier: Identifier
    name: _Named | None = None
    parent: Identifier | None = None
    region: _Named | None = None
    kind: Kind | None = None


@dataclass(frozen=True, kw_only=True)
class Catalogue(Untrusted):
    """Facts about all models and benchmarks, and the tree of averages; identifiers are unique.

    Attributes
    ----------
    nodes
        In display order.
    notice
        Text at the top of every page.
    """

    models: Annotated[tuple[ModelEntry, ...], at_most(_MOST_ENTRIES)] = ()
    benchmarks: Annotated[tuple[BenchmarkEntry, ...], at_most(_MOST_ENTRIES)] = ()
    nodes: Annotated[tuple[NodeEntry, ...], at_most(_MOST_ENTRIES)] = ()
    notice: Line | None = None

    @classmethod
    def from_json(cls, data: str | bytes) -> Catalogue:
        """Read the JSON of `to_json`.

        Raises `CorruptFileError` if the JSON has another form, a duplicate identifier or an unknown parent.
        """
        catalogue = read(_CATALOGUE, data, "catalogue", _MOST_BYTES)
        catalogue.validate()
        return catalogue

    def to_json(self) -> str:
        """Return JSON text without unknown values."""
        content: dict[str, object] = {
            part: [_stated(entry) for entry in getattr(self, part)] for part in ("models", "benchmarks", "nodes")
        }
        if self.notice is not None:
            content |= {"notice": self.notice}
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def validate(self) -> None:
        """Raise if the catalogue contradicts itself; see `from_json`."""
        problems = [
            *(f"{name!r} occurs twice among its models" for name in _twice(entry.identifier for entry in self.models)),
            *(
                f"{name!r} occurs twice among its benchmarks and nodes"
                for name in _twice(entry.identifier for entry in self._entries)
            ),
            *self._problems_of_tree(),
            *(
                f"the atlas of {model.identifier!r} has {count(len(region.scores), 'score')} for {region.region!r}, "
                f"expected one (or null) for each of {len(model.atlas.layers)} layers"
                for model in self.models
                if model.atlas is not None
                for region in model.atlas.regions
                if len(region.scores) != len(model.atlas.layers)
            ),
        ]
        if problems:
            raise CorruptFileError(f"The catalogue is invalid: {'; '.join(problems[:3])}.")

    @property
    def _entries(self) -> list[BenchmarkEntry | NodeEntry]:
        return [*self.benchmarks, *self.nodes]

    def _problems_of_tree(self) -> Iterator[str]:
        parents = {node.identifier: node.parent for node in self.nodes}
        for entry in self._entries:
            if entry.parent is not None and entry.parent not in parents:
                hint = did_you_mean(entry.parent, parents)
                yield f"the parent of {entry.identifier!r} is {entry.parent!r}, which is not a node.{hint}"
        for node in parents:
            path, above = [node], parents[node]
            while above is not None and above in parents and above not in path:
                path.append(above)
                above = parents[above]
            if above == node:
                yield f"its nodes form a circle: {' > '.join((*path, node))}"

    @cached_property
    def model(self) -> dict[str, ModelEntry]:
        """The entry of each model."""
        return {entry.identifier: entry for entry in self.models}

    @cached_property
    def benchmark(self) -> dict[str, BenchmarkEntry]:
        """The entry of each benchmark."""
        return {entry.identifier: entry for entry in self.benchmarks}

    def with_recorded(self, models: Iterable[str], benchmarks: Iterable[str]) -> Catalogue:
        """Return the catalogue with entries for all recorded models and benchmarks."""
        return dataclasses.replace(
            self,
            models=(*self.models, *(ModelEntry(identifier=name) for name in sorted(set(models) - self.model.keys()))),
            benchmarks=(
                *self.benchmarks,
                *(BenchmarkEntry(identifier=name) for name in sorted(set(benchmarks) - self.benchmark.keys())),
            ),
        )


_CATALOGUE = TypeAdapter(Catalogue)


def catalogues(recorded: Iterable[str] = ()) -> Catalogue:
    """Return the catalogues of all installed domains, which declare functions in the group ``brainscore.catalogues``.

    These get the identifiers of `recorded` models, as a domain may know some by their names alone.

    Raises `ConfigurationError` if no domain is installed.
    """
    declared = {entry.value: entry for entry in entry_points(group="brainscore.catalogues")}
    if not declared:
        raise ConfigurationError(
            "No domain with models and benchmarks is installed (entry points 'brainscore.catalogues'). Install one, "
            "or pass a catalogue file: --catalogue FILE"
        )
    (catalogue, *more) = [entry.load()(recorded=frozenset(recorded)) for entry in declared.values()]
    for other in more:
        for part in catalogue:
            catalogue[part] = [*catalogue[part], *other[part]]
    return Catalogue.from_json(json.dumps(catalogue))


def _stated(entry: ModelEntry | BenchmarkEntry | NodeEntry) -> dict[str, object]:
    defaults = {field.name: field.default for field in dataclasses.fields(entry)}
    values = dataclasses.asdict(entry)
    return {name: value for name, value in values.items() if value != defaults[name]}


def _twice(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
