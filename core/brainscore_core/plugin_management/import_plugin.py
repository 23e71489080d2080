"""Import the plugin that registers an identifier and return its factory."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from brainscore_core.config import installing_nothing, settings
from brainscore_core.errors import BrainScoreError, PluginError, UnavailableError, did_you_mean
from brainscore_core.plugin_management.index import Plugin, PluginIndex, Registration, library_roots
from brainscore_core.plugin_management.owned_registry import OwnedRegistry
from brainscore_core.plugin_management.registrations import table_of
from brainscore_core.plugin_management.registry import (
    KINDS,
    Kind,
    duplicate_identifier,
    join_packages,
    kind_named,
    unknown_identifier,
)
from brainscore_core.plugin_management.renamed import import_renamed

_Registry = dict[str, Callable[..., Any]]

_REQUIREMENT_FILES = ("requirements.txt", "setup.py")
_MOST_LISTED = 5

# Which module registered (library, registry, identifier), for plugins that compute their identifiers.
_origins: dict[tuple[str, str, str], str] = {}

# The `OwnedRegistry` of each library and kind as it was first seen.
_registries: dict[tuple[str, str], tuple[ModuleType, _Registry]] = {}


def import_plugin(library: str, kind: str, identifier: str, *, index: PluginIndex | None = None) -> Callable[..., Any]:
    """Return the factory registered under an identifier, importing its plugin if necessary.

    Parameters
    ----------
    library
        Name of the package that has the registries, such as ``'mylibrary'``.
    kind
        ``'data'``, ``'stimulus_set'``, ``'metric'``, ``'benchmark'`` or ``'model'``, or a folder's name.
    identifier
        Key in the registry. Keys assigned at run time need no plugin. A key that ends with ``:`` is a scheme: its
        factory takes the rest of the identifier, so ``registry['mylibrary:']`` also makes ``'mylibrary:net50'``.
    index
        Plugins to search; None: the library's.

    Raises
    ------
    UnknownIdentifierError
        No plugin registers the identifier; an `UnavailableError` if the table of one says why it cannot be loaded.
    DuplicateIdentifierError
        More than one plugin does.
    PluginError
        The plugin cannot be read or imported, does not register the identifier, or replaced another's registration.
    RequirementsError
        The requirements of the plugin cannot be installed.
    """
    registered_kind = kind_named(kind)
    registry = _registry(library, registered_kind)
    key = identifier
    if key not in registry:
        plugin, registration = _find(library, registered_kind, identifier, index or PluginIndex(library_roots(library)))
        load_plugin(library, plugin)
        key = registration.identifier if registration else identifier
        if key not in registry:
            raise _not_registered(plugin, registered_kind, key, registration)
    factory = registry.accepted(key) if isinstance(registry, OwnedRegistry) else registry[key]
    return functools.partial(factory, identifier.removeprefix(key)) if key.endswith(":") else factory


def find_plugin(library: str, kind: str, identifier: str, *, index: PluginIndex | None = None) -> Plugin:
    """Return the plugin that registers an identifier; only those that compute identifiers are imported to find it."""
    return _find(library, kind_named(kind), identifier, index or PluginIndex(library_roots(library)))[0]


class ImportPlugin:
    """Find the plugin that registers an identifier: `find_plugin` under its published signature.

    ``plugin_type`` is the folder of the plugins, such as ``'models'``; ``registry_prefix`` the kind, if that does not
    determine it: ``'stimulus_set'``. ``plugins_dir`` is the parent of the plugin's folder ``plugin_dirname``,
    ``registry_name`` the name of the dictionary.
    """

    def __init__(
        self, library_root: str, plugin_type: str, identifier: str, registry_prefix: str | None = None
    ) -> None:
        self.plugin_type, self.identifier = plugin_type, identifier
        self._plugin = find_plugin(library_root, registry_prefix or plugin_type, identifier)
        self.plugins_dir = self._plugin.root.path
        self.registry_name = kind_named(registry_prefix or plugin_type).registry
        self.plugin_dirname = self.locate_plugin()

    def locate_plugin(self) -> str:
        """Return the name of the plugin's folder."""
        return self._plugin.name

    def install_requirements(self) -> None:
        """Install missing requirements of the plugin, regardless of ``BS_INSTALL_DEPENDENCIES``."""
        _install_requirements(self._plugin)


def known_identifiers_of(
    library: str, kind: str, *, index: PluginIndex | None = None, schemes: bool = False
) -> list[str]:
    """Return all identifiers registered literally by plugins or at run time, sorted.

    Plugins of the library are imported only for names of `schemes`, which ``names()`` of their factories returns; those
    of outside folders never: a list must not run a stranger's code.
    """
    registered_kind = kind_named(kind)
    index = index or PluginIndex(library_roots(library))
    registered = {*index.identifiers(registered_kind), *_registry(library, registered_kind)}
    identifiers = {identifier for identifier in registered if not identifier.endswith(":")}
    if schemes:
        for scheme in index.identifiers(registered_kind, schemes=True):
            if any(plugin.root.rank for plugin, _ in index.find(registered_kind, scheme)):
                continue
            with suppress(BrainScoreError), installing_nothing():  # the library that it is for is not installed
                factory = import_plugin(library, kind, scheme, index=index).func  # type: ignore[attr-defined]  # a partial
                identifiers.update(f"{scheme}{name}" for name in factory.names())
    return sorted(identifiers)


