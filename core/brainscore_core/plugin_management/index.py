"""Know which plugin registers which identifier, without imports.

Every plugin's ``__init__.py`` and table (see `table_of`) are read once; later look-ups only compare stamps.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import logging
import os
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from brainscore_core.config import settings
from brainscore_core.errors import ConfigurationError, PluginError, UnknownIdentifierError, count, did_you_mean
from brainscore_core.identity.digest import file_stamp, text_digest
from brainscore_core.identity.store import Store
from brainscore_core.plugin_management.registrations import Computed, Registration, read_registrations, table_of
from brainscore_core.plugin_management.registry import FOLDERS, KINDS, Kind, join_packages, kind_named, outside_folders
from brainscore_core.plugin_management.renamed import MARK

__all__ = [
    "Computed",
    "Plugin",
    "PluginIndex",
    "PluginRoot",
    "Registration",
    "library_roots",
    "outside_roots",
    "owners",
]


_FORMAT = 6  # of the index file; raise it if rows change
# A file changed just before it was read may change again with the same times, so it is read again.
_SETTLED_AFTER_NS = 2_000_000_000
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class PluginRoot:
    """A folder of plugins of one kind (``'data'``, ``'metrics'``, ``'benchmarks'`` or ``'models'``).

    ``rank`` is 0 in the library, otherwise the number of the outside folder: a name belongs to the lowest rank that has
    it.
    """

    folder: str
    path: Path
    package: str
    rank: int = 0


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """A plugin as its source describes it.

    ``taken`` registrations belong to a lower rank, as do names of its schemes, and do not count; ``unavailable`` maps
    identifiers of its table that cannot be loaded to the reason; ``problem`` says why its ``__init__.py`` cannot be
    read. ``has_taken_name``: a folder of lower rank has its name.
    """

    name: str
    root: PluginRoot
    registrations: tuple[Registration, ...] = ()
    computed: tuple[Computed, ...] = ()
    taken: tuple[Registration, ...] = ()
    unavailable: Mapping[str, str] = field(default_factory=dict, hash=False)
    problem: str | None = None
    has_taken_name: bool = False

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
        """Name it is imported under, which need not be a Python identifier."""
        return f"{self.root.package}.{self.unique_name}"

    @property
    def unique_name(self) -> str:
        """Its name; ``'mymodel@1'`` if a folder of lower rank is called ``'mymodel'``."""
        return f"{self.name}{MARK}{self.root.rank}" if self.has_taken_name else self.name

    def identifiers(self, kind: Kind, *, conditional: bool = True, schemes: bool = False) -> list[str]:
        """Return the identifiers of one kind, or the `schemes`, that it registers, with conditional ones by default."""
        return [
            registration.identifier
            for registration in self.registrations
            if registration.registry == kind.registry
            and registration.is_scheme == schemes
            and (conditional or not registration.conditional)
        ]


def library_roots(library: str) -> list[PluginRoot]:
    """Return the folders of plugins of a library, which is not imported, and of others (`outside_folders`)."""
    specification = importlib.util.find_spec(library)
    if specification is None or not specification.submodule_search_locations:
        raise PluginError(
            f"The package {library!r} cannot be found, so its plugins cannot be either. Is it installed in "
            f"{sys.prefix}?"
        )
    places = [Path(location).absolute() for location in specification.submodule_search_locations]
    own = [
        PluginRoot(folder=folder, path=place / folder, package=f"{library}.{folder}")
        for place in places
        for folder in FOLDERS
    ]
    return [*own, *outside_roots(library, places)]


def outside_roots(library: str, own: Sequence[Path]) -> list[PluginRoot]:
    """Return others' folders of plugins for the library with these ``own`` folders, see `outside_folders`."""
    outside = outside_folders(library)
    known = {place.resolve() for place in own} if outside else ()
    return [
        PluginRoot(folder=folder, path=place / folder, package=f"{library}.{folder}", rank=rank)
        for rank, place in enumerate((place for place in outside if place not in known), 1)
        for folder in FOLDERS
    ]


def owners(library: str, kind: str) -> dict[str, list[Path]]:
    """Return identifier -> ``__init__.py`` of the plugins that register it, for an `OwnedRegistry`."""
    return PluginIndex(library_roots(library)).owners(kind_named(kind))


