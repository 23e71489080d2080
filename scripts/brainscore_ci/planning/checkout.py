"""Collect from a checkout what planning needs: its plugins, who uses whom, what they cost, what is scored already."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from brainscore_ci.planning.areas import Area, PluginName, is_plugin_folder_name
from brainscore_ci.planning.decide import PluginCard
from brainscore_ci.planning.dependencies import Dependencies, find_dependencies
from brainscore_ci.planning.policy import Policy, read_policy
from brainscore_ci.planning.readings import Reading, Tree, read_tree
from brainscore_core.errors import UnknownIdentifierError
from brainscore_core.plugin_management.index import Plugin, PluginIndex, PluginRoot
from brainscore_core.plugin_management.registry import FOLDERS, KINDS

__all__ = ["Survey", "survey"]


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
    def tree(self) -> Tree:
        """What the files of all plugins say."""
        return read_tree(self.index)

    @cached_property
    def dependencies(self) -> Dependencies:
        """Which plugin uses which."""
        return find_dependencies(self.index, self.tree)

    @cached_property
    def plugins(self) -> Mapping[PluginName, Plugin]:
        """All plugins by name, but for folders whose name is not allowed."""
        return {
            PluginName(folder, plugin.name): plugin
            for folder in FOLDERS
            for plugin in self.index.plugins(folder)
            if is_plugin_folder_name(plugin.name)
        }

    @cached_property
    def cards(self) -> Mapping[PluginName, PluginCard]:
        """What planning needs to know about each plugin."""
        readings = self.tree.plugins
        cards = {name: _card(name, plugin, readings[name]) for name, plugin in self.plugins.items()}
        # A benchmark is private if its own metadata say so or it uses private data.
        private = {name: "private data" for name, card in cards.items() if name.folder == "data" and card.private}
        for name in self.dependencies.affected_by(private, tests=False):
            if name.folder in {"data", "benchmarks"} and readings[name].access != "public":
                cards[name] = replace(cards[name], private=True)
        return cards

    @cached_property
    def owners(self) -> Mapping[tuple[str, str], PluginName]:
        """The plugin of each ('model' or 'benchmark', identifier)."""
        return {
            (kind, identifier): name
            for name, card in sorted(self.cards.items())
            for kind, identifiers in (("model", card.models), ("benchmark", card.benchmarks))
            for identifier in identifiers
        }

    def revision(self, name: PluginName) -> str:
        """Return a digest of everything in a plugin, and in what it uses, that can change a score."""
        if name not in self._revisions:
            waiting, reached = [name], {name}
            while waiting:
                for other in self._used.get(waiting.pop(), ()):
                    if other not in reached:
                        reached.add(other)
                        waiting.append(other)
            digest = hashlib.sha256()
            for each in sorted(reached):
                digest.update(f"{each}\0{self._own_digest(each)}\0".encode())
            self._revisions[name] = digest.hexdigest()[:16]
        return self._revisions[name]

    def revision_of(self, kind: str, identifier: str) -> str | None:
        """Return the revision of the plugin that registers a 'model' or 'benchmark'; None if none does."""
        name = self.owners.get((kind, identifier))
        return None if name is None else self.revision(name)

    def library_of(self, kind: str, identifier: str) -> str:
        """Return the package that holds the plugin of a 'model' or 'benchmark', such as 'mylibrary'.

        Raises
        ------
        UnknownIdentifierError
            If no plugin registers it.
        """
        name = self.owners.get((kind, identifier))
        if name is None:
            raise UnknownIdentifierError(f"No plugin registers the {kind} {identifier!r} in {self.repository}.")
        return self.plugins[name].root.package.partition(".")[0]

    @cached_property
    def _revisions(self) -> dict[PluginName, str]:
        return {}

    @cached_property
    def _own_digests(self) -> dict[PluginName, str]:
        return {}

    @cached_property
    def _used(self) -> Mapping[PluginName, list[PluginName]]:
        used: dict[PluginName, list[PluginName]] = {}
        for use in self.dependencies.uses:
            if not use.tests_only:
                used.setdefault(use.user, []).append(use.used)
        return used

    def _own_digest(self, name: PluginName) -> str:
        if name not in self._own_digests:
            plugin = self.plugins.get(name)
            digest = hashlib.sha256()
            for within, file in _files_of_scores(plugin.directory) if plugin is not None else ():
                digest.update(f"{within}\0".encode("utf-8", "surrogateescape"))
                digest.update(hashlib.sha256(file.read_bytes()).digest())
            self._own_digests[name] = digest.hexdigest()
        return self._own_digests[name]


def survey(repository: Path) -> Survey:
    """Look at a checkout; reads its policy at once and everything else when it is asked for."""
    policy = read_policy(repository)
    roots = [
        PluginRoot(folder=folder, path=repository / library / folder, package=f"{Path(library).name}.{folder}")
        for library in policy.libraries
        for folder in FOLDERS
    ]
    return Survey(repository, policy, PluginIndex(roots))


def _card(name: PluginName, plugin: Plugin, reading: Reading) -> PluginCard:
    access = reading.access
    has_private_tests = reading.private_tests > 0 and name.folder in {"data", "benchmarks"}
    return PluginCard(
        name=name,
        models=tuple(plugin.identifiers(KINDS["model"], conditional=False)),
        benchmarks=tuple(plugin.identifiers(KINDS["benchmark"], conditional=False)),
        has_tests=reading.has_tests,
        private_tests=reading.private_tests,
        private=access == "private" or (access is None and has_private_tests),
        minutes=reading.minutes,
        memory_gb=reading.memory_gb,
    )


def _files_of_scores(directory: Path) -> Iterable[tuple[str, Path]]:
    """Yield path inside the folder of a plugin, and the file, of all that can change a score."""
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if name != "__pycache__" and not name.startswith("."))
        for name in sorted(names):
            file = Path(folder, name)
            within = file.relative_to(directory).as_posix()
            area = Area("plugin", within=within)
            if area.changes_scores and not name.startswith(".") and file.is_file():
                yield within, file