def load_plugin(library: str, plugin: Plugin) -> ModuleType:
    """Import a plugin, after installing its requirements if ``BS_INSTALL_DEPENDENCIES`` is ``yes``.

    If it raises an error (`PluginError`), its modules and registrations are forgotten.
    """
    imported = sys.modules.get(plugin.module)
    if imported is not None:
        return _checked_origin(plugin, imported)
    if settings().install_dependencies == "yes" and _requirement_file(plugin) is not None:
        _install_requirements(plugin)
    registries = {kind.registry: _registry(library, kind) for kind in KINDS.values()}
    earlier = {name: dict(registry) for name, registry in registries.items()}
    modules = set(sys.modules)
    try:
        module = _checked_origin(plugin, _import_module(plugin))
        for kind in KINDS.values():
            _registry(library, kind)  # raises if it was replaced
    except BaseException as error:
        _forget(plugin, registries, earlier, modules)
        if not isinstance(error, (Exception, SystemExit)):
            raise
        raise PluginError(_explain(library, plugin, error)) from error
    for name, registry in registries.items():
        for identifier in registry.keys() - earlier[name].keys():
            _origins.setdefault((library, name, identifier), plugin.module)  # plugins it loaded are already there
    return module


def _registry(library: str, kind: Kind) -> _Registry:
    module = importlib.import_module(library)
    registry = getattr(module, kind.registry, None)
    owner, first = _registries.get((library, kind.registry), (None, None))
    if owner is module and first is not None and registry is not first:
        setattr(module, kind.registry, first)
        raise PluginError(
            f"{library}.{kind.registry} was replaced by {type(registry).__name__} from a plugin; the original was "
            "restored. Plugins may only assign to it: look for the one that replaced it among the plugins that were "
            "loaded."
        )
    if isinstance(registry, OwnedRegistry):
        _registries[library, kind.registry] = module, registry
    return registry if isinstance(registry, dict) else {}


def _install_requirements(plugin: Plugin) -> None:
    from brainscore_core.plugin_management.requirements import install_requirements  # most plugins have none

    install_requirements(plugin.name, plugin.directory)


# Finding -------------------------------------------------------------------------------------------------------------


def _find(library: str, kind: Kind, identifier: str, index: PluginIndex) -> tuple[Plugin, Registration | None]:
    matches = index.find(kind, identifier)
    if len(matches) > 1:
        raise duplicate_identifier(kind, identifier, [(plugin.init_file, entry.line) for plugin, entry in matches])
    if matches:
        return matches[0]
    for plugin in index.plugins(kind.folder):
        if identifier in plugin.unavailable:
            raise UnavailableError(
                f"The {kind.label} {identifier!r} is known but cannot be loaded here: {plugin.unavailable[identifier]} "
                f"({table_of(plugin.directory)}). If another folder or checkout has it, add it with --plugins PATH."
            )
    remarks: list[str] = []
    for plugin in index.computing(kind):
        try:
            load_plugin(library, plugin)
        except BrainScoreError as error:
            remarks.append(
                f"It may be registered by {plugin.module}, which computes its identifiers but fails: {error}"
            )
            continue
        factory = _registry(library, kind).get(identifier)
        origin = _origins.get((library, kind.registry, identifier))
        if factory is not None and (origin == plugin.module or _comes_from(factory, plugin)):
            return plugin, None
    raise _not_found(library, kind, identifier, index, remarks)


def _comes_from(factory: object, plugin: Plugin) -> bool:
    module = getattr(getattr(factory, "func", factory), "__module__", None)  # partial functions hold theirs in `func`
    return isinstance(module, str) and f"{module}.".startswith(f"{plugin.module}.")


def _not_found(
    library: str, kind: Kind, identifier: str, index: PluginIndex, remarks: Iterable[str]
) -> BrainScoreError:
    broken = index.broken(kind.folder)
    for plugin in broken:
        with suppress(OSError):  # listed as its problem
            if identifier.encode(errors="replace") in plugin.init_file.read_bytes():
                return PluginError(
                    f"The {kind.label} {identifier!r} seems to be registered by a plugin that cannot be read: "
                    f"{plugin.problem}. Correct that file and try again."
                )
    remarks = list(remarks)
    scheme, colon, _ = identifier.partition(":")
    if schemes := index.identifiers(kind, schemes=True) if colon else []:
        meant = did_you_mean(f"{scheme}:", schemes)
        remarks.append(
            f"No plugin handles names that start with {scheme + colon!r}; expected {', '.join(schemes)}.{meant}"
        )
    if broken:
        listing = "; ".join(str(plugin.problem) for plugin in broken[:_MOST_LISTED])
        more = f"; and {len(broken) - _MOST_LISTED} more" if len(broken) > _MOST_LISTED else ""
        remarks.append(f"{len(broken)} plugin{'s' * (len(broken) > 1)} there cannot be read: {listing}{more}.")
    return unknown_identifier(
        kind,
        identifier,
        library=library,
        known=known_identifiers_of(library, kind.name, index=index),
        elsewhere=[
            other
            for other in KINDS.values()
            if other is not kind and (identifier in _registry(library, other) or index.find(other, identifier))
        ],
        remarks=remarks,
    )


