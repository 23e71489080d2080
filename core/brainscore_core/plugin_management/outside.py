"""Find folders of plugins outside a library."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path

from brainscore_core.config import plugin_paths
from brainscore_core.errors import ConfigurationError
from brainscore_core.plugin_management.registry import FOLDERS


def outside_folders(library: str) -> list[Path]:
    """Return the folders of `plugin_paths` that hold plugins, of a checkout that of the package in it."""
    where, paths = plugin_paths()
    return list(dict.fromkeys(_holding_plugins(path, library, where) for path in paths))


def _holding_plugins(path: Path, library: str, where: str) -> Path:
    for folder in (path.joinpath(*library.split(".")), path):
        if any((folder / kind).is_dir() for kind in FOLDERS):
            return folder.resolve()
    problem = "holds none of them" if path.is_dir() else "is no folder" if path.exists() else "does not exist"
    folders = f"{', '.join(FOLDERS[:-1])} or {FOLDERS[-1]}"
    raise ConfigurationError(
        f"{where} names {path}, which {problem}. Expected a folder with {folders}, in which each plugin has a folder, "
        f"or a checkout with such a folder {library}."
    )


def join_packages(library: str, folder: Path) -> None:
    """Let modules import a folder's plugins as a library's, after its own: ``mylibrary.models.theirs``."""
    for kind in FOLDERS:
        path = str(folder / kind)
        if Path(path).is_dir() and importlib.util.find_spec(f"{library}.{kind}") is not None:
            places = importlib.import_module(f"{library}.{kind}").__path__
            if path not in places:
                places.append(path)
