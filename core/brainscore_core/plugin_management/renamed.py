"""Import a plugin under another name if a plugin of the library has its name.

Its modules find each other by its own name.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

MARK = "@"
"""Separates the name of a plugin from its number; no folder of the library contains it."""

_files: dict[str, Path] = {}  # name of the module of a plugin -> its `__init__.py`


def import_renamed(name: str, file: Path) -> ModuleType:
    """Import the ``__init__.py`` of a plugin under a name such as ``'mylibrary.models.mymodel@1'``."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    _files[name] = file
    return importlib.import_module(name)


def name_for(importer: str, name: str) -> str:
    """Return the name of the module that is imported as ``name``, another one if the importer itself is renamed."""
    own, mark, rest = importer.partition(MARK)
    if mark and f"{name}.".startswith(f"{own}."):
        return f"{own}{mark}{rest.partition('.')[0]}{name[len(own) :]}"
    return name


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if MARK not in name:
            return None
        if file := _files.get(name):
            loader, folders = _Loader(name, str(file)), [str(file.parent)]
            return importlib.util.spec_from_file_location(name, file, loader=loader, submodule_search_locations=folders)
        found = PathFinder.find_spec(name, path, target)
        if found is not None and isinstance(found.loader, SourceFileLoader):
            found.loader = _Loader(name, found.loader.path)
        return found


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - as in its base class
        """Return the code, not from ``__pycache__``, which belongs to the other name."""
        return self.source_to_code(self.get_data(self.path), self.path)

    def source_to_code(self, data: bytes, path: str, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]
        tree = ast.parse(data, path)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    if name_for(self.name, full) != full and name_for(self.name, node.module) == node.module:
                        alias.asname = alias.asname or alias.name
                        alias.name = name_for(self.name, full).rpartition(".")[2]
                node.module = name_for(self.name, node.module)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    renamed = name_for(self.name, alias.name)
                    if renamed != alias.name and not alias.asname:
                        raise ImportError(
                            f"{path}:{node.lineno}: 'import {alias.name}' imports the library's plugin of this name. "
                            "Write 'from . import ...' or add 'as ...'."
                        )
                    alias.name = renamed
        return compile(tree, path, "exec", dont_inherit=True)