class PluginIndex:
    """The registrations of all plugins below some folders, which may be absent; changed plugins are parsed again."""

    def __init__(self, roots: Sequence[PluginRoot]) -> None:
        self.roots = tuple(roots)

    def plugins(self, folder: str) -> list[Plugin]:
        """Return the plugins of one kind of folder, by rank and name; names start with neither ``.`` nor ``_``."""
        return list(self._plugins(folder))

    def _plugins(self, folder: str) -> Iterator[Plugin]:
        lower: list[tuple[str, _Row]] = []
        for rank, roots in groupby((root for root in self.roots if root.folder == folder), lambda root: root.rank):
            names = {name for name, _ in lower}
            identifiers = {(values[0], values[1]) for _, row in lower for values in row[2]}
            for root in list(roots):
                rows = _refreshed(root)
                yield from (_plugin(root, name, row, names, identifiers) for name, row in rows.items())
                lower += rows.items() if rank < self.roots[-1].rank else ()

    def find(self, kind: Kind, identifier: str) -> list[tuple[Plugin, Registration]]:
        """Return the plugins of lowest rank that register an identifier, or else its scheme (``a:`` of ``a:b``)."""
        scheme, colon, _ = identifier.partition(":")
        return self._registering(kind, identifier) or (self._registering(kind, scheme + colon) if colon else [])

    def _registering(self, kind: Kind, identifier: str) -> list[tuple[Plugin, Registration]]:
        matches = [
            (root, name, row, Registration(*values))
            for root in self.roots
            if root.folder == kind.folder
            for name, row in _refreshed(root).items()
            for values in row[2]
            if values[1] == identifier and values[0] == kind.registry
        ]
        lowest = [match for match in matches if match[0].rank == matches[0][0].rank]
        if len(lowest) < len(matches):
            (first, plugin, *_), (second, other, *_) = lowest[0], matches[len(lowest)]
            _say_once(f"{kind.label} {identifier!r}", first.path / plugin, second.path / other)
        if not lowest or lowest[0][0].rank == 0:
            return [(_plugin(root, name, row), registration) for root, name, row, registration in lowest]
        return [
            (plugin, entry)
            for plugin in self._plugins(kind.folder)  # whether a name is taken depends on all of them
            if plugin.root.rank == lowest[0][0].rank
            for entry in plugin.registrations
            if (entry.registry, entry.identifier) == (kind.registry, identifier)
        ]

    def owners(self, kind: Kind) -> dict[str, list[Path]]:
        """Return identifier -> ``__init__.py`` of every plugin that registers it."""
        files: dict[str, list[Path]] = {}
        for plugin in self.plugins(kind.folder):
            for identifier in dict.fromkeys([*plugin.identifiers(kind), *plugin.identifiers(kind, schemes=True)]):
                files.setdefault(identifier, []).append(plugin.init_file)
        return files

    def identifiers(self, kind: Kind, *, conditional: bool = True, schemes: bool = False) -> list[str]:
        """Return all identifiers of a kind, each once, by plugin and line; see `Plugin.identifiers`."""
        return list(
            dict.fromkeys(
                identifier
                for plugin in self.plugins(kind.folder)
                for identifier in plugin.identifiers(kind, conditional=conditional, schemes=schemes)
            )
        )

    def computing(self, kind: Kind) -> list[Plugin]:
        """Return the plugins that compute identifiers of a kind when imported."""
        return [
            plugin
            for plugin in self.plugins(kind.folder)
            if any(computed.registry == kind.registry for computed in plugin.computed)
        ]

    def listing(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return folder -> plugin -> registry -> identifiers, with ``problem`` for one that cannot be read."""
        listed: dict[str, dict[str, dict[str, Any]]] = {}
        for folder in dict.fromkeys(root.folder for root in self.roots):
            plugins = listed.setdefault(folder, {})
            for plugin in self.plugins(folder):
                entry: dict[str, Any] = plugins.setdefault(plugin.unique_name, {})
                for registration in plugin.registrations:
                    entry.setdefault(registration.registry, []).append(registration.identifier)
                if plugin.problem is not None:
                    entry["problem"] = plugin.problem
        return listed

    def broken(self, folder: str) -> list[Plugin]:
        """Return the plugins of one kind of folder whose ``__init__.py`` cannot be read."""
        return [plugin for plugin in self.plugins(folder) if plugin.problem is not None]


# Stamp of the `__init__.py` and of a table, whether these were old enough to show later changes, registrations,
# computed registrations, problem, reasons.
_Row = list[Any]

# Rows of this process by folder of the index and root.
_rows_in_memory: dict[tuple[Path, PluginRoot], dict[str, _Row]] = {}


def _refreshed(root: PluginRoot) -> dict[str, _Row]:
    """Return plugin name -> row, sorted, after parsing plugins whose stamp has changed."""
    folder = settings().cache_home / "plugin-index"
    rows = _rows_in_memory.get((folder, root))
    if rows is None:
        content = Store(folder).read_json(_file_name(root))
        rows = content if isinstance(content, dict) else {}
    stamps = _stamps(root.path)
    now = time.time_ns()
    fresh = {
        name: row
        for name, stamp in stamps.items()
        if (row := rows.get(name)) and row[1] and tuple(row[0]) == stamp  # else it has changed, or was too young
    }
    changed = sorted(stamps.keys() - fresh.keys())
    contents = read_registrations([root.path / name / "__init__.py" for name in changed])
    for name, (registrations, computed, problem, unavailable) in zip(changed, contents, strict=True):
        stamp = stamps[name]
        fresh[name] = [
            list(stamp),
            max(*stamp[1::4], *stamp[2::4]) + _SETTLED_AFTER_NS < now,  # times of change of content and status
            [list(vars(registration).values()) for registration in registrations],
            [list(vars(registration).values()) for registration in computed],
            problem,
            unavailable,
        ]
    current = dict(sorted(fresh.items()))
    if current != rows:
        Store(folder).write_json(_file_name(root), current)
    _rows_in_memory[folder, root] = current
    return current


def _file_name(root: PluginRoot) -> str:
    # The interpreter decides which source can be parsed.
    identity = json.dumps([_FORMAT, sys.implementation.name, *sys.version_info[:2], str(root.path)])
    return f"{text_digest(identity)[:32]}.json"


def _plugin(
    root: PluginRoot, name: str, row: _Row, taken_names: Collection[str] = (), taken: Collection[tuple[str, str]] = ()
) -> Plugin:
    _, _, values, computed, problem, unavailable = row
    registrations = [Registration(*fields) for fields in values]
    return Plugin(
        name=name,
        root=root,
        registrations=tuple(entry for entry in registrations if not _is_taken(entry, taken)),
        computed=tuple(Computed(*fields) for fields in computed),
        taken=tuple(entry for entry in registrations if _is_taken(entry, taken)),
        unavailable=unavailable,
        problem=problem,
        has_taken_name=name in taken_names,
    )


def _is_taken(entry: Registration, taken: Collection[tuple[str, str]]) -> bool:
    """Return whether a name, or the scheme it begins with, is that of another: ``zoo:net50`` is of ``zoo:``."""
    scheme, colon, _ = entry.identifier.partition(":")
    return not {(entry.registry, entry.identifier), (entry.registry, scheme + colon)}.isdisjoint(taken)


_said: set[Path] = set()


def _say_once(name: str, plugin: Path, other: Path) -> None:
    """Log, once for each outside folder, that an earlier one has some of its names."""
    place = other.parents[1]
    if place not in _said:
        _said.add(place)
        _logger.warning(
            "The %s is loaded from %s; %s registers it too. The same applies to every other duplicate name in %s.",
            *(name, plugin, other, place),
        )


def _stamps(root: Path) -> dict[str, tuple[int, ...]]:
    try:
        with os.scandir(root) as folders:
            paths = {folder.name: folder.path for folder in folders if folder.name[0] not in "._" and folder.is_dir()}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    table = table_of(root / "plugin").name
    stamps = {name: file_stamp(f"{path}/__init__.py") for name, path in paths.items()}
    return {name: (*stamp, *(file_stamp(f"{paths[name]}/{table}") or ())) for name, stamp in stamps.items() if stamp}


# -- plugins by name or path -------------------------------------------------------------------------------------------
#
# Find plugins by folder, identifier or path, inside a library or elsewhere.


def plugins_named(index: PluginIndex, name: str) -> list[Plugin]:
    """Return the plugins with a name, at least one.

    The name is a plugin folder of any kind; kind and folder, such as ``'models/mymodel2024'``; or an identifier. Raises
    `PluginError` if a folder of that name has no ``__init__.py``.
    """
    plugins = [plugin for folder in FOLDERS for plugin in index.plugins(folder)]
    matches = [
        plugin
        for plugin in plugins
        if name in (plugin.name, label_of(plugin), *(entry.identifier for entry in plugin.registrations))
    ]
    matches = matches or [plugin for kind in KINDS.values() for plugin, _ in index.find(kind, name)]
    if matches:
        return matches
    _refuse_without_init(index, name)
    names = {plugin.name for plugin in plugins}
    names.update(registration.identifier for plugin in plugins for registration in plugin.registrations)
    raise UnknownIdentifierError(
        f"No plugin folder or identifier is called {name!r} ({count(len(plugins), 'plugin')} known)."
        f"{did_you_mean(name, sorted(names), most=3)} "
        f"Plugins live in {', '.join(str(root.path) for root in index.roots)}; for a plugin elsewhere, give its path."
    )


def _refuse_without_init(index: PluginIndex, name: str) -> None:
    """Raise `PluginError` if the name belongs to a folder with files but no ``__init__.py``."""
    kind, _, own = name.rpartition("/")
    for root in index.roots:
        folder = root.path / own
        is_meant = kind in ("", root.folder) and own not in ("", ".", "..")
        if is_meant and folder.is_dir() and not (folder / "__init__.py").is_file() and any(folder.glob("*.*")):
            raise PluginError(f"{folder} is not a plugin: it has no __init__.py to register identifiers.")


def plugin_at(folder: Path, library: str) -> Plugin:
    """Return the plugin in a folder whose parent is named like its kind (``/anywhere/benchmarks/mine``)."""
    folder = folder.resolve()
    kind = folder.parent.name
    if not (folder / "__init__.py").is_file():
        raise PluginError(f"{folder} is not a plugin: it has no __init__.py to register identifiers.")
    if kind not in FOLDERS:
        raise ConfigurationError(
            f"{folder} is in a folder called {kind!r}; expected one of {', '.join(map(repr, FOLDERS))}, which "
            f"determines the kind of the plugin. Move it, for instance to {folder.parent / FOLDERS[-2] / folder.name}."
        )
    roots = library_roots(library)
    if all(root.path != folder.parent for root in roots):
        roots = [PluginRoot(folder=kind, path=folder.parent, package=f"{library}.{kind}")]
    plugins = [plugin for plugin in PluginIndex(roots).plugins(kind) if plugin.root.path == folder.parent]
    plugin = next((plugin for plugin in plugins if plugin.name == folder.name), None)
    if plugin is None:
        raise PluginError(f"{folder} is not a plugin: names of plugin folders do not start with '.' or '_'.")
    return plugin


def make_importable(plugin: Plugin) -> None:
    """Let a library find an outside plugin and its neighbours in ``data``, ``metrics``, ``benchmarks``, ``models``."""
    library = plugin.root.package.rpartition(".")[0]
    if any(root.path.resolve() == plugin.root.path for root in library_roots(library)):
        return
    importlib.import_module(library)
    specification = importlib.util.find_spec(library)
    if specification is not None and specification.submodule_search_locations is not None:
        specification.submodule_search_locations.append(str(plugin.root.path.parent))
    join_packages(library, plugin.root.path.parent)


def label_of(plugin: Plugin) -> str:
    """Return folder and name of a plugin, such as ``'models/mymodel2024'``."""
    return f"{plugin.root.folder}/{plugin.unique_name}"


def find_plugins(library: str, names: Sequence[str]) -> list[Plugin]:
    """Return the plugins of several names, see `plugins_named`, or paths of plugin folders, each once."""
    roots = library_roots(library)
    index = PluginIndex(roots)
    plugins_by_path: dict[Path, Plugin] = {}
    for name in names:
        path = Path(name).expanduser()
        is_path = path.is_absolute() or (path.is_dir() and (path / "__init__.py").is_file())
        plugins = [plugin_at(path, library)] if is_path else plugins_named(index, name)
        plugins_by_path.update((plugin.directory.resolve(), plugin) for plugin in plugins)
    return list(plugins_by_path.values())
