"""The plugin that is checked, and what the rules have to know beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from brainscore_ci.checks.findings import Finding, Severity
from brainscore_ci.planning.areas import is_test_file
from brainscore_core.plugin_management.source import PluginSource, SourceFile, read_files

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

    from brainscore_core.plugin_management.index import Plugin

__all__ = ["CheckedPlugin", "Surroundings", "read_checked_plugin"]


@dataclass(frozen=True)
class CheckedPlugin(PluginSource):
    """One plugin as it lies on the disk.

    Attributes
    ----------
    plugin : Plugin
        What the index says about it.
    location : str
        Its folder as people see it, relative to the repository where it lies in one.
    earlier : mapping of str to bytes, optional
        Python files of the same plugin before the change; empty if it is new, None if there is nothing to compare with.
    """

    plugin: Plugin
    location: str
    earlier: Mapping[str, bytes] | None = None

    @property
    def folder(self) -> str:
        """Folder of its kind, such as ``'models'``."""
        return self.plugin.root.folder

    def where(self, file: str = "") -> str:
        """Return the path of a file as people see it."""
        return f"{self.location}/{file}" if file else self.location

    def finding(
        self, rule: str, message: str, fix: str, file: str = "", line: int = 1, *, hint: bool = False
    ) -> Finding:
        """Return what a rule found in a file of this plugin, or in its folder."""
        severity: Severity = "hint" if hint else "error"
        return Finding(path=self.where(file), line=line, rule=rule, message=message, fix=fix, severity=severity)

    @cached_property
    def python(self) -> Mapping[str, SourceFile]:
        """Files that can be parsed, but for tests and for those that only make data or install something."""
        return {
            path: file
            for path, file in self.files.items()
            if file.tree is not None and not _is_aside(path) and not is_test_file(path)
        }


def _is_aside(path: str) -> bool:
    return path == "setup.py" or "data_packaging" in PurePosixPath(path).parts[:-1]


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What the rules have to know beside the plugin itself.

    Attributes
    ----------
    identifiers : mapping of str to mapping
        Name of the kind -> identifier -> places where it is registered, such as ``models/pixels/__init__.py:9``.
    computing : frozenset of str
        Kinds of which some plugin computes identifiers, so that not all are known.
    dependencies : mapping of str to SpecifierSet
        Normalized name of each distribution that the libraries require -> versions.
    plugins : frozenset of str
        All plugins, such as ``'metrics/rdm'``.
    nodes : frozenset of str
        Nodes that benchmarks hang below, from the ``hierarchy.toml`` of the libraries.
    """

    identifiers: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    computing: frozenset[str] = frozenset()
    dependencies: Mapping[str, SpecifierSet] = field(default_factory=dict)
    plugins: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()

    def known(self, kind: str) -> Mapping[str, tuple[str, ...]]:
        """Return the identifiers of a kind and where they are registered."""
        return self.identifiers.get(kind, {})


def read_checked_plugin(plugin: Plugin, location: str, earlier: Mapping[str, bytes] | None = None) -> CheckedPlugin:
    """Read a plugin; see `CheckedPlugin`."""
    return CheckedPlugin(plugin.module, read_files(plugin.directory), plugin, location, earlier)
