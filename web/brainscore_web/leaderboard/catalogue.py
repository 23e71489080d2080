"""State what is known of models and benchmarks besides their scores, and read it from JSON of any origin.

A domain gives its catalogue as plain JSON, so that this package imports none. Identifiers, names and texts may hold any
characters; whoever shows them escapes them. Addresses are refused unless they are ``http(s)``.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import entry_points
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, Strict, TypeAdapter

from brainscore_core.errors import ConfigurationError, CorruptFileError, did_you_mean
from brainscore_core.untrusted import Flag, Line, PathText, Untrusted, at_most, matching, read, text

__all__ = ["ROOTS", "Atlas", "AtlasRegion", "BenchmarkEntry", "Catalogue", "ModelEntry", "NodeEntry", "catalogues"]

ROOTS = {"average": "Average", "engineering": "Engineering", "simulated": "Simulated", "other": "In no average"}
"""Nodes that stand above all others, in the order of the board. Simulated benchmarks stand below `simulated` whatever
their parent is, benchmarks without a parent below `other`; neither has an average."""

_MOST_BYTES, _MOST_ENTRIES, _MOST_BIBTEX, _MOST_IN_LIST, _MOST_REGIONS = 64 * 2**20, 100_000, 20_000, 1_000, 100
_ADDRESS = re.compile(r"https?://[^\s<>\"'`\\]{1,900}", re.ASCII | re.IGNORECASE)
_PICTURE = re.compile(r"[\w./+=@,() -]+\.(png|jpg|jpeg|gif|webp)", re.ASCII)


def _named(value: str) -> str:
    if not value or not value.isprintable():
        raise ValueError("expected a name of characters that can be printed")
    return value


def _inside(value: str) -> str:
    if value.startswith("/") or ".." in value.split("/"):
        raise ValueError("expected a path below the folder of the catalogue")
    return value


Identifier = Annotated[Line, AfterValidator(_named)]
Kind = Literal["neural", "behavior", "engineering"]
_Bibtex = Annotated[str, text(_MOST_BIBTEX)]
_Address = Annotated[str, text(1_000), matching(_ADDRESS, "an address that starts with http:// or https://")]
_Picture = Annotated[PathText, matching(_PICTURE, "a relative path of a picture"), AfterValidator(_inside)]
_Amount = Annotated[int, Strict(), Field(ge=0, le=10**15)]
_Score = Annotated[float, Strict(), Field(gt=-1e6, lt=1e6)]
_Year = Annotated[int, Strict(), Field(ge=1900, le=2200)]


@dataclass(frozen=True, kw_only=True)
class AtlasRegion(Untrusted):
    """How well each layer of a model predicts one region.

    Attributes
    ----------
    benchmark : str
        What that was measured on.
    simulated : bool
        Whether its measurements are simulated.
    scores : tuple of float or None
        Of each layer.
    """

    region: Identifier
    benchmark: Identifier
    simulated: Flag
    scores: Annotated[tuple[_Score | None, ...], at_most(_MOST_IN_LIST)]


@dataclass(frozen=True, kw_only=True)
class Atlas(Untrusted):
    """Scores of all layers of a model, from early to late, for some regions."""

    layers: Annotated[tuple[Line, ...], at_most(_MOST_IN_LIST)]
    regions: Annotated[tuple[AtlasRegion, ...], at_most(_MOST_REGIONS)]


@dataclass(frozen=True, kw_only=True)
class ModelEntry(Untrusted):
    """What is known about a model; None is not known.

    Attributes
    ----------
    identifier : str
        As it is registered.
    name : str or None
        For people; None: the identifier.
    family, training : str or None
        Such as ``'ResNet'`` and ``'ImageNet-1k'``.
    parameters : int or None
        How many there are.
    public : bool
        Whether everybody may load it.
    imagenet : float or None
        Top-1 accuracy on ImageNet, in [0, 1].
    plugin : str or None
        Folder that registers it, relative to the repository.
    load : str or None
        A line of Python that loads it.
    atlas : Atlas or None
        How well its layers predict regions.
    """

    identifier: Identifier
    name: Identifier | None = None
    family: Identifier | None = None
    year: _Year | None = None
    parameters: _Amount | None = None
    training: Identifier | None = None
    public: Flag = True
    imagenet: Annotated[float, Field(ge=0, le=1)] | None = None
    licence: Line | None = None
    bibtex: _Bibtex | None = None
    url: _Address | None = None
    description: Line | None = None
    plugin: PathText | None = None
    load: Line | None = None
    atlas: Atlas | None = None


@dataclass(frozen=True, kw_only=True)
class BenchmarkEntry(Untrusted):
    """What is known about a benchmark; None is not known.

    Attributes
    ----------
    parent : str or None
        The node above it; None: it is in no average.
    public : bool
        Whether everybody may have its data.
    shows : {'all', 'score', 'nothing'}
        What of its scores may be shown: ``'score'`` leaves out what came before it (raw value, sizes, messages). One
        that shows nothing counts in no average either, from which it could be told.
    paradigm : str or None
        What subjects saw and did, in a sentence.
    data : tuple of str
        Identifiers of what it loads.
    stimuli : tuple of str
        Pictures to show, relative to the folder of the catalogue.
    """

    identifier: Identifier
    name: Identifier | None = None
    parent: Identifier | None = None
    region: Identifier | None = None
    kind: Kind | None = None
    public: Flag = True
    simulated: Flag = False
    shows: Literal["all", "score", "nothing"] = "all"
    licence: Line | None = None
    bibtex: _Bibtex | None = None
    url: _Address | None = None
    paradigm: Line | None = None
    plugin: PathText | None = None
    data: Annotated[tuple[Line, ...], at_most(_MOST_IN_LIST)] = ()
    stimuli: Annotated[tuple[_Picture, ...], at_most(_MOST_IN_LIST)] = ()


@dataclass(frozen=True, kw_only=True)
class NodeEntry(Untrusted):
    """A node of the tree that averages what is below it; `parent` is None for a root."""

    identifier: Identifier
    name: Identifier | None = None
    parent: Identifier | None = None
    region: Identifier | None = None
    kind: Kind | None = None


@dataclass(frozen=True, kw_only=True)
class Catalogue(Untrusted):
    """All that is known; of each identifier once.

    Attributes
    ----------
    nodes : tuple of NodeEntry
        In the order in which they are shown.
    notice : str or None
        What every page says at its top, such as that numbers are made up.
    """

    models: Annotated[tuple[ModelEntry, ...], at_most(_MOST_ENTRIES)] = ()
    benchmarks: Annotated[tuple[BenchmarkEntry, ...], at_most(_MOST_ENTRIES)] = ()
    nodes: Annotated[tuple[NodeEntry, ...], at_most(_MOST_ENTRIES)] = ()
    notice: Line | None = None

    @classmethod
    def from_json(cls, data: str | bytes) -> Catalogue:
        """Read what `to_json` wrote.

        Raises
        ------
        CorruptFileError
            If it is something else, names something twice, or a node above another one that is not there.
        """
        catalogue = read(_CATALOGUE, data, "catalogue", _MOST_BYTES)
        catalogue.validate()
        return catalogue

    def to_json(self) -> str:
        """Return it as JSON text; what is not known is left out."""
        content: dict[str, object] = {
            part: [_stated(entry) for entry in getattr(self, part)] for part in ("models", "benchmarks", "nodes")
        }
        if self.notice is not None:
            content |= {"notice": self.notice}
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def validate(self) -> None:
        """Refuse a catalogue that contradicts itself; see `from_json`."""
        problems = [
            *(f"{name!r} is twice among its models" for name in _twice(each.identifier for each in self.models)),
            *(
                f"{name!r} is twice among its benchmarks and nodes"
                for name in _twice(each.identifier for each in self._entries)
            ),
            *self._problems_of_tree(),
            *(
                f"the atlas of {model.identifier!r} has {len(each.scores)} scores for {each.region!r}, expected one "
                f"(or null) for each of {len(model.atlas.layers)} layers"
                for model in self.models
                if model.atlas is not None
                for each in model.atlas.regions
                if len(each.scores) != len(model.atlas.layers)
            ),
        ]
        if problems:
            raise CorruptFileError(f"The catalogue: {'; '.join(problems[:3])}.")

    @property
    def _entries(self) -> list[BenchmarkEntry | NodeEntry]:
        return [*self.benchmarks, *self.nodes]

    def _problems_of_tree(self) -> Iterator[str]:
        known = {each.identifier: each.parent for each in self.nodes}
        for entry in self._entries:
            if entry.parent is not None and entry.parent not in known:
                hint = did_you_mean(entry.parent, known)
                yield f"{entry.identifier!r} is below {entry.parent!r}, which is no node.{hint}"
        for node in known:
            path, above = [node], known[node]
            while above is not None and above in known and above not in path:
                path.append(above)
                above = known[above]
            if above == node:
                yield f"its nodes have a circle: {' > '.join((*path, node))}"

    @cached_property
    def model(self) -> dict[str, ModelEntry]:
        """The entry of each model."""
        return {each.identifier: each for each in self.models}

    @cached_property
    def benchmark(self) -> dict[str, BenchmarkEntry]:
        """The entry of each benchmark."""
        return {each.identifier: each for each in self.benchmarks}

    def with_recorded(self, models: Iterable[str], benchmarks: Iterable[str]) -> Catalogue:
        """Return the catalogue with entries for what has records and is not in it."""
        return dataclasses.replace(
            self,
            models=(*self.models, *(ModelEntry(identifier=each) for each in sorted(set(models) - self.model.keys()))),
            benchmarks=(
                *self.benchmarks,
                *(BenchmarkEntry(identifier=each) for each in sorted(set(benchmarks) - self.benchmark.keys())),
            ),
        )


_CATALOGUE = TypeAdapter(Catalogue)


def catalogues() -> Catalogue:
    """Return what the installed domains know: each declares a function in the group ``brainscore.catalogues``.

    Raises
    ------
    ConfigurationError
        If none is installed.
    """
    declared = {each.value: each for each in entry_points(group="brainscore.catalogues")}
    if not declared:
        raise ConfigurationError(
            "No domain is installed that knows models and benchmarks (entry points 'brainscore.catalogues'). Install "
            "one, or name the file of a catalogue: --catalogue FILE"
        )
    (made, *more) = [each.load()() for each in declared.values()]
    for other in more:
        for part in made:
            made[part] = [*made[part], *other[part]]
    return Catalogue.from_json(json.dumps(made))


def _stated(entry: ModelEntry | BenchmarkEntry | NodeEntry) -> dict[str, object]:
    defaults = {each.name: each.default for each in dataclasses.fields(entry)}
    values = dataclasses.asdict(entry)
    return {name: value for name, value in values.items() if value != defaults[name]}


def _twice(names: Iterable[str]) -> list[str]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return [name for name, count in counts.items() if count > 1]
