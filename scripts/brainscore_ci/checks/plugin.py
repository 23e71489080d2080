"""Represent the checked plugin and its surroundings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


@dataclass(frozen=True)
class CheckedPlugin(PluginSource):
    """One plugin on disk."""

    plugin: Plugin
    location: str  # its folder for people, relative to its repository, if any
    # Its Python files before the change; empty if it is new, None if unknown
    earlier: Mapping[str, bytes] | None = None

    @property
    def folder(self) -> str:
        """Folder of its kind, such as ``'models'``."""
        return self.plugin.root.folder

    def where(self, file: str = "") -> str:
        """Return the path of a file for people."""
        return f"{self.location}/{file}" if file else self.location

    def finding(
        self, rule: str, message: str, fix: str, file: str = "", line: int = 1, *, hint: bool = False
    ) -> Finding:
        """Return a finding in a file of this plugin, or in its folder."""
        severity: Severity = "hint" if hint else "error"
        return Finding(path=self.where(file), line=line, rule=rule, message=message, fix=fix, severity=severity)

    @cached_property
    def python(self) -> Mapping[str, SourceFile]:
        """Parsable files, without tests and scripts that make data or install something."""
        aside = {path for path in self.files if "data_packaging" in PurePosixPath(path).parts[:-1]} | {"setup.py"}
        return {
            path: file
            for path, file in self.files.items()
            if file.tree is not None and path not in aside and not is_test_file(path)
        }


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """Facts about all plugins and the library."""

    # Kind -> identifier -> places that register it, such as ``models/pixels/__init__.py:9``
    identifiers: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    computing: frozenset[str] = frozenset()  # kinds with computed identifiers, so that not all are known
    # Normalised name of each distribution that the libraries require -> versions
    dependencies: Mapping[str, SpecifierSet] = field(default_factory=dict)
    plugins: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()  # parents of benchmarks in the libraries' ``hierarchy.toml``
    # Name of a folder -> the plugins of that name that are checked together, in the order of their findings
    together: Mapping[str, Sequence[CheckedPlugin]] = field(default_factory=dict)

    def known(self, kind: str) -> Mapping[str, tuple[str, ...]]:
        """Return the identifiers of a kind and the places that register them."""
        return self.identifiers.get(kind, {})


def read_checked_plugin(plugin: Plugin, location: str, earlier: Mapping[str, bytes] | None = None) -> CheckedPlugin:
    """Read a plugin; see `CheckedPlugin`."""
    return CheckedPlugin(plugin.module, read_files(plugin.directory), plugin, location, earlier)
