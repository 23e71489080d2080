"""Collect what planning needs from a checkout: its plugins, their dependencies, costs and revisions."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from brainscore_ci.planning.areas import PluginName, area_of, is_plugin_folder_name
from brainscore_ci.planning.decide import PluginCard
from brainscore_ci.planning.dependencies import Dependencies, find_dependencies
from brainscore_ci.planning.facts import PluginFacts, Reach, TreeFacts, read_facts
from brainscore_ci.planning.policy import Policy, read_policy
from brainscore_core.errors import ConfigurationError, UnknownIdentifierError
from brainscore_core.plugin_management.index import Plugin, PluginIndex, PluginRoot, library_roots
from brainscore_core.plugin_management.registry import FOLDERS, KINDS
from brainscore_core.plugin_management.source import LEFT_ALONE


@dataclass(frozen=True)
class Checkout:
    """A checkout with its policy and the index of its plugins."""

    repository: Path
    policy: Policy
    index: PluginIndex
    _revisions: dict[PluginName, str] = field(default_factory=dict, init=False, repr=False, compare=False)
    _own_digests: dict[PluginName, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def facts(self) -> TreeFacts:
        """Facts from the files of all plugins."""
        return read_facts(self.index)

    @cached_property
    def dependencies(self) -> Dependencies:
        """Which plugin uses which."""
        return find_dependencies(self.facts)

    @cached_property
    def plugins(self) -> Mapping[PluginName, Plugin]:
        """All plugins by name, except those in folders with forbidden names."""
        return {
            PluginName(folder, plugin.name): plugin
            for folder in FOLDERS
            for plugin in self.index.plugins(folder)
            if is_plugin_folder_name(plugin.name)
        }

    @cached_property
    def cards(self) -> Mapping[PluginName, PluginCard]:
        """Identifiers, tests and costs of each plugin."""
        facts = self.facts.plugins
        cards = {name: _card(plugin, facts[name]) for name, plugin in self.plugins.items()}
        # A benchmark is private if its metadata say so or it uses private data.
        private = {name: "private data" for name, card in cards.items() if name.folder == "data" and card.private}
        for name in self.dependencies.affected_by(private, tests=False):
            if name.folder in {"data", "benchmarks"} and facts[name].access != "public":
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
        """Return a digest of every file of a plugin, and of the plugins it uses, that can change a score.

        Of Python files only the code counts.
        """
        if name not in self._revisions:
            digest = hashlib.sha256()
            for used in self.reached(name):
                digest.update(f"{used}\0{self._own_digest(used)}\0".encode())
            self._revisions[name] = digest.hexdigest()[:16]
        return self._revisions[name]

    def reached(self, name: PluginName) -> list[PluginName]:
        """Return a plugin and all plugins its scores depend on, sorted."""
        waiting, reached = [name], {name}
        while waiting:
            for other in self._used.get(waiting.pop(), ()):
                if other not in reached:
                    reached.add(other)
                    waiting.append(other)
        return sorted(reached)

    def folders_of(self, kind: str, identifier: str) -> list[Path]:
        """Return the folders of the plugin of a 'model' or 'benchmark', and of all plugins it uses."""
        name = self.owners.get((kind, identifier))
        reached = [] if name is None else self.reached(name)
        return [self.plugins[used].directory for used in reached if used in self.plugins]

    def revision_of(self, kind: str, identifier: str) -> str | None:
        """Return the revision of the plugin that registers a 'model' or 'benchmark', if any."""
        name = self.owners.get((kind, identifier))
        return None if name is None else self.revision(name)

    def library_of(self, kind: str, identifier: str) -> str:
        """Return the package with the plugin of a 'model' or 'benchmark', such as 'mylibrary'."""
        name = self.owners.get((kind, identifier))
        if name is None:
            raise UnknownIdentifierError(f"No plugin registers the {kind} {identifier!r} in {self.repository}.")
        return self.plugins[name].root.package.partition(".")[0]

    @cached_property
    def _used(self) -> Mapping[PluginName, list[PluginName]]:
        used: dict[PluginName, list[PluginName]] = {}
        for use in self.dependencies.uses:
            if not use.tests_only:
                used.setdefault(use.user, []).append(use.used)
        return used

    def reads_source(self, path: str) -> bool:
        """Return whether the plugin that a path belongs to may read its comments."""
        plugin = area_of(path, self.policy.libraries).plugin
        return plugin is not None and self._reach(plugin).reads_source

    def _reach(self, name: PluginName) -> Reach:
        return self.dependencies.reach.get(name, Reach({}))

    def _own_digest(self, name: PluginName) -> str:
        if name not in self._own_digests:
            plugin, reach = self.plugins.get(name), self._reach(name)
            digest = hashlib.sha256()
            for within, file in _files(plugin.directory) if plugin is not None else ():
                if not reach.changes_scores(within):
                    continue
                digest.update(f"{within}\0".encode("utf-8", "surrogateescape"))
                source = reach.files.get(within)
                if source is not None and source.tree is not None and not reach.reads_source:
                    digest.update(source.code_digest.encode())
                else:
                    digest.update(hashlib.sha256(file.read_bytes()).digest())
            self._own_digests[name] = digest.hexdigest()
        return self._own_digests[name]


def read_checkout(repository: Path) -> Checkout:
    """Return a checkout, which reads all but its policy on demand."""
    policy = read_policy(repository)
    roots = [
        PluginRoot(folder=folder, path=repository / library / folder, package=f"{Path(library).name}.{folder}")
        for library in policy.libraries
        for folder in FOLDERS
    ]
    return Checkout(repository, policy, PluginIndex(roots))


def read_own_checkout(repository: Path) -> Checkout:
    """Return a checkout that must hold plugins, as every plan would be empty."""
    checkout = read_checkout(repository)
    if not any(checkout.index.plugins(folder) for folder in FOLDERS):
        folders = ", ".join(checkout.policy.libraries)
        raise ConfigurationError(f"{repository} holds no plugin in {folders}. Run this at the top of a checkout.")
    return checkout


def registered_by(library: str | None) -> dict[str, dict[str, dict[str, object]]]:
    """Return the identifiers that each plugin of a library registers; None: the first library of this checkout."""
    default = [Path(folder).name for folder in read_policy(Path(__file__).parents[3]).libraries]
    return PluginIndex(library_roots(library or default[0])).listing()


def _card(plugin: Plugin, facts: PluginFacts) -> PluginCard:
    has_private_tests = facts.private_tests > 0 and facts.name.folder in {"data", "benchmarks"}
    return PluginCard(
        name=facts.name,
        models=tuple(plugin.identifiers(KINDS["model"], conditional=False)),
        benchmarks=tuple(plugin.identifiers(KINDS["benchmark"], conditional=False)),
        has_tests=facts.has_tests,
        private_tests=facts.private_tests,
        private=facts.access == "private" or (facts.access is None and has_private_tests),
        minutes=facts.minutes,
        memory_gb=facts.memory_gb,
    )


def _files(directory: Path) -> Iterable[tuple[str, Path]]:
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if name not in LEFT_ALONE)
        for name in sorted(names):
            file = Path(folder, name)
            if file.is_file():
                yield file.relative_to(directory).as_posix(), file
