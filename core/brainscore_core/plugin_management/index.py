"""Know which plugin registers which identifier without importing any plugin.

Every plugin's ``__init__.py`` is parsed once; what it registers is kept in a file that later look-ups only compare with
the stamps of the plugins, so that among a thousand plugins a look-up takes milliseconds.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from brainscore_core.config import settings
from brainscore_core.errors import PluginError
from brainscore_core.files import atomic_path
from brainscore_core.identity.stamp import Stamp, file_stamp
from brainscore_core.plugin_management.registry import FOLDERS, Kind, kind_named
from brainscore_core.plugin_management.source import Computed, Registration, find_registrations, parse

__all__ = ["Computed", "Plugin", "PluginIndex", "PluginRoot", "Registration", "library_roots", "owners"]

_FORMAT = 3  # of the index file; raise it whenever what is read from a plugin changes
# A file changed so shortly before it was read may change again without a new time stamp; it is read anew next time.
_SETTLED_AFTER_NS = 2_000_000_000
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class PluginRoot:
    """A folder whose folders are plugins.

    Attributes
    ----------
    folder : str
        Which plugins it holds: ``'data'``, ``'metrics'``, ``'benchmarks'`` or ``'models'``.
    path : Path
        Where it is.
    package : str
        Name under which its plugins are imported, such as ``'mylibrary.models'``.
    """

    folder: str
    path: Path
    package: str


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """What is known about a plugin without importing it.

    Attributes
    ----------
    name : str
        Name of its folder.
    root : PluginRoot
        Where that folder is.
    registrations : tuple of Registration
        What importing it registers.
    computed : tuple of Computed
        Registrations whose identifiers only the running plugin knows.
    problem : str or None
        Why its ``__init__.py`` cannot be read, with path and line.
    """

    name: str
    root: PluginRoot
    registrations: tuple[Registration, ...] = ()
    computed: tuple[Computed, ...] = ()
    problem: str | None = None

    @property
    def directory(self) -> Path:
        """Its folder."""
        return self.root.path / self.name

    @property
    def init_file(self) -> Path:
        """Its ``__init__.py``."""
        return self.directory / "__init__.py"

    @property
    def module(self) -> str:
        """The name it is imported under. Folder names that are no Python identifiers are fine."""
        return f"{self.root.package}.{self.name}"

    def identifiers(self, kind: Kind, *, conditional: bool = True) -> list[str]:
        """Return the identifiers of one kind that it registers, ``conditional`` ones (below ``if`` or ``try``) too."""
        return [
            found.identifier
            for found in self.registrations
            if found.registry == kind.registry and (conditional or not found.conditional)
        ]


def library_roots(library: str) -> list[PluginRoot]:
    """Return where a library keeps its plugins, without importing it; `PluginError` if there is no such package."""
    specification = importlib.util.find_spec(library)
    if specification is None or not specification.submodule_search_locations:
        raise PluginError(f"There is no package {library!r} to look for plugins in. Is it installed in {sys.prefix}?")
    return [
        PluginRoot(folder=folder, path=Path(location).absolute() / folder, package=f"{library}.{folder}")
        for location in specification.submodule_search_locations
        for folder in FOLDERS
    ]


def owners(library: str, kind: str) -> dict[str, list[Path]]:
    """Return the ``__init__.py`` of the plugins that register each identifier of a kind; as an `OwnedRegistry` asks."""
    return PluginIndex(library_roots(library)).owners(kind_named(kind))


class PluginIndex:
    """What all plugins below some folders register.

    Every question first compares the folders with what was known, so that added, changed and removed plugins count at
    once; only those are parsed again.

    Parameters
    ----------
    roots : sequence of PluginRoot
        The folders, see `library_roots`. One that does not exist holds no plugins.
    """

    def __init__(self, roots: Sequence[PluginRoot]) -> None:
        self.roots = tuple(roots)

    def plugins(self, folder: str) -> list[Plugin]:
        """Return the plugins of one kind of folder, such as ``'models'``, sorted by name.

        Folders whose names start with ``.`` or ``_`` and folders without ``__init__.py`` are no plugins.
        """
        return [plugin for root in self.roots if root.folder == folder for plugin in _refreshed(root)]

    def find(self, kind: Kind, identifier: str) -> list[tuple[Plugin, Registration]]:
        """Return every plugin that registers an identifier, and where; normally one."""
        return [
            (plugin, found)
            for plugin in self.plugins(kind.folder)
            for found in plugin.registrations
            if found.identifier == identifier and found.registry == kind.registry
        ]

    def owners(self, kind: Kind) -> dict[str, list[Path]]:
        """Return the ``__init__.py`` of every plugin that registers an identifier of a kind, by identifier."""
        found: dict[str, list[Path]] = {}
        for plugin in self.plugins(kind.folder):
            for identifier in dict.fromkeys(plugin.identifiers(kind)):
                found.setdefault(identifier, []).append(plugin.init_file)
        return found

    def identifiers(self, kind: Kind, *, conditional: bool = True) -> list[str]:
        """Return all identifiers of a kind, each once, sorted by plugin and line. See `Plugin.identifiers`."""
        return list(
            dict.fromkeys(
                identifier
                for plugin in self.plugins(kind.folder)
                for identifier in plugin.identifiers(kind, conditional=conditional)
            )
        )

    def computing(self, kind: Kind) -> list[Plugin]:
        """Return the plugins that compute identifiers of a kind, so that only importing them tells which."""
        return [
            plugin
            for plugin in self.plugins(kind.folder)
            if any(computed.registry == kind.registry for computed in plugin.computed)
        ]

    def listing(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return folder -> plugin -> registry -> identifiers, with ``problem`` for one that cannot be read."""
        listed: dict[str, dict[str, dict[str, Any]]] = {}
        for root in self.roots:
            plugins = listed.setdefault(root.folder, {})
            for plugin in self.plugins(root.folder):
                entry: dict[str, Any] = plugins.setdefault(plugin.name, {})
                for found in plugin.registrations:
                    entry.setdefault(found.registry, []).append(found.identifier)
                if plugin.problem is not None:
                    entry["problem"] = plugin.problem
        return listed

    def broken(self, folder: str) -> list[Plugin]:
        """Return the plugins of one kind of folder whose ``__init__.py`` cannot be read."""
        return [plugin for plugin in self.plugins(folder) if plugin.problem is not None]


