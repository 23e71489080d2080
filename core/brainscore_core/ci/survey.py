"""Collect from a checkout what planning needs: its plugins, who uses whom, what they cost, what is scored already."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brainscore_core.ci.areas import PluginName, area_of, is_plugin_folder_name
from brainscore_core.ci.dependencies import Dependencies, find_dependencies
from brainscore_core.ci.plan import PluginCard
from brainscore_core.ci.policy import Policy, read_policy
from brainscore_core.plugin_management.discovery import Plugin, PluginIndex, PluginRoot
from brainscore_core.plugin_management.registry import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Survey", "read_metadata", "survey"]

_PRIVATE = re.compile(rb"\bprivate_access\b")
_PLANNED_WITH = re.compile(rb"^(access|minutes|memory_gb)\s*:", re.MULTILINE)


@dataclass(frozen=True)
class Survey:
    """What a checkout holds.

    Attributes
    ----------
    repository : Path
        Its top folder.
    policy : Policy
        What the project has decided.
    index : PluginIndex
        Its plugins.
    """

    repository: Path
    policy: Policy
    index: PluginIndex

    @cached_property
    def dependencies(self) -> Dependencies:
        """Which plugin uses which."""
        return find_dependencies(self.index)

    @cached_property
    def plugins(self) -> Mapping[PluginName, Plugin]:
        """All plugins by name, but for folders whose name is not allowed."""
        return {
            PluginName(folder, plugin.name): plugin
            for folder in dict.fromkeys(kind.folder for kind in KINDS.values())
            for plugin in self.index.plugins(folder)
            if is_plugin_folder_name(plugin.name)
        }

    @cached_property
    def cards(self) -> Mapping[PluginName, PluginCard]:
        """What planning needs to know about each plugin."""
        cards = {name: _card(name, plugin) for name, plugin in self.plugins.items()}
        # A benchmark is private if its own metadata say so or it uses private data.
        private = {name: "private data" for name, card in cards.items() if name.folder == "data" and card.private}
        for name in self.dependencies.affected_by(private, tests=False):
            if name.folder in {"data", "benchmarks"} and read_metadata(self.plugins[name]).get("access") != "public":
                cards[name] = PluginCard(**{**vars(cards[name]), "private": True})
        return cards

    def revision(self, name: PluginName) -> str:
        """Return a digest of everything in a plugin, and in what it uses, that can change a score."""
        used: dict[PluginName, list[PluginName]] = {}
        for use in self.dependencies.uses:
            if not use.tests_only:
                used.setdefault(use.user, []).append(use.used)
        waiting, reached = [name], {name}
        while waiting:
            for other in used.get(waiting.pop(), ()):
                if other not in reached:
                    reached.add(other)
                    waiting.append(other)
        digest = hashlib.sha256()
        for each in sorted(reached):
            plugin = self.plugins.get(each)
            for file in _files_of_scores(each, plugin) if plugin is not None else ():
                digest.update(f"{each}/{file.relative_to(plugin.directory).as_posix()}\0".encode())  # type: ignore[union-attr] # files of a plugin
                digest.update(hashlib.sha256(file.read_bytes()).digest())
        return digest.hexdigest()[:16]


def survey(repository: Path) -> Survey:
    """Look at a checkout; reads its policy at once and everything else when it is asked for."""
    policy = read_policy(repository)
    folders = dict.fromkeys(kind.folder for kind in KINDS.values())
    roots = [
        PluginRoot(folder=folder, path=repository / library / folder, package=f"{Path(library).name}.{folder}")
        for library in policy.libraries
        for folder in folders
    ]
    return Survey(repository, policy, PluginIndex(roots))


def read_metadata(plugin: Plugin) -> Mapping[str, Any]:
    """Return what the ``metadata.yml`` of a plugin says about planning.

    Returns
    -------
    mapping
        Empty if there is no such file, it cannot be read, or it says nothing about access or costs.
    """
    for name in ("metadata.yml", "metadata.yaml"):
        try:
            text = (plugin.directory / name).read_bytes()
        except OSError:
            continue
        if _PLANNED_WITH.search(text):  # parsing the metadata of every plugin would take seconds
            return _parse_yaml(text)
    return {}


def _parse_yaml(text: bytes) -> Mapping[str, Any]:
    import yaml  # few plugins have such metadata

    try:
        content = yaml.safe_load(text)
    except (ValueError, yaml.YAMLError):
        return {}  # the static checks say what is wrong with it
    return content if isinstance(content, dict) else {}


def _card(name: PluginName, plugin: Plugin) -> PluginCard:
    metadata = read_metadata(plugin)
    tests = [file for file in plugin.directory.glob("test*.py") if file.is_file()]
    private_tests = sum(len(_PRIVATE.findall(file.read_bytes())) for file in tests)
    access = metadata.get("access")
    return PluginCard(
        name=name,
        models=tuple(plugin.identifiers(KINDS["model"], conditional=False)),
        benchmarks=tuple(plugin.identifiers(KINDS["benchmark"], conditional=False)),
        has_tests=bool(tests),
        private_tests=private_tests,
        private=access == "private" or (access is None and private_tests > 0 and name.folder in {"data", "benchmarks"}),
        minutes=_positive(metadata.get("minutes")),
        memory_gb=_positive(metadata.get("memory_gb")),
    )


def _positive(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else None


def _files_of_scores(name: PluginName, plugin: Plugin) -> Iterable[Path]:
    for file in sorted(plugin.directory.rglob("*")):
        within = file.relative_to(plugin.directory).as_posix()
        path = f"library/{name}/{within}"
        if file.is_file() and "__pycache__" not in file.parts and area_of(path, ["library"]).changes_scores:
            yield file
