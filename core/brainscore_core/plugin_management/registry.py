"""Name the kinds of plugins and phrase the errors of a look-up."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from brainscore_core.config import plugin_paths
from brainscore_core.errors import ConfigurationError, DuplicateIdentifierError, UnknownIdentifierError, did_you_mean


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of thing that plugins register, with the folder of its plugins and the name of its dictionary."""

    name: str
    label: str
    folder: str
    registry: str


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(name="data", label="data", folder="data", registry="data_registry"),
        Kind(name="stimulus_set", label="stimulus set", folder="data", registry="stimulus_set_registry"),
        Kind(name="metric", label="metric", folder="metrics", registry="metric_registry"),
        Kind(name="benchmark", label="benchmark", folder="benchmarks", registry="benchmark_registry"),
        Kind(name="model", label="model", folder="models", registry="model_registry"),
    )
}

FOLDERS: tuple[str, ...] = tuple(dict.fromkeys(kind.folder for kind in KINDS.values()))


def kinds_in(folder: str) -> list[Kind]:
    """Return the kinds of things that the plugins of a folder register."""
    return [kind for kind in KINDS.values() if kind.folder == folder]


def kind_named(name: str) -> Kind:
    """Return a kind by its name, ``'model'``, its plural or its folder; otherwise raise a `ConfigurationError`."""
    for kind in KINDS.values():
        if name in (kind.name, f"{kind.name}s", kind.folder):
            return kind
    raise ConfigurationError(f"Unknown kind of plugin {name!r}; expected one of {', '.join(map(repr, KINDS))}.")


def unknown_identifier(
    kind: Kind,
    identifier: str,
    *,
    library: str,
    known: Iterable[str],
    elsewhere: Sequence[Kind] = (),
    remarks: Sequence[str] = (),
) -> UnknownIdentifierError:
    """Return the error for an identifier that nothing, or only other kinds ``elsewhere``, is registered under."""
    known = list(known)
    meant = did_you_mean(identifier, known, 3)
    sentences = [f"No {kind.label} is registered as {identifier!r} ({len(known)} known).{meant}"]
    if elsewhere:
        loaders = [f"load_{'dataset' if other.name == 'data' else other.name}" for other in elsewhere]
        sentences.append(
            f"{identifier!r} is the identifier of a {' and of a '.join(other.label for other in elsewhere)}: "
            f"use {' or '.join(f'{loader}({identifier!r})' for loader in loaders)}."
        )
    plural = kind.label if kind.label == "data" else f"{kind.label}s"
    sentences.append(f"{plural.capitalize()} live in {library.replace('.', '/')}/{kind.folder}.")
    return UnknownIdentifierError(" ".join([*sentences, *remarks]))


def duplicate_identifier(kind: Kind, identifier: str, places: Iterable[tuple[Path, int]]) -> DuplicateIdentifierError:
    """Return the error for an identifier that several plugins register, given file and line of each."""
    listing = " and ".join(f"{path}:{line}" for path, line in places)
    return DuplicateIdentifierError(
        f"The {kind.label} {identifier!r} is registered by more than one plugin: {listing}. Rename it in all but one "
        "of them: identifiers are unique."
    )


# -- folders of plugins outside a library ------------------------------------------------------------------------------
#
# Find folders of plugins outside a library.


def outside_folders(library: str) -> list[Path]:
    """Return the folders of `plugin_paths` that hold plugins; for a checkout, the folder of the package in it."""
    where, paths = plugin_paths()
    return list(dict.fromkeys(_holding_plugins(path, library, where) for path in paths))


def _holding_plugins(path: Path, library: str, where: str) -> Path:
    for folder in (path.joinpath(*library.split(".")), path):
        if any((folder / kind).is_dir() for kind in FOLDERS):
            return folder.resolve()
    problem = (
        "contains no plugin folders" if path.is_dir() else "is not a folder" if path.exists() else "does not exist"
    )
    folders = f"{', '.join(FOLDERS[:-1])} or {FOLDERS[-1]}"
    raise ConfigurationError(
        f"{where} names {path}, which {problem}. Expected a folder with {folders}, each with a folder for each plugin, "
        f"or a checkout whose folder {library} is one."
    )


def join_packages(library: str, folder: Path) -> None:
    """Let modules import a folder's plugins as a library's, after its own: ``mylibrary.models.theirs``."""
    for kind in FOLDERS:
        path = str(folder / kind)
        if Path(path).is_dir() and importlib.util.find_spec(f"{library}.{kind}") is not None:
            places = importlib.import_module(f"{library}.{kind}").__path__
            if path not in places:
                places.append(path)
