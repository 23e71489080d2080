"""Find plugins by folder, identifier or path, inside a library or elsewhere."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path

from brainscore_core.errors import ConfigurationError, PluginError, UnknownIdentifierError, count, did_you_mean
from brainscore_core.plugin_management.index import Plugin, PluginIndex, PluginRoot, library_roots
from brainscore_core.plugin_management.outside import join_packages
from brainscore_core.plugin_management.registry import FOLDERS, KINDS


def plugins_named(index: PluginIndex, name: str) -> list[Plugin]:
    """Return the plugins of a name, at least one.

    The name is that of a plugin folder, of any kind; folder and name, such as ``'models/mymodel2024'``; or an
    identifier. Raises `PluginError` if a folder of that name has no ``__init__.py``.
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
        f"Plugins live in {', '.join(str(root.path) for root in index.roots)}; one from elsewhere is named by its path."
    )


def _refuse_without_init(index: PluginIndex, name: str) -> None:
    """Raise `PluginError` if the name belongs to a folder with files but no ``__init__.py``."""
    kind, _, own = name.rpartition("/")
    for root in index.roots:
        folder = root.path / own
        is_meant = kind in ("", root.folder) and own not in ("", ".", "..")
        if is_meant and folder.is_dir() and not (folder / "__init__.py").is_file() and any(folder.glob("*.*")):
            raise PluginError(
                f"{folder} is no plugin: it has no __init__.py, in which a plugin registers its identifiers."
            )


def plugin_at(folder: Path, library: str) -> Plugin:
    """Return the plugin in a folder whose parent is named like its kind (``/anywhere/benchmarks/mine``)."""
    folder = folder.resolve()
    kind = folder.parent.name
    if not (folder / "__init__.py").is_file():
        raise PluginError(f"{folder} is no plugin: it has no __init__.py, in which a plugin registers its identifiers.")
    if kind not in FOLDERS:
        raise ConfigurationError(
            f"{folder} stands in a folder called {kind!r}; expected one of {', '.join(map(repr, FOLDERS))}, which "
            f"says what kind of plugin it is. Move it, for instance to {folder.parent / FOLDERS[-2] / folder.name}."
        )
    roots = library_roots(library)
    if all(root.path != folder.parent for root in roots):
        roots = [PluginRoot(folder=kind, path=folder.parent, package=f"{library}.{kind}")]
    plugins = [plugin for plugin in PluginIndex(roots).plugins(kind) if plugin.root.path == folder.parent]
    plugin = next((plugin for plugin in plugins if plugin.name == folder.name), None)
    if plugin is None:
        raise PluginError(f"{folder} is no plugin: names of plugin folders do not start with '.' or '_'.")
    return plugin


def make_importable(plugin: Plugin) -> None:
    """Let a library find an outside plugin and those in ``data``, ``metrics``, ``benchmarks``, ``models`` beside it."""
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