def _not_registered(plugin: Plugin, kind: Kind, identifier: str, registration: Registration | None) -> PluginError:
    place = f"{plugin.init_file}:{registration.line if registration else 1}"
    if registration is not None and registration.conditional:
        reason = "the registration depends on a condition that is not met here"
    else:
        reason = "something removed it again, or the plugin is still being imported"
    return PluginError(
        f"The plugin {plugin.name!r} was imported but has not registered the {kind.label} {identifier!r} ({place}): "
        f"{reason}. Expected: {kind.registry}[{identifier!r}] = ... runs whenever the plugin is imported."
    )


# Importing -----------------------------------------------------------------------------------------------------------


def _import_module(plugin: Plugin) -> ModuleType:
    if plugin.root.rank > 0:
        join_packages(plugin.root.package.rpartition(".")[0], plugin.root.path.parent)
    package = importlib.import_module(plugin.root.package)
    if plugin.has_taken_name:
        return import_renamed(plugin.module, plugin.init_file)
    inside = any(Path(path).absolute() == plugin.root.path for path in package.__path__)
    if inside and "." not in plugin.name:
        return importlib.import_module(plugin.module)
    # A dot in the folder's name, or a folder outside the package.
    specification = importlib.util.spec_from_file_location(
        plugin.module, plugin.init_file, submodule_search_locations=[str(plugin.directory)]
    )
    if specification is None or specification.loader is None:
        raise ImportError(f"{plugin.init_file} is not a Python module.")
    module = importlib.util.module_from_spec(specification)
    sys.modules[plugin.module] = module
    specification.loader.exec_module(module)
    return module


def _checked_origin(plugin: Plugin, module: ModuleType) -> ModuleType:
    origin = getattr(module, "__file__", None)
    if origin is not None and Path(origin).resolve() != plugin.init_file.resolve():
        raise PluginError(
            f"Two plugins would be imported as {plugin.module!r}: {origin} and {plugin.init_file}. Rename one folder."
        )
    return module


def _forget(plugin: Plugin, registries: dict[str, _Registry], before: dict[str, _Registry], modules: set[str]) -> None:
    """Undo the changes of a failed import, except those of other plugins that it loaded."""
    for name in [name for name in sys.modules if f"{name}.".startswith(f"{plugin.module}.")]:
        if name not in modules:
            del sys.modules[name]
    literal = {(registration.registry, registration.identifier) for registration in plugin.registrations}
    for name, registry in registries.items():
        for identifier, factory in list(registry.items()):
            if factory is before[name].get(identifier):
                continue
            if (name, identifier) in literal or _comes_from(factory, plugin):
                if identifier in before[name]:
                    registry[identifier] = before[name][identifier]
                else:
                    del registry[identifier]


# Explaining ----------------------------------------------------------------------------------------------------------


def _explain(library: str, plugin: Plugin, error: BaseException) -> str:
    file, line = _where(plugin, error)
    said = f"{type(error).__name__}: {error}".rstrip(": .")
    message = f"The plugin {plugin.name!r} of {plugin.root.package} cannot be imported: {file}:{line}: {said}."
    return " ".join([message, *_remedy(library, plugin, error)])


def _where(plugin: Plugin, error: BaseException) -> tuple[str, int]:
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename, error.lineno or 1
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(plugin.directory)]
    if own:
        return own[-1].filename, own[-1].lineno or 1
    return str(plugin.init_file), 1


_FORMER_NAMES = frozenset({"brainio", "brainscore", "candidate_models", "model_tools"})


def _remedy(library: str, plugin: Plugin, error: BaseException) -> list[str]:
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return []
    missing = error.name.partition(".")[0]
    if missing in (library, "brainscore_core"):
        return [f"The library has no module {error.name!r}."]
    if missing in _FORMER_NAMES:
        now = f"{missing!r} is a former name of these libraries: import {library!r} instead."
        return [now, f"brainscore check {plugin.name} --fix updates the names that it recognises."]
    file, mode = _requirement_file(plugin), settings().install_dependencies
    if file is None or mode == "yes":
        where = plugin.directory / _REQUIREMENT_FILES[0]
        return [f"Add the distribution that provides {missing!r} to {where}."]
    install = f"{sys.executable} -m pip install {f'-r {file}' if file.suffix == '.txt' else file.parent}"
    return [
        f"BS_INSTALL_DEPENDENCIES={mode}, so the requirements in {file} are not installed.",
        f"Set BS_INSTALL_DEPENDENCIES=yes, or run: {install}",
    ]


def _requirement_file(plugin: Plugin) -> Path | None:
    files = (plugin.directory / name for name in _REQUIREMENT_FILES)
    return next((file for file in files if file.is_file()), None)
