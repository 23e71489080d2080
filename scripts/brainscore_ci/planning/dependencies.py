"""Derive which plugin uses which, from their sources alone.

A plugin uses another if it loads one of its identifiers, imports it, or reaches it through a helper of the library. If
the source does not state the identifier, every text of the plugin that is an identifier, or composes one from its
words, counts; without any, every plugin of that kind.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from brainscore_ci.planning.areas import PluginName, is_test_file
from brainscore_ci.planning.reach import Reach
from brainscore_core.plugin_management.registry import KINDS
from brainscore_core.plugin_management.source.facts import Load, Pattern, SourceFacts, filled

if TYPE_CHECKING:
    from brainscore_ci.planning.facts import PluginFacts, TreeFacts

_WORDS = re.compile(r"[^\W\d_]{3,}|\d{3,}")  # of an identifier; shorter ones, such as regions, may be composed


@dataclass(frozen=True)
class Use:
    """One plugin uses another."""

    user: PluginName
    used: PluginName
    how: str  # for people, such as ``"load_metric('rdm') in benchmark.py:12"``
    file: str
    # Which of the user's files change its scores; None: all except tests
    reach: Reach | None = field(default=None, repr=False, compare=False)

    @property
    def tests_only(self) -> bool:
        """Whether the user's scores do not depend on this use."""
        # On demand, since the reach reads every file of a plugin.
        return is_test_file(self.file) and (self.reach is None or not self.reach.changes_scores(self.file))


@dataclass(frozen=True)
class Dependencies:
    """Which plugin uses which.

    `unresolved` are plugin, file and load of each identifier that no plugin registers; the change may have removed it.
    """

    plugins: frozenset[PluginName]
    uses: tuple[Use, ...]
    unresolved: tuple[tuple[PluginName, str, Load], ...] = ()
    reach: Mapping[PluginName, Reach] = field(default_factory=dict, repr=False, compare=False)

    def affected_by(
        self, changed: Mapping[PluginName, str], *, tests: bool = True
    ) -> dict[PluginName, tuple[str, ...]]:
        """Return every plugin that a change can affect, each with its shortest chain of reasons.

        `changed` or deleted plugins have the last reason, such as ``'changed: metric.py'``. With `tests`, plugins whose
        tests alone use a changed plugin are included, but not their users.
        """
        users: dict[PluginName, list[Use]] = {}
        for use in self.uses:
            users.setdefault(use.used, []).append(use)
        for user, file, load in self.unresolved:
            for name in changed:
                if KINDS[load.kind].folder == name.folder and user != name:
                    how = f"{_call(load)} in {file}:{load.line}, which no plugin registers"
                    users.setdefault(name, []).append(Use(user, name, how, file, self.reach.get(user)))
        chains: dict[PluginName, tuple[str, ...]] = {name: (reason,) for name, reason in sorted(changed.items())}
        waiting = deque(chains)
        by_tests: dict[PluginName, tuple[str, ...]] = {}
        while waiting:
            used = waiting.popleft()
            for use in users.get(used, ()):
                chain = (f"uses {used}: {use.how}", *chains[used])
                if use.tests_only:
                    by_tests.setdefault(use.user, chain)
                elif use.user not in chains:
                    chains[use.user] = chain
                    waiting.append(use.user)
        if tests:
            chains = {**by_tests, **chains}
        return {name: chain for name, chain in sorted(chains.items()) if name in self.plugins}


def find_dependencies(tree: TreeFacts) -> Dependencies:
    """Resolve loads and imports to plugins."""
    resolver = _Resolver(tree)
    reach = {
        plugin.name: Reach(plugin.sources, frozenset(resolver.imported_modules.get(plugin.name, ())))
        for plugin in tree.plugins.values()
    }
    uses: dict[tuple[PluginName, PluginName, str], Use] = {}
    unresolved = []

    def add(user: PluginName, used: PluginName, file: str, how: str) -> None:
        if user != used:  # one use is enough, except from test files: some of them may change scores
            key = user, used, file if is_test_file(file) else ""
            uses.setdefault(key, Use(user, used, how, file, reach[user]))

    for plugin in tree.plugins.values():
        for file, load, loader in resolver.loads(plugin):
            matches = resolver.registering(plugin, load, loader)
            if not matches and not load.says_nothing:
                unresolved.append((plugin.name, file, load))
            for used in matches:
                add(plugin.name, used, file, f"{_call(load)} in {file}:{load.line}")
        for file, used, line in resolver.imported_plugins(plugin):
            add(plugin.name, used, file, f"import in {file}:{line}")
    return Dependencies(frozenset(tree.plugins), tuple(uses.values()), tuple(unresolved), reach)


def _call(load: Load) -> str:
    return f"{load.function}({load.literal!r})" if load.literal is not None else f"{load.function}(...)"


