"""Map a path to the part of the project it belongs to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from brainscore_core.plugin_management.registry import FOLDERS

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", re.ASCII)
CORE = "core/brainscore_core"
"""Folder of the package that all libraries stand on."""

_TEXTS = (".md", ".rst", ".txt", ".cff")
_READ_ONLY = (*_TEXTS, ".bib", ".png", ".svg", ".css")  # documentation that nothing executes
# Parts of the core that no check, plan or report runs.
_MEASURING = ("benchmarks", "metrics", "supported_data_standards", "validation")
_TOOLING = ("noxfile.py", "pyproject.toml", "constraints.txt", "conftest.py")

Kind = Literal[
    "plugin", "refused", "documentation", "library tests", "measurements", "tooling", "library", "web", "unknown"
]


@dataclass(frozen=True, order=True)
class PluginName:
    """Folder and name of a plugin, such as ``benchmarks/majajhong2015``."""

    folder: str
    name: str

    def __str__(self) -> str:
        return f"{self.folder}/{self.name}"

    @classmethod
    def parse(cls, text: str) -> PluginName:
        """Read the form that `str` gives; raise `ValueError` if it is not a plugin folder, ``/`` and a name."""
        folder, _, name = text.partition("/")
        if folder not in FOLDERS or not is_plugin_folder_name(name):
            raise ValueError(f"{text!r} is no plugin; expected one of {', '.join(FOLDERS)}, a slash and a name.")
        return cls(folder, name)


@dataclass(frozen=True)
class Area:
    """Part of the project that a path belongs to.

    ``kind`` is 'plugin'; 'refused' (plugin folder with a forbidden name); 'documentation'; 'library tests';
    'measurements' (of speed); 'tooling' (workflows, configuration); 'library'; 'web' (pages that only show scores); or
    'unknown'.
    """

    kind: Kind
    plugin: PluginName | None = None
    within: str = ""

    @property
    def concerns_all_plugins(self) -> bool:
        """Whether a change here may change what any plugin does."""
        return self.kind in {"library", "tooling", "unknown"}

    @property
    def changes_all_scores(self) -> bool:
        """Whether a change here may change any score; `Reach` decides for files of plugins."""
        return self.kind in {"library", "unknown"}


def is_plugin_folder_name(name: str) -> bool:
    """Return whether a plugin folder may have this name, which needs no quoting in shells, paths and job names."""
    return _NAME.fullmatch(name) is not None


def is_test_file(path: str) -> bool:
    """Return whether a plugin's file is one of its tests."""
    pure = PurePosixPath(path)
    return re.match(r"test.*\.py$|conftest\.py$", pure.name) is not None or pure.parts[0] in {"test", "tests"}


def area_of(path: str, libraries: Sequence[str] = ()) -> Area:
    """Return the area of a path, relative to the repository with ``/``; ``libraries`` are folders with plugins."""
    for library in libraries:
        if path.startswith(f"{library}/"):
            return _area_in_library(path.removeprefix(f"{library}/"))
    pure = PurePosixPath(path)
    packages = {"core", "web", *(library.split("/")[0] for library in libraries)}
    top = pure.parts[0] if pure.parts else ""
    in_package = top in packages
    is_text = pure.suffix in _TEXTS or pure.name == "LICENSE"
    rules: tuple[tuple[bool, Kind], ...] = (
        (top == "scripts" and pure.parts[1:2] == ("tests",), "library tests"),
        (pure.name in _TOOLING or top in {".ci", "scripts"}, "tooling"),
        (top == ".github" and not (is_text or pure.parts[1:2] == ("ISSUE_TEMPLATE",)), "tooling"),
        (top in {"docs", ".github"}, "documentation"),
        (is_text and len(pure.parts) == (2 if in_package else 1), "documentation"),
        (top == "perf", "measurements"),
        (in_package and pure.parts[1:2] == ("tests",), "library tests"),
        (path.startswith(f"{CORE}/"), "library"),
        (path.startswith("web/brainscore_web/"), "web"),
    )
    return Area(next((kind for holds, kind in rules if holds), "unknown"))


def changes_ci(path: str, libraries: Sequence[str] = ()) -> bool:
    """Return whether a change of a path may change checks, plans, tests or reports; unknown paths may."""
    area, pure = area_of(path, libraries), PurePosixPath(path)
    match area.kind:
        case "plugin" | "library tests" | "measurements" | "web":
            return False
        case "documentation":
            return not (
                pure.suffix in _READ_ONLY or pure.name == "LICENSE" or path.startswith(".github/ISSUE_TEMPLATE/")
            )
        case "library":
            if pure.parts[:2] == ("core", "brainscore_core"):
                return pure.parts[2] not in _MEASURING
            return "testing" in pure.parts  # used by its plugins' tests
    return True


def _area_in_library(within: str) -> Area:
    folder, _, rest = within.partition("/")
    if folder not in FOLDERS or "/" not in rest:
        return Area("library")
    name, _, inner = rest.partition("/")
    if not is_plugin_folder_name(name) or name.startswith("_"):  # the index ignores such folders
        return Area("refused", within=rest)
    return Area("plugin", PluginName(folder, name), inner)