@dataclass(frozen=True, kw_only=True)
class _Entry:
    """One plugin as it was when its ``__init__.py`` had a stamp."""

    stamp: Stamp
    settled: bool
    plugin: Plugin


# What this process last knew, by index file and root. Never trusted without comparing stamps.
_known: dict[tuple[Path, PluginRoot], dict[str, _Entry]] = {}


def _refreshed(root: PluginRoot) -> list[Plugin]:
    file = _index_file(root)
    known = _known.get((file, root))
    if known is None:
        known = {} if settings().caching_disabled else _read(file, root)
    stamps = _stamps(root.path)
    current: dict[str, _Entry] = {}
    for name in sorted(stamps):
        entry = known.get(name)
        if entry is None or not entry.settled or entry.stamp != stamps[name]:
            entry = _parse(root, name, stamps[name])
        current[name] = entry
    if current != known:
        _write(file, root, current)
    _known[file, root] = current
    return [entry.plugin for entry in current.values()]


def _stamps(root: Path) -> dict[str, Stamp]:
    stamps: dict[str, Stamp] = {}
    try:
        with os.scandir(root) as folders:
            names = [folder.name for folder in folders if not folder.name.startswith((".", "_")) and folder.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return stamps
    for name in names:
        if stamp := file_stamp(f"{root}/{name}/__init__.py"):
            stamps[name] = stamp
    return stamps


def _parse(root: PluginRoot, name: str, stamp: Stamp) -> _Entry:
    settled = stamp.is_older_than(_SETTLED_AFTER_NS, time.time_ns())
    plugin = Plugin(name=name, root=root)
    try:
        registrations, computed = find_registrations(parse(plugin.init_file.read_bytes(), str(plugin.init_file)))
        plugin = replace(plugin, registrations=tuple(registrations), computed=tuple(computed))
    except SyntaxError as error:
        plugin = replace(plugin, problem=f"{plugin.init_file}:{error.lineno or 1}: {error.msg}")
    except (OSError, RecursionError) as error:
        plugin = replace(plugin, problem=f"{plugin.init_file}:1: {type(error).__name__}: {error}")
    return _Entry(stamp=stamp, settled=settled, plugin=plugin)


# The index file ------------------------------------------------------------------------------------------------------


def _header(root: PluginRoot) -> dict[str, Any]:
    python = [sys.implementation.name, *sys.version_info[:2]]  # which source parses depends on the interpreter
    return {"format": _FORMAT, "python": python, "root": str(root.path)}


def _index_file(root: PluginRoot) -> Path:
    digest = hashlib.sha256(json.dumps(_header(root)).encode()).hexdigest()[:32]
    return settings().cache_home / "plugin-index" / f"{digest}.json"


def _write(file: Path, root: PluginRoot, entries: Mapping[str, _Entry]) -> None:
    if settings().caching_disabled:
        return
    content = {**_header(root), "plugins": {name: _to_json(entry) for name, entry in entries.items()}}
    try:
        with atomic_path(file) as temporary:
            temporary.write_text(json.dumps(content, separators=(",", ":")), encoding="ascii")
    except OSError as error:
        _logger.warning("The plugin index cannot be kept at %s, so look-ups are slower: %s", file, error)


def _read(file: Path, root: PluginRoot) -> dict[str, _Entry]:
    """Return what the index file says, or nothing if it is absent, of another root or damaged in any way."""
    try:
        content = json.loads(file.read_bytes())
        if any(content[key] != value for key, value in _header(root).items()):
            return {}
        return {name: _from_json(root, name, *values) for name, values in content["plugins"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def _to_json(entry: _Entry) -> list[Any]:
    plugin = entry.plugin
    return [
        entry.stamp,
        entry.settled,
        [[found.registry, found.identifier, found.line, found.conditional] for found in plugin.registrations],
        [[computed.registry, computed.line] for computed in plugin.computed],
        plugin.problem,
    ]


def _from_json(
    root: PluginRoot, name: str, stamp: object, settled: object, found: object, computed: object, problem: object
) -> _Entry:
    if not isinstance(settled, bool) or not (problem is None or isinstance(problem, str)):
        raise TypeError("not an entry of a plugin index")
    plugin = Plugin(
        name=name,
        root=root,
        registrations=tuple(Registration(*_row(row, str, str, int, bool)) for row in _rows(found)),
        computed=tuple(Computed(*_row(row, str, int)) for row in _rows(computed)),
        problem=problem,
    )
    return _Entry(stamp=Stamp(*_row(stamp, int, int, int, int)), settled=settled, plugin=plugin)


def _rows(value: object) -> Iterable[object]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


def _row(value: object, *types: type) -> list[Any]:
    if not isinstance(value, list) or [type(part) for part in value] != list(types):
        raise TypeError("not a row of the expected types")
    return value