class _Resolver:
    def __init__(self, tree: TreeFacts) -> None:
        self.plugins, self.helpers, self.packages = tree.plugins, tree.helpers, tree.packages
        self.registers: dict[str, dict[str, list[PluginName]]] = {kind: {} for kind in KINDS}
        self.computing: dict[str, list[PluginName]] = {kind: [] for kind in KINDS}
        for plugin in tree.plugins.values():
            for kind, identifiers in plugin.identifiers.items():
                for identifier in identifiers:
                    self.registers[kind].setdefault(identifier, []).append(plugin.name)
            for kind in plugin.computed:
                self.computing[kind].append(plugin.name)
        self._all_of = {kind: "\n".join(registered) for kind, registered in self.registers.items()}
        self._fitting: dict[tuple[str, Pattern], dict[str, list[bytes]]] = {}
        self._texts: dict[PluginName | str, bytes] = {}
        self._plugins_of: dict[str, PluginName | None] = {}

    @cached_property
    def imported_modules(self) -> Mapping[PluginName, set[str]]:
        modules: dict[PluginName, set[str]] = {}
        for plugin in self.plugins.values():
            for file, facts in plugin.files.items():
                for module, _ in self._modules(file, plugin, facts):
                    other = self._plugin_of(module)
                    if other is not None and other != plugin.name:
                        inside = module.partition(f".{other.folder}.{other.name}.")[2]
                        modules.setdefault(other, set()).update({inside} - {""})
        return modules

    def loads(self, plugin: PluginFacts) -> Iterable[tuple[str, Load, PluginName | str]]:
        """Yield (file, load, loader) for loads of a plugin and of the helpers (by module) and plugins it imports."""
        for file, facts in plugin.files.items():
            for load in facts.loads:
                yield file, load, plugin.name
            for module in sorted(self._helper_modules(file, plugin, facts)):
                for load in self.helpers[module].loads:
                    yield file, load, module
        for file, other, line in self.imported_plugins(plugin):
            for facts in self.plugins[other].files.values():
                for load in facts.loads:
                    if load.literal is None:  # its identifier may come from the plugin that imports it
                        yield file, replace(load, line=line), other

    def registering(self, plugin: PluginFacts, load: Load, loader: PluginName | str) -> list[PluginName]:
        own = loader == plugin.name
        registered = self.registers[load.kind]
        if load.literal is not None:
            return registered.get(load.literal, []) or self.computing[load.kind]
        if load.says_nothing:
            identifiers = self._named(plugin, load.kind)
            if not identifiers and own:
                identifiers = set(registered)
        else:
            identifiers = self._of_pattern(load.kind, load.pattern, {plugin.name, loader})
        names = {name for identifier in identifiers for name in registered[identifier]}
        return sorted(names | set(self.computing[load.kind] if own else ()))

    def imported_plugins(self, plugin: PluginFacts) -> Iterable[tuple[str, PluginName, int]]:
        for file, facts in plugin.files.items():
            for module, line in self._modules(file, plugin, facts):
                other = self._plugin_of(module)
                if other is not None and other != plugin.name:
                    yield file, other, line

    def _named(self, plugin: PluginFacts, kind: str) -> set[str]:
        """Return the identifiers of a kind that a plugin's source names, whole or as a pattern."""
        registered = self.registers[kind]
        named: set[str] = set()
        for facts in plugin.files.values():
            named |= facts.texts & registered.keys()
            for pattern in facts.patterns:
                named |= self._of_pattern(kind, pattern, {plugin.name})
        return named

    def _of_pattern(self, kind: str, pattern: Pattern, writers: Collection[PluginName | str]) -> set[str]:
        """Return the identifiers that fit a pattern, and whose other words some of the writers have in their source.

        Otherwise ``f"{dataset}.{region}-pls"`` would be every benchmark.
        """
        key = kind, pattern
        if key not in self._fitting:
            # Some piece of most patterns (messages, paths) occurs in no identifier.
            possible = all(piece in self._all_of[kind] for piece in pattern)
            self._fitting[key] = {
                identifier: [
                    word[0].lower().encode()
                    for word in _WORDS.finditer(identifier)
                    if any(start <= word.start() and word.end() <= end for start, end in spans)
                ]
                for identifier in self.registers[kind]
                if possible and (spans := filled(pattern, identifier)) is not None
            }
        fitting = self._fitting[key]
        texts = [self._text_of(writer) for writer in writers] if any(fitting.values()) else []
        return {
            identifier
            for identifier, words in fitting.items()
            if all(any(word in text for text in texts) for word in words)
        }

    def _text_of(self, writer: PluginName | str) -> bytes:
        """Return the source of a plugin or the texts of a helper, in lower case."""
        if writer not in self._texts:
            if isinstance(writer, PluginName):
                parts = [file.content or b"" for file in self.plugins[writer].sources.values()]
            else:
                parts = [text.encode("utf-8", "replace") for text in self.helpers[writer].texts]
            self._texts[writer] = b"\0".join(parts).lower()
        return self._texts[writer]

    def _modules(self, file: str, plugin: PluginFacts, facts: SourceFacts) -> Iterable[tuple[str, int]]:
        folders = file.split("/")[:-1]
        for statement in facts.imports:
            if statement.level == 0:
                yield statement.module, statement.line
                continue
            for package in self.packages:
                parents = [*package.split("."), plugin.name.folder, plugin.name.name, *folders]
                package_parts = parents[: len(parents) - statement.level + 1]
                yield (
                    ".".join([*package_parts, statement.module] if statement.module else package_parts),
                    statement.line,
                )

    def _plugin_of(self, module: str) -> PluginName | None:
        if module not in self._plugins_of:
            self._plugins_of[module] = self._find_plugin(module)
        return self._plugins_of[module]

    def _find_plugin(self, module: str) -> PluginName | None:
        for package in self.packages:
            if module.startswith(f"{package}."):
                folder, _, rest = module.removeprefix(f"{package}.").partition(".")
                # Folder names may contain dots: take the longest one that exists.
                parts = rest.split(".")
                for length in range(len(parts), 0, -1):
                    name = PluginName(folder, ".".join(parts[:length]))
                    if name in self.plugins:
                        return name
        return None

    def _helper_modules(self, file: str, plugin: PluginFacts, facts: SourceFacts) -> set[str]:
        reached: set[str] = set()
        waiting = [module for module, _ in self._modules(file, plugin, facts) if module in self.helpers]
        while waiting:
            module = waiting.pop()
            if module in reached:
                continue
            reached.add(module)
            waiting += [
                statement.module for statement in self.helpers[module].imports if statement.module in self.helpers
            ]
        return reached
