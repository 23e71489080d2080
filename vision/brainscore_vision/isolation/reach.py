"""Find, without imports, the plugins that a candidate may read: its own, and the models that its sources name."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from brainscore_core.plugin_management.index import PluginIndex, library_roots
from brainscore_core.plugin_management.registry import FOLDERS, KINDS
from brainscore_core.plugin_management.source import filled, read_files

__all__ = ["folders_of_plugins", "readable_plugins"]

_LIBRARY = "brainscore_vision"
_IMPORTED = re.compile(rf"{_LIBRARY}\.models\.([\w-]+)")
_BESIDE = re.compile(r"(?:models\.)?([\w-]+)")  # from ..other import x


def readable_plugins(folder: Path) -> list[Path]:
    """Return folders of a model's plugin and of models that it loads or imports, directly or not.

    Texts anywhere in the sources count; plugins of other kinds do not.
    """
    roots = [root for root in library_roots(_LIBRARY) if root.folder == KINDS["model"].folder]
    everything = PluginIndex(roots).plugins(KINDS["model"].folder)
    plugins = {each.name: each for each in reversed(everything)}  # of one name, imports lead to the first
    owners = [
        (identifier, plugin.directory) for plugin in everything for identifier in plugin.identifiers(KINDS["model"])
    ]
    schemes = [
        (scheme, plugin.directory)
        for plugin in everything
        for scheme in plugin.identifiers(KINDS["model"], schemes=True)
    ]
    readable: list[Path] = []
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        if current in readable:
            continue
        readable.append(current)
        for file in read_files(current).values():
            facts = file.facts
            patterns = [load.pattern for load in facts.loads if load.kind == "model" and not load.says_nothing]
            waiting += [
                owner
                for identifier, owner in owners
                if identifier in facts.texts or any(filled(pattern, identifier) is not None for pattern in patterns)
            ]
            waiting += [owner for scheme, owner in schemes if any(text.startswith(scheme) for text in facts.texts)]
            imported = [(_BESIDE if entry.level > 1 else _IMPORTED).match(entry.module) for entry in facts.imports]
            waiting += [plugins[match[1]].directory for match in imported if match and match[1] in plugins]
    return sorted(readable)


def folders_of_plugins() -> Iterator[Path]:
    """Yield the folders with plugins, wherever the library can be imported from."""
    places = {root.path for root in library_roots(_LIBRARY)}
    places |= {Path(place, _LIBRARY, name) for place in sys.path for name in FOLDERS}
    return (place for place in sorted(place.resolve() for place in places) if place.is_dir())
