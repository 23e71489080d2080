"""Infer a new plugin from a request and the library."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_ci.checks.metadata import QUESTIONS
from brainscore_ci.checks.registrations import CATEGORIES
from brainscore_ci.scaffold.names import camel_case, free_name
from brainscore_ci.scaffold.packages import Assembly, Package, registrations
from brainscore_ci.scaffold.templates import (
    FOR_TASK,
    Recordings,
    chosen_region,
    constants_of,
    design_of,
    fill,
    read_defaults,
    regions_of,
    trials_of,
)
from brainscore_core.errors import ConfigurationError, UnknownIdentifierError
from brainscore_core.plugin_management.registry import KINDS, unknown_identifier
from brainscore_core.plugin_management.source import read_files

if TYPE_CHECKING:
    from brainscore_ci.checks.runner import Workplace
    from brainscore_ci.scaffold.tables import TablesRequest
    from brainscore_core.plugin_management.index import Plugin, PluginRoot

_IDENTIFIER = re.compile(r"[A-Za-z0-9][\w.+-]{0,99}", re.ASCII)
_OVER_TIME = "over_time"
_USUAL_DEGREES = 8
_GUESS = "a guess: write how wide"
_BIBTEX_OF_DOI = """@misc{{{key},
  doi={{{doi}}},
  url={{https://doi.org/{doi}}},
  year={{{year}}}
}}"""
_OPTIONAL = {
    "species": "# species: such as Macaca mulatta or Homo sapiens\n",
    "technique": "# technique: such as electrophysiology, fMRI or psychophysics\n",
}
_DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:)?(10\.\d{4,9}/[^\s{}\"]+)", re.IGNORECASE)
_BIBTEX = """@article{{{key},
  title={{<Title of the publication>}},
  author={{<Author, First and Author, Second>}},
  journal={{<Name of the journal>}},
  year={{{year}}}
}}"""


@dataclass(frozen=True, kw_only=True)
class PluginRequest:
    """Requested plugin; None is inferred."""

    kinds: tuple[str, ...]
    name: str  # as in a paper, ``'MyExperiment2024'``, or as a folder, ``'myexperiment2024'``
    identifier: str | None = None  # of a benchmark: without region and metric
    package: Path | None = None
    tables: TablesRequest | None = None
    region: str | None = None
    metric: str | None = None
    data: str | None = None
    task: str | None = None
    trials: int | None = None
    visual_degrees: float | None = None
    facts: Mapping[str, str] = field(default_factory=dict)  # key of `metadata.yml` -> value, for all its plugins
    overwrite: bool = False  # files of an earlier scaffold of the same name
    repository: Path | None = None  # None: the library's own


@dataclass
class Scaffold:
    """All that is inferred from a request and a library."""

    request: PluginRequest
    place: Workplace
    kinds: tuple[str, ...]
    name: str
    package: Package | None
    library: str

    def __post_init__(self) -> None:
        self._home = self._root(self.kinds[0]).path.parent
        self.defaults = read_defaults(self._home)

    def folder(self, kind: str) -> Path:
        """Return the folder of a kind's plugin."""
        root = self._root(kind)
        return (self.request.repository or root.path.parent) / root.folder / self.name

    def _root(self, kind: str) -> PluginRoot:
        roots = [root for root in self.place.index.roots if root.folder == KINDS[kind].folder]
        meant = [root for root in roots if root.package.partition(".")[0] == self.library]
        if not meant:
            packages = ", ".join(dict.fromkeys(root.package.partition(".")[0] for root in roots))
            raise ConfigurationError(f"The library {self.library!r} is not here; known: {packages}.")
        return meant[0]

    def refuse_taken(self, kind: str) -> None:
        """Raise if the folder or an identifier of a kind exists."""
        folder = self.folder(kind)
        if folder.exists() and not self.request.overwrite:
            taken = {path.name for path in folder.parent.iterdir()}
            raise ConfigurationError(
                f"{folder} exists already. Edit its files, replace them with --overwrite, or choose another name: "
                f"{free_name(self.name, taken)!r} is free."
            )
        for registered_as in ("data", "stimulus_set") if kind == "data" else (kind,):
            identifiers = {
                identifier
                for plugin in self.place.index.plugins(folder.parent.name)
                for identifier in plugin.identifiers(KINDS[registered_as])
                if plugin.directory != folder and not self._is_of_package(plugin)
            }
            for identifier in self._identifiers(kind):
                if identifier in identifiers:
                    free = free_name(identifier, identifiers)
                    remedy = f"Choose another name, or another --identifier: {free!r} is free."
                    if kind == "data" and self.package is not None and self.request.tables is None:
                        remedy = (
                            "It has other data, and the packaged files contain the name: package them again under "
                            f"another name, such as {free!r}."
                        )
                    label = KINDS[registered_as].label
                    raise ConfigurationError(f"A {label} {identifier!r} is registered already. {remedy}")

    def _is_of_package(self, plugin: Plugin) -> bool:
        """Return whether a plugin registers the packaged files, by their digests: then it is the person's own."""
        if self.package is None or plugin.root.folder != KINDS["data"].folder:
            return False
        texts = {text for file in read_files(plugin.directory).values() for text in file.facts.texts}
        return texts.issuperset(self.package.files.values())

    def stem(self, kind: str) -> str:
        """Return the identifier, for benchmarks without region and metric."""
        if self.request.identifier is not None:
            return plain_identifier(self.request.identifier, "--identifier")
        if kind == "benchmark" and self.request.name == self.name:
            # Data of this name define its spelling.
            for plugin in self.place.index.plugins("data"):
                for identifier in plugin.identifiers(KINDS["data"]) if plugin.name == self.name else ():
                    if identifier.lower() == self.name:
                        return identifier
        return self.request.name

    def _identifiers(self, kind: str) -> tuple[str, ...]:
        if kind == "data" and self.package is not None:
            names = [one.identifier for one in self.package.stimuli]
            names += [one.identifier for one in self.package.assemblies]
            return tuple(dict.fromkeys(plain_identifier(name, "The identifier of a packaged file") for name in names))
        if kind == "benchmark":
            region = "" if self.is_behavioral else f".{self.region}"
            return (f"{self.stem(kind)}{region}-{self.metric or self.design}",)
        return (self.stem(kind),)

    def identifiers(self) -> tuple[str, ...]:
        """Return all registered identifiers."""
        return tuple(dict.fromkeys(identifier for kind in self.kinds for identifier in self._identifiers(kind)))

    @cached_property
    def region(self) -> str:
        """Region of a benchmark, and of synthetic recordings."""
        if "benchmark" not in self.kinds:
            nowhere = Recordings(identifier=self.name)
            return chosen_region(self.request.region, nowhere, self.defaults, is_named=False)
        is_named = self.request.data is not None or self.package is not None
        region = chosen_region(self.request.region, self.recordings, self.defaults, is_named=is_named)
        return plain_identifier(region, "The region of the data")

    @cached_property
    def metric(self) -> str:
        """Metric of a benchmark; empty if it counts answers."""
        few = self.defaults.metric_of_few
        asked = self.request.metric or (few if self._shortfall(self._usual_metric) else self._usual_metric)
        if shortfall := self._shortfall(asked):
            raise ConfigurationError(
                f"The metric {shortfall} The one for few stimuli, {few!r}, needs {self.defaults.least_stimuli[few]}."
            )
        return plain_identifier(self._known("metric", asked), "--metric") if asked else ""

    @property
    def _usual_metric(self) -> str:
        one = self._packaged_recordings
        is_over_time = one is not None and dict(one.sizes).get("time_bin", 1) > 1
        usual = self.defaults.metric_over_time if is_over_time else self.defaults.metric
        return self.defaults.tasks.get(self.request.task or "", usual)

    @property
    def _packaged_recordings(self) -> Assembly | None:
        """Packaged data of a benchmark: requested, or the first."""
        assemblies = self.package.assemblies if self.package is not None else ()
        matching = [one for one in assemblies if self.request.data in (None, one.identifier)]
        return matching[0] if matching else None

    def _shortfall(self, metric: str) -> str:
        """Say that the packaged data have too few stimuli for a metric; empty: enough."""
        one, least = self._packaged_recordings, self.defaults.least_stimuli.get(metric, 0)
        if one is None or one.n_stimuli >= least:
            return ""
        return f"{metric!r} needs at least {least} stimuli; {one.identifier!r} has {one.n_stimuli}."

    @cached_property
    def design(self) -> str:
        """Design of a benchmark and its data; see `design_of`."""
        if "benchmark" not in self.kinds and self.request.metric is None:
            return design_of("", self.request.task, self.defaults, None) if self.request.task else ""
        plugins = [plugin for plugin, _ in self.place.index.find(KINDS["metric"], self.metric)]
        return design_of(self.metric, self.request.task, self.defaults, plugins[0] if plugins else None)

    @property
    def is_behavioral(self) -> bool:
        """Whether it is about choices of people."""
        return self.design in FOR_TASK

    def _known(self, kind: str, identifier: str) -> str:
        identifiers = self.place.index.identifiers(KINDS[kind])
        if identifier in identifiers or (kind in self.kinds and identifier in self._identifiers(kind)):
            return identifier
        raise unknown_identifier(KINDS[kind], identifier, library=self.library, known=identifiers)

    @cached_property
    def recordings(self) -> Recordings:
        """Data of a benchmark: requested, of the same name, or simulated."""
        asked = self.request.data
        one = self._packaged_recordings
        if one is not None:
            trials = self.request.trials or one.repetitions
            if trials < 2 and not self.is_behavioral:
                raise ConfigurationError(
                    f"{one.identifier!r} has one response of each neuron to each stimulus. The ceiling of a benchmark "
                    "needs two or more: provide the repetitions, not their mean, or create only the kind data."
                )
            return Recordings(identifier=one.identifier, regions=one.regions, trials=trials, is_here=False)
        if "data" in self.kinds and asked in (None, self.stem("data")):
            stem = self.stem("data")
            return Recordings(identifier=stem, trials=self.defaults.trials, fitting=f"{stem}.fitting")
        identifiers = self.place.index.identifiers(KINDS["data"])
        if asked is None and self.stem("benchmark") in identifiers:
            asked = self.stem("benchmark")
        simulated = self.defaults.simulated.get(self.design)
        if simulated is None and not self.is_behavioral:
            simulated = self.defaults.simulated[""]
        if simulated is not None and asked in (None, simulated.identifier) and simulated.identifier in identifiers:
            return simulated
        if asked is None:
            what = "choices of people" if self.is_behavioral else "recordings"
            raise UnknownIdentifierError(
                f"A benchmark needs {what}: name them with --data, or create data too: nox -s new_plugin -- data "
                f"benchmark {self.request.name}{f' --task {FOR_TASK[self.design]}' if self.is_behavioral else ''}."
            )
        return self._registered(plain_identifier(self._known("data", asked), "--data"))

    def _registered(self, data: str) -> Recordings:
        plugins = [plugin for plugin, _ in self.place.index.find(KINDS["data"], data)]
        trials = self.request.trials or next(filter(None, map(trials_of, plugins)), None)
        if trials is None and not self.is_behavioral:
            raise ConfigurationError(
                f"The number of repetitions in the data {data!r} is unknown without loading them: pass --trials."
            )
        return Recordings(
            identifier=data,
            regions=tuple(region for plugin in plugins for region in regions_of(plugin)),
            trials=trials,
            is_here=any(constants_of(plugin) for plugin in plugins),
            fitting=f"{data}.fitting",
        )

    def content(self, kind: str) -> Mapping[str, str]:
        """Return the files of a kind: name -> text."""
        folders = [kind]
        if kind == "data" and self.package is not None:
            folders = ["packaged_data"]
        elif kind == "data" and self.is_behavioral:
            folders = [f"data_{FOR_TASK[self.design]}"]
        elif kind == "benchmark":
            # The same over time: metric and ceiling have a value per bin.
            design = "repetitions" if self.design == _OVER_TIME else self.design
            design = "by_halves" if self._learns_by_halves else design
            folders = [f"benchmark_{design}", "benchmark_common"]
        return fill(self._home, [*folders, "common"], self._values(kind))

    def _values(self, kind: str) -> dict[str, str]:
        year = re.search(r"\d{4}", self.name)
        values = {
            "library": self.library,
            "name": self.name,
            "identifier": self._identifiers(kind)[0],
            "bibtex": self._bibtex(year[0] if year else "2024"),
            "access": "public",
            "facts": "",
        }
        values |= {key: _quoted(self._stated(key)) for key in ("licence", "contact", "citation")}
        if self.package is not None and kind in {"data", "benchmark"}:
            values |= {"access": _quoted(QUESTIONS["access"]), "facts": self._facts(self.package)}
        if kind == "metric":
            values["class_name"] = camel_case(self.name)
        if kind == "data" and self.package is None and not self.is_behavioral:
            bins = self.defaults.time_bins if self.design == _OVER_TIME else None
            values |= {
                "region": self.region,
                "time_bins": repr(list(bins)) if bins else "None",
                "sizes": f', "time_bin": {len(bins)}' if bins else "",
            }
        if kind == "data" and self.package is not None:
            values |= _registration_values(self.package, self.library)
        if kind == "benchmark":
            values |= self._of_benchmark()
        return values

    def _stated(self, key: str) -> str:
        text = self.request.facts.get(key, QUESTIONS[key])
        return f"https://doi.org/{doi[1]}" if key == "citation" and (doi := _DOI.fullmatch(text)) else text

    def _bibtex(self, year: str) -> str:
        text = self.request.facts.get("citation")
        if text is None:
            return _BIBTEX.format(key=self.name, year=year)
        doi = _DOI.fullmatch(text)
        if doi is None:
            raise ConfigurationError(f"--citation is {text!r}; expected a DOI, such as 10.1523/JNEUROSCI.5181-14.2015.")
        return _BIBTEX_OF_DOI.format(key=self.name, year=year, doi=doi[1])

    def _facts(self, package: Package) -> str:
        """Return lines of ``metadata.yml``: facts of packaged data, and keys that may be added."""
        one, regions = self._packaged_recordings, self._regions_of_package
        facts: dict[str, object] = {
            "region": regions[0] if len(regions) == 1 else list(regions),
            "species": self.request.facts.get("species"),
            "n_stimuli": sum(stimuli.count for stimuli in package.stimuli),
            "n_neuroids": dict(one.sizes).get("neuroid") if one is not None else None,
            "n_subjects": one.n_subjects if one is not None else None,
        }
        lines = [f"{key}: {_quoted(value)}\n" for key, value in facts.items() if value]
        return "".join([*lines, *(line for key, line in _OPTIONAL.items() if not facts.get(key))])

    def _of_benchmark(self) -> dict[str, str]:
        recordings = self.recordings
        is_known = recordings.is_here or self.request.visual_degrees is not None
        region = "" if self.is_behavioral else self.region
        names = (self.stem("benchmark"), region, self.metric or self.design)
        parent = region if region in CATEGORIES else self.defaults.parent
        if self.design == "probabilities" and not self._learns_by_halves:
            self._require_fitting(recordings.fitting)
        return {
            "data": recordings.identifier,
            "fitting": recordings.fitting,
            "region": region,
            "metric": self.metric,
            "trials": str(recordings.trials),
            "visual_degrees": f"{self.request.visual_degrees or _USUAL_DEGREES:g}",
            "width": "width of the stimuli in the experiment" if is_known else f"{_GUESS} they were in the experiment",
            "parent": self.defaults.parent_of_behavior if self.is_behavioral else parent,
            "factory": "".join(map(camel_case, names)),
            "mark": "" if recordings.is_here else "@pytest.mark.network\n",
        }

    @property
    def _learns_by_halves(self) -> bool:
        """Whether models learn the objects of packaged trials from half of the tested images, in turn."""
        one = self._packaged_recordings
        return self.design == "probabilities" and one is not None and not self.recordings.fitting

    def _require_fitting(self, identifier: str) -> None:
        identifiers = self.place.index.identifiers(KINDS["stimulus_set"])
        packaged = [one.identifier for one in self.package.stimuli] if self.package is not None else []
        is_started = "data" in self.kinds and self.package is None
        if not is_started and identifier not in identifiers and identifier not in packaged:
            raise ConfigurationError(
                "Models learn objects from a stimulus set with the column image_label: register one as "
                f"{identifier!r}, with images other than the tested ones, or create synthetic data too."
            )

    def remarks(self) -> tuple[str, ...]:
        """Return notes for people."""
        remarks = []
        if "benchmark" in self.kinds and self.recordings in self.defaults.simulated.values():
            name = self.recordings.identifier
            remarks.append(f"The benchmark compares with {name}, simulated recordings, until you name your own.")
        if "data" in self.kinds and self.package is None:
            remarks.append("The data are synthetic until you package yours; dataset.py explains how.")
        shortfall = self._shortfall(self._usual_metric)
        if "benchmark" in self.kinds and self.request.metric is None and shortfall:
            remarks.append(f"The metric is {self.metric!r}, since {shortfall}")
        if self.package is not None:
            remarks.append(
                "Upload the packaged files; with --to and the data plugin's folder, brainscore upload writes their "
                "bucket, access and contact. Copies for tests on this machine are in the data home."
            )
        if {"data", "benchmark"} & set(self.kinds) and self.stem(self.kinds[-1])[0].islower():
            remarks.append(
                "Identifiers of data and benchmarks are written as in a paper, such as MyExperiment2024; for that, "
                "use this spelling here: the folder is lower-case in any case."
            )
        facts = self.request.facts
        by_upload = [key for key in ("bucket", "access", "contact") if self.package is not None and key not in facts]
        unknown = [key for key in ("licence", "contact", "citation") if key not in {*facts, *by_upload}]
        if by_upload:
            unknown.append(f"{', '.join(by_upload[:-1])} and {by_upload[-1]} (the upload of the packaged files)")
        if "benchmark" in self.kinds and not self.recordings.is_here and self.request.visual_degrees is None:
            unknown.append(f"VISUAL_DEGREES in benchmark.py (width of the stimuli; {_USUAL_DEGREES} is a guess)")
        remarks.append(
            f"Only you can fill these in, and nox -s check lists each place: {', '.join(unknown) or 'nothing more'}."
        )
        return tuple(remarks)

    @property
    def _regions_of_package(self) -> tuple[str, ...]:
        one = self._packaged_recordings
        return one.regions if one is not None else ()


def plain_identifier(text: str, what: str) -> str:
    """Return a text for code, if it cannot change it."""
    if not _IDENTIFIER.fullmatch(text):
        raise ConfigurationError(
            f"{what} is {text!r}; expected letters, digits and _ . + -, a letter or digit first, at most 100."
        )
    return text


def _registration_values(package: Package, library: str) -> dict[str, str]:
    imports, _, code = registrations(package, library).partition("\n\n")
    stimuli = {one.identifier: one.count for one in package.stimuli}
    assemblies = {one.identifier: dict(one.sizes) for one in package.assemblies}
    return {
        "imports": imports,
        "registrations": code.strip("\n"),
        "stimuli": _literal(stimuli),
        "assemblies": _literal(assemblies),
    }


def _literal(values: Mapping[str, object]) -> str:
    lines = [f"    {_quoted(key)}: {_quoted(value)}," for key, value in values.items()]
    return "\n".join(["{", *lines, "}"]) if lines else "{}"


def _quoted(value: object) -> str:
    return json.dumps(value)
