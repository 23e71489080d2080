"""Tell what part of the project a path belongs to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from brainscore_core.plugin_management.registry import FOLDERS

__all__ = ["Area", "PluginName", "area_of", "changes_ci", "is_plugin_folder_name", "is_test_file"]

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", re.ASCII)
_TEXTS = (".md", ".rst", ".txt", ".cff")
_READ_ONLY = (*_TEXTS, ".bib", ".png", ".svg", ".css")  # what of the documentation nothing runs
# What of the core no check, plan or report runs; everything else there may be part of them.
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
        """Read what `str` gives.

        Raises
        ------
        ValueError
            If it is not of the form folder/name with a folder that holds plugins.
        """
        folder, _, name = text.partition("/")
        if folder not in FOLDERS or not is_plugin_folder_name(name):
            raise ValueError(f"{text!r} is no plugin; expected one of {', '.join(FOLDERS)}, a slash and a name.")
        return cls(folder, name)


@dataclass(frozen=True)
class Area:
    """What a path belongs to.

    Attributes
    ----------
    kind : str
        'plugin'; 'refused' (a plugin folder whose name is not allowed); 'documentation'; 'library tests';
        'measurements' (of speed); 'tooling' (workflows, configuration); 'library'; 'web' (pages that show scores and
        change none); or 'unknown'.
    plugin : PluginName or None
        Set for the kind 'plugin'.
    within : str
        For plugins, the path inside the folder.
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
        """Whether a change here, outside of plugins, may change any score. See `Reach` about files of plugins."""
        return self.kind in {"library", "unknown"}


def is_plugin_folder_name(name: str) -> bool:
    """Tell whether a plugin folder may have a name: ASCII letters, digits, and ``_.-``.

    A leading dot or dash is not allowed either. Anything else would have to be quoted in shells, paths and job names.
    """
    return _NAME.fullmatch(name) is not None


def is_test_file(path: str) -> bool:
    """Tell whether a file of a plugin belongs to its tests."""
    pure = PurePosixPath(path)
    return re.match(r"test.*\.py$|conftest\.py$", pure.name) is not None or pure.parts[0] in {"test", "tests"}


def area_of(path: str, libraries: Sequence[str] = ()) -> Area:
    """Return what a path belongs to.

    Parameters
    ----------
    path : str
        Relative to the repository, with ``/``.
    libraries : sequence of str
        Folders of the packages that hold plugins.
    """
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
        (path.startswith("core/brainscore_core/"), "library"),
        (path.startswith("web/brainscore_web/"), "web"),
    )
    return Area(next((kind for holds, kind in rules if holds), "unknown"))


def changes_ci(path: str, libraries: Sequence[str] = ()) -> bool:
    """Tell whether a change of a path may change what checks, plans, tests or reports; so does what is not known.

    Parameters
    ----------
    path : str
        Relative to the repository, with ``/``.
    libraries : sequence of str
        Folders of the packages that hold plugins.
    """
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
            return "testing" in pure.parts  # of a library with plugins: what its tests run with
    return True


def _area_in_library(within: str) -> Area:
    folder, _, rest = within.partition("/")
    if folder not in FOLDERS or "/" not in rest:
        return Area("library")
    name, _, inner = rest.partition("/")
    if not is_plugin_folder_name(name) or name.startswith("_"):  # of which the index knows no plugin
        return Area("refused", within=rest)
    return Area("plugin", PluginName(folder, name), inner)
