"""Write the folder of a new plugin: everything that can be inferred is, nothing is half-written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_ci.checks.registrations import CATEGORIES
from brainscore_ci.checks.runner import Workplace, workplace
from brainscore_ci.scaffold.names import camel_case, folder_name, free_name, identifier_of, kind_names
from brainscore_ci.scaffold.packages import Package, place_in_data_home, read_package, registrations
from brainscore_ci.scaffold.templates import Recordings, fill, read_defaults
from brainscore_core.caching import atomic_directory
from brainscore_core.errors import ConfigurationError, UnknownIdentifierError
from brainscore_core.git import run_git
from brainscore_core.plugin_management.registry import KINDS, unknown_identifier

if TYPE_CHECKING:
    from brainscore_core.plugin_management.index import PluginRoot

__all__ = ["NewPlugin", "PluginRequest", "new_plugin"]

_IDENTIFIER = re.compile(r"[A-Za-z0-9][\w.+-]{0,99}", re.ASCII)
_LICENCES = {"data": "CC-BY-4.0"}
_BIBTEX = """@article{{{key},
  title={{Title of the publication}},
  author={{Author, First and Author, Second}},
  journal={{Name of the journal}},
  year={{{year}}}
}}"""
_CONTACT = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)*\.[A-Za-z]{2,}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class PluginRequest:
    """What somebody asks for; None is inferred.

    Attributes
    ----------
    kinds : tuple of str
        'data', 'metric', 'benchmark', 'model'.
    name : str
        As in a paper, ``'MyExperiment2024'``, or as a folder, ``'myexperiment2024'``.
    identifier : str or None
        What it is registered as; of a benchmark without region and metric.
    package : Path or None
        Folder of packaged files that data are registered from.
    region, metric, data : str or None
        Of a benchmark: where it records, its metric and its recordings.
    """

    kinds: tuple[str, ...]
    name: str
    identifier: str | None = None
    package: Path | None = None
    region: str | None = None
    metric: str | None = None
    data: str | None = None


@dataclass(frozen=True)
class NewPlugin:
    """What was written.

    Attributes
    ----------
    name : str
        Of the folders.
    identifiers : tuple of str
        What is registered.
    remarks : tuple of str
        What a person should know.
    """

    files: tuple[Path, ...]
    name: str
    identifiers: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    def as_text(self) -> str:
        """Return what to tell people: the files, and what to do next."""
        return "\n".join(
            [
                f"Registered as {', '.join(self.identifiers)}. Written:",
                *(f"  {file}" for file in self.files),
                *self.remarks,
                "Its tests pass as they are. Next:",
                f"  nox -s test_plugin -- {self.name}",
            ]
        )


def new_plugin(request: PluginRequest, start: Path, library: str | None = None) -> NewPlugin:
    """Write the folders of a new plugin.

    Parameters
    ----------
    request : PluginRequest
        What is asked for.
    start : Path
        A folder of the checkout.
    library : str, optional
        Package that the plugin belongs to; None: the first of the checkout.

    Raises
    ------
    ConfigurationError
        If the name is not allowed or taken; names the nearest free one. Nothing is written then.
    UnknownIdentifierError
        If a metric or data are not registered.
    """
    place = workplace(start, library)
    kinds = kind_names(request.kinds)
    name = folder_name(request.name)
    if request.package is not None and "data" not in kinds:
        raise ConfigurationError("--from-package registers packaged data: name the kind data too.")
    package = read_package(request.package) if request.package is not None else None
    plan = _Plan(request, place, kinds, name, package, library or place.library)
    for kind in kinds:
        plan.refuse_taken(kind)
    folders = {kind: plan.folder(kind) for kind in kinds}
    contents = {kind: plan.content(kind) for kind in kinds}
    files = []
    with ExitStack() as stack:
        for kind in kinds:
            folder = stack.enter_context(atomic_directory(folders[kind]))
            for file, text in contents[kind].items():
                (folder / file).write_text(text, encoding="utf-8", newline="\n")
                files.append(folders[kind] / file)
    remarks = plan.remarks()
    if package is not None:
        place_in_data_home(package)
    top = place.repository
    shown = [file.relative_to(top) if top is not None and file.is_relative_to(top) else file for file in files]
    return NewPlugin(tuple(shown), name, plan.identifiers(), remarks)


@dataclass
class _Plan:
    """Everything that is inferred from a request and a library."""

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
        """Return where the plugin goes."""
        return self._root(kind).path / self.name

    def _root(self, kind: str) -> PluginRoot:
        roots = [root for root in self.place.index.roots if root.folder == KINDS[kind].folder]
        meant = [root for root in roots if root.package.partition(".")[0] == self.library]
        if not meant:
            known = ", ".join(dict.fromkeys(root.package.partition(".")[0] for root in roots))
            raise ConfigurationError(f"There is no library {self.library!r} here; known: {known}.")
        return meant[0]

    def refuse_taken(self, kind: str) -> None:
        """Raise if the folder or the identifiers of a kind exist."""
        folder = self.folder(kind)
        if folder.exists():
            taken = {path.name for path in folder.parent.iterdir()}
            raise ConfigurationError(
                f"{folder} exists already. Change what is there, or choose another name: "
                f"{free_name(self.name, taken)!r} is free."
            )
        for registered_as in ("data", "stimulus_set") if kind == "data" else (kind,):
            known = self.place.index.identifiers(KINDS[registered_as])
            for identifier in self._identifiers(kind):
                if identifier in known:
                    raise ConfigurationError(
                        f"A {KINDS[registered_as].label} {identifier!r} is registered already. Choose another name, or "
                        f"another --identifier: {free_name(identifier, known)!r} is free."
                    )

    def stem(self, kind: str) -> str:
        """Return the identifier, without region and metric of benchmarks."""
        if self.request.identifier is not None:
            return _plain(self.request.identifier, "--identifier")
        if kind == "benchmark" and self.request.name == self.name:
            # Data of this name know how it is written.
            for plugin in self.place.index.plugins("data"):
                for identifier in plugin.identifiers(KINDS["data"]) if plugin.name == self.name else ():
                    if identifier.lower() == self.name:
                        return identifier
        return identifier_of(kind, self.request.name)

    def _identifiers(self, kind: str) -> tuple[str, ...]:
        if kind == "data" and self.package is not None:
            names = [one.identifier for one in self.package.stimuli]
            names += [one.identifier for one in self.package.assemblies]
            return tuple(dict.fromkeys(_plain(name, "The identifier of a packaged file") for name in names))
        if kind == "benchmark":
            return (f"{self.stem(kind)}.{self.region}-{self.metric}",)
        return (self.stem(kind),)

    def identifiers(self) -> tuple[str, ...]:
        """Return all that is registered."""
        return tuple(dict.fromkeys(identifier for kind in self.kinds for identifier in self._identifiers(kind)))

    @cached_property
    def region(self) -> str:
        """Where a benchmark records, and what synthetic recordings are said to be from."""
        if self.request.region is not None:
            return _plain(self.request.region, "--region")
        known = self.recordings.regions if "benchmark" in self.kinds else ()
        usual = self.defaults.region
        return _plain(known[0], "The region of the data") if known and usual not in known else usual

    @cached_property
    def metric(self) -> str:
        """What a benchmark compares with."""
        return _plain(self._known("metric", self.request.metric or self.defaults.metric), "--metric")

    def _known(self, kind: str, identifier: str) -> str:
        known = self.place.index.identifiers(KINDS[kind])
        if identifier in known or (kind in self.kinds and identifier in self._identifiers(kind)):
            return identifier
        raise unknown_identifier(KINDS[kind], identifier, library=self.library, known=known)

    @cached_property
    def recordings(self) -> Recordings:
        """What a benchmark is written for: the data asked for, those of its name, or simulated ones."""
        asked = self.request.data
        packaged = {one.identifier: one for one in self.package.assemblies} if self.package is not None else {}
        if asked is None and packaged:
            asked = next(iter(packaged))
        if asked in packaged:
            one = packaged[asked]
            return Recordings(one.identifier, one.regions, max(one.repetitions, 1), is_here=False)
        if "data" in self.kinds and asked in (None, self.stem("data")):
            region = (self.request.region or self.defaults.region,)
            return Recordings(self.stem("data"), region, self.defaults.trials, is_here=True)
        simulated = self.defaults.simulated
        known = self.place.index.identifiers(KINDS["data"])
        if asked is None:
            asked = self.stem("benchmark") if self.stem("benchmark") in known else simulated.identifier
        if asked == simulated.identifier and asked not in known:
            raise UnknownIdentifierError(
                "A benchmark needs recordings: name them with --data, or start data too: nox -s new_plugin -- data "
                f"benchmark {self.request.name}."
            )
        if asked == simulated.identifier:
            return simulated
        known_data = _plain(self._known("data", asked), "--data")
        return Recordings(known_data, (), simulated.trials, is_here=self._is_synthetic(asked))

    def _is_synthetic(self, data: str) -> bool:
        """Tell whether data are those that this command makes, which need no network."""
        for plugin, _ in self.place.index.find(KINDS["data"], data):
            dataset = plugin.directory / "dataset.py"
            return dataset.is_file() and b"make_neuroid_assembly" in dataset.read_bytes()
        return False

    def content(self, kind: str) -> Mapping[str, str]:
        """Return the files of a kind: name -> text."""
        folder = "packaged_data" if kind == "data" and self.package is not None else kind
        return fill(self._home, folder, self._values(kind))

    def _values(self, kind: str) -> dict[str, str]:
        year = re.search(r"\d{4}", self.name)
        values = {
            "library": self.library,
            "name": self.name,
            "identifier": self._identifiers(kind)[0],
            "bibtex": _BIBTEX.format(key=self.name, year=year[0] if year else "2024"),
            "licence": _LICENCES.get(kind, "MIT"),
            "contact": _contact(self.place.repository),
        }
        if kind == "metric":
            values["class_name"] = camel_case(self.name)
        if kind == "data" and self.package is None:
            values["region"] = self.region
        if kind == "data" and self.package is not None:
            values |= _registration_values(self.package, self.library)
        if kind == "benchmark":
            region, metric, recordings = self.region, self.metric, self.recordings
            values |= {
                "data": recordings.identifier,
                "region": region,
                "metric": metric,
                "trials": str(recordings.trials),
                "parent": region if region in CATEGORIES else self.defaults.parent,
                "factory": f"{camel_case(self.stem(kind))}{camel_case(region)}{camel_case(metric)}",
                "mark": "" if recordings.is_here else "@pytest.mark.network\n",
            }
        return values

    def remarks(self) -> tuple[str, ...]:
        """Return what a person should know beside the files."""
        remarks = []
        if "benchmark" in self.kinds and self.recordings == self.defaults.simulated:
            name = self.recordings.identifier
            remarks.append(f"The benchmark compares with {name}, simulated recordings, until you name your own.")
        if "data" in self.kinds and self.package is None:
            remarks.append("The data are synthetic, until yours are packaged; dataset.py says how.")
        if self.package is not None:
            remarks.append(
                'Upload the packaged files and replace bucket="..." in __init__.py; copies for tests on this machine '
                "are in the data home."
            )
        return tuple(remarks)


def _plain(text: str, what: str) -> str:
    """Return a text that goes into code as it is.

    Raises
    ------
    ConfigurationError
        If it could mean something else there.
    """
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
    """Return a dictionary as code, one entry a line."""
    lines = [f"    {_quoted(key)}: {_quoted(value)}," for key, value in values.items()]
    return "\n".join(["{", *lines, "}"]) if lines else "{}"


def _quoted(value: object) -> str:
    return json.dumps(value)


def _contact(repository: Path | None) -> str:
    """Return the e-mail address that git knows, or one to be replaced."""
    try:
        address = run_git(repository, "config", "user.email").stdout.decode("utf-8", "replace").strip()
    except ConfigurationError:
        return "name@example.org"
    return address if _CONTACT.fullmatch(address) else "name@example.org"
