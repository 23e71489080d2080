"""Hold the factories of one kind and keep plugins from changing those of others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Generic, TypeVar

from brainscore_core.errors import PluginError
from brainscore_core.plugin_management.registry import FOLDERS, outside_folders

Owners = Mapping[str, Sequence[Path]]
Factory = TypeVar("Factory", bound=Callable[..., Any])

_MISSING: Any = object()
_SHOWN = 5  # identifiers in a repr
_IMPORTER = __file__.replace("owned_registry", "import_plugin")


class OwnedRegistry(dict[str, Factory], Generic[Factory]):
    """A dictionary of factories by identifier; a plugin can only change its own entries.

    Every other change by a plugin raises a `PluginError`, with one exception: if a plugin outside the library assigns
    an identifier or scheme of the library or of an earlier folder, the assignment is silently ignored. Identifiers
    without a plugin are free, and code outside plugins, such as a notebook or test, may change everything.
    ``owners(library, kind)`` returns identifier -> ``__init__.py`` of the plugins that register it.
    """

    def __init__(self, library: str, kind: str, owners: Callable[[str, str], Owners]) -> None:
        super().__init__()
        self._library, self._kind, self._owners = library, kind, owners
        self._known: Owners = {}
        self._known_to: Path | None = None  # the plugin at work at that time
        self._accepted: dict[str, Factory] = {}

    def __repr__(self) -> str:
        """Return how many identifiers plugins register, how many of them are imported, and the first ones."""
        known = sorted({*self, *self._owners(self._library, self._kind)})
        names = ", ".join([*map(repr, known[:_SHOWN]), *(["..."] if len(known) > _SHOWN else [])])
        return f"<{self._label()} registry of {self._library}, {len(known)} known, {len(self)} imported: {names}>"

    def __setitem__(self, identifier: str, factory: Factory) -> None:
        self.update({identifier: factory})

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Assign identifiers one by one."""
        places = _places_of_plugins(self._library)  # once for a table of hundreds
        for identifier, factory in dict(*args, **kwargs).items():
            if self._may_change(identifier, places, assigns=True):
                self._accepted[identifier] = factory
                super().__setitem__(identifier, factory)

    def __delitem__(self, identifier: str) -> None:
        if identifier in self:
            self._may_change(identifier, _places_of_plugins(self._library))
        super().__delitem__(identifier)
        self._accepted.pop(identifier, None)

    def pop(self, identifier: str, default: Any = _MISSING) -> Any:
        """Remove an identifier and return its factory, or the default."""
        if identifier not in self and default is not _MISSING:
            return default
        factory = self[identifier]
        del self[identifier]
        return factory

    def setdefault(self, identifier: str, default: Any = None) -> Any:
        """Return the factory of an identifier; assign the default first if there is none."""
        if identifier not in self:
            self[identifier] = default
        return self[identifier]

    def __ior__(self, other: Any) -> OwnedRegistry[Factory]:  # type: ignore[override,misc]  # as that of any dict
        self.update(other)
        return self

    # These change one identifier after the other.
    popitem = MutableMapping.popitem
    clear = MutableMapping.clear

    def accepted(self, identifier: str) -> Factory:
        """Return a factory; `PluginError` unless it was assigned through this registry."""
        factory = self[identifier]
        if self._accepted.get(identifier) is not factory:
            raise PluginError(
                f"The {self._label()} {identifier!r} was replaced without using its registry: it is {factory!r}, which "
                "no plugin assigned to it. Look for the plugin that did so among those that were loaded, and stop "
                "loading it."
            )
        return factory

    def _label(self) -> str:
        return self._kind.replace("_", " ")

    def _may_change(self, identifier: str, places: Mapping[str, int], *, assigns: bool = False) -> bool:
        """Return whether an identifier is free; False if a plugin `assigns` one that a lower rank has."""
        plugin, file = _plugin_at_work(places)
        if plugin is None:
            return True
        if self._known_to != plugin or self._strangers(plugin, identifier):
            self._known, self._known_to = self._owners(self._library, self._kind), plugin
        rank = _rank(plugin, places)
        owners = [owner for owner in self._strangers(plugin, identifier) if _rank(owner, places) <= rank]
        scheme, colon, name = str(identifier).partition(":")
        if name:  # names of a scheme are of those who have it
            owners += [owner for owner in self._strangers(plugin, scheme + colon) if _rank(owner, places) < rank]
        if assigns and owners and _rank(owners[0], places) < rank:
            return False
        if owners:
            raise PluginError(
                f"{file} changes the {self._label()} {identifier!r}, which {' and '.join(map(str, owners))} registers. "
                "A plugin may only register its own identifiers: choose another one."
            )
        return True

    def _strangers(self, plugin: Path, identifier: str) -> Sequence[Path]:
        owners = self._known.get(identifier, ())
        return () if any(owner.parent == plugin for owner in owners) else owners


def _places_of_plugins(library: str) -> dict[str, int]:
    """Return the folders that hold plugins, with a separator at the end, and their ranks, see `PluginRoot`."""
    own = [Path(place).absolute() for place in getattr(sys.modules.get(library), "__path__", ())]
    ranked = [*((0, place) for place in own), *enumerate(outside_folders(library), 1)]
    places: dict[str, int] = {}
    for rank, place in ranked:
        for folder in FOLDERS:
            places.setdefault(f"{place / folder}/", rank)
    return places


def _rank(path: Path, places: Mapping[str, int]) -> int:
    return next((rank for place, rank in places.items() if str(path).startswith(place)), 0)


def _plugin_at_work(places: Iterable[str]) -> tuple[Path | None, str]:
    """Return folder and file of the innermost plugin whose code, tests excepted, is running; (None, ``''``) if none."""
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - `inspect.stack` reads every frame's source
    while frame is not None:
        file = frame.f_code.co_filename
        if file == _IMPORTER:  # it undoes failed imports
            return None, ""
        root = next((root for root in places if file.startswith(root)), "")
        folder, inside, _ = file[len(root) :].partition("/")
        name = file.rpartition("/")[2]
        if root and inside and name not in ("test.py", "conftest.py") and not name.startswith("test_"):
            return Path(root, folder), file
        frame = frame.f_back
    return None, ""
