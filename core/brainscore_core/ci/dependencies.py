"""Know which plugin uses which, from their source alone.

A plugin uses another if it loads one of its identifiers, imports it, or gets at it through a helper of the library that
does. Where the source does not tell the identifier, every text of the plugin that is an identifier counts; where there
is none, every plugin of that kind. So more may be found than is used, but nothing that is used is left out.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from brainscore_core.ci.areas import PluginName, is_plugin_folder_name
from brainscore_core.ci.sources import Load, SourceFacts, read_source, read_texts
from brainscore_core.plugin_management.registry import KINDS

if TYPE_CHECKING:
    from brainscore_core.plugin_management.discovery import Plugin, PluginIndex

__all__ = ["Dependencies", "PluginFacts", "Use", "find_dependencies", "is_test_file", "read_tree", "resolve"]

# Only files that hold one of these load or import a plugin; looking for bytes is a hundred times faster than parsing.
_TELLING = re.compile(
    rb"load_(?:dataset|stimulus_set|metric|ceiling|benchmark|model)\b"
    rb"|\bbrainscore_\w+\.(?:data|metrics|benchmarks|models)\b|from\s+\.\."
)
# Helpers that people run by hand; no test and no score passes through them.
_RUN_BY_HAND = "check_submission"


@dataclass(frozen=True)
class Use:
    """That one plugin uses another.

    Attributes
    ----------
    user, used : PluginName
    how : str
        For people, such as ``"load_metric('rdm') in benchmark.py:12"``.
    tests_only : bool
        Only the tests of the user do, so that its scores do not depend on it.
    """

    user: PluginName
    used: PluginName
    how: str
    tests_only: bool = False


@dataclass(frozen=True, kw_only=True)
class PluginFacts:
    """What is known about one plugin.

    Attributes
    ----------
    name : PluginName
    identifiers : mapping of str to tuple of str
        Name of the kind -> identifiers that it registers.
    computed : tuple of str
        Kinds of which it computes identifiers that only running it tells.
    files : mapping of str to SourceFacts
        Path inside the folder -> what that file says. Files that say nothing are left out.
    """

    name: PluginName
    identifiers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    computed: tuple[str, ...] = ()
    files: Mapping[str, SourceFacts] = field(default_factory=dict)


@dataclass(frozen=True)
class Dependencies:
    """Which plugin uses which.

    Attributes
    ----------
    plugins : frozenset of PluginName
    uses : tuple of Use
    unresolved : tuple of (PluginName, Load)
        Loads of identifiers that no plugin registers. They may be what a change removes.
    """

    plugins: frozenset[PluginName]
    uses: tuple[Use, ...]
    unresolved: tuple[tuple[PluginName, str, Load], ...] = ()

    def affected_by(
        self, changed: Mapping[PluginName, str], *, tests: bool = True
    ) -> dict[PluginName, tuple[str, ...]]:
        """Return every plugin that a change can affect, with the chain of reasons, shortest first.

        Parameters
        ----------
        changed : mapping of PluginName to str
            What was changed, and how, such as ``'changed: metric.py'``; also plugins that were deleted.
        tests : bool
            Whether plugins count of which only the tests use what was changed. What uses those in turn does not.

        Returns
        -------
        dict of PluginName to tuple of str
            The changed plugins that exist and all that use them, however indirectly. The last reason of a chain is the
            change.
        """
        users: dict[PluginName, list[Use]] = {}
        for use in self.uses:
            users.setdefault(use.used, []).append(use)
        for user, file, load in self.unresolved:
            for name in changed:
                if KINDS[load.kind].folder == name.folder and user != name:
                    how = f"{_call(load)} in {file}:{load.line}, which no plugin registers"
                    users.setdefault(name, []).append(Use(user, name, how, is_test_file(file)))
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


def is_test_file(path: str) -> bool:
    """Tell whether a file of a plugin belongs to its tests."""
    pure = PurePosixPath(path)
    return re.match(r"test.*\.py$|conftest\.py$", pure.name) is not None or pure.parts[0] in {"test", "tests"}


def read_tree(index: PluginIndex) -> tuple[list[PluginFacts], dict[str, SourceFacts]]:
    """Read all plugins of an index, and the helpers of the library beside them.

    Returns
    -------
    plugins : list of PluginFacts
    helpers : dict of str to SourceFacts
        Dotted name of a module of the library -> what it says, of those that load something themselves or through
        others.
    """
    helpers: dict[str, SourceFacts] = {}
    for library, package in {root.path.parent: root.package.rpartition(".")[0] for root in index.roots}.items():
        helpers.update(_helpers(library, package))
    helpers = _loading(helpers)
    names = {name.rpartition(".")[2].encode() for name in helpers}
    telling = re.compile(b"|".join([_TELLING.pattern, *(rb"\b%b\b" % re.escape(name) for name in sorted(names))]))
    folders = dict.fromkeys(kind.folder for kind in KINDS.values())
    found = [plugin for folder in folders for plugin in index.plugins(folder) if is_plugin_folder_name(plugin.name)]
    plugins = [_facts(plugin, telling) for plugin in found]
    return plugins, helpers


def _facts(plugin: Plugin, telling: re.Pattern[bytes]) -> PluginFacts:
    files = _read_files(plugin.directory, telling)
    vague = any(load.says_nothing for facts in files.values() for load in facts.loads)
    if vague or _imports_a_plugin(files, plugin):  # any of its texts may then be an identifier
        files = {**_read_files(plugin.directory, None), **files}
    return PluginFacts(
        name=PluginName(plugin.root.folder, plugin.name),
        identifiers={kind.name: tuple(plugin.identifiers(kind)) for kind in KINDS.values() if plugin.identifiers(kind)},
        computed=tuple(
            kind.name for kind in KINDS.values() if any(found.registry == kind.registry for found in plugin.computed)
        ),
        files=files,
    )


def _imports_a_plugin(files: Mapping[str, SourceFacts], plugin: Plugin) -> bool:
    package = plugin.root.package.rpartition(".")[0]
    folders = tuple(f"{package}.{kind.folder}." for kind in KINDS.values())
    return any(
        found.level > file.count("/") + 1  # leaves the folder
        or (found.module.startswith(folders) and not found.module.startswith(plugin.module))
        for file, facts in files.items()
        for found in facts.imports
    )


def _helpers(library: Path, package: str) -> dict[str, SourceFacts]:
    found: dict[str, SourceFacts] = {}
    for helper in sorted(library.glob("*_helpers")):
        for path, facts in _read_files(helper, re.compile(rb"load_|_helpers")).items():
            module = f"{package}.{helper.name}.{path.removesuffix('.py').replace('/', '.')}".removesuffix(".__init__")
            if _RUN_BY_HAND not in module:
                found[module] = facts
    return found


def _loading(helpers: Mapping[str, SourceFacts]) -> dict[str, SourceFacts]:
    """Return the helpers that load something, and those that import one that does."""
    kept = {module for module, facts in helpers.items() if facts.loads}
    while True:
        more = {
            module
            for module, facts in helpers.items()
            if module not in kept and any(found.module in kept for found in facts.imports)
        }
        if not more:
            return {module: helpers[module] for module in sorted(kept)}
        kept |= more


def _read_files(directory: Path, telling: re.Pattern[bytes] | None) -> dict[str, SourceFacts]:
    """Parse the files that tell something; None: find the texts in all files, without parsing."""
    found = {}
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if name != "__pycache__" and not name.startswith("."))
        for name in sorted(names):
            if not name.endswith(".py"):
                continue
            file = Path(folder, name)
            try:
                source = file.read_bytes()
            except OSError:  # a broken link; nothing can be imported from it either
                continue
            path = file.relative_to(directory).as_posix()
            if telling is None:
                found[path] = read_texts(source)
            elif telling.search(source):
                found[path] = read_source(source, str(file))
    return found


def find_dependencies(index: PluginIndex) -> Dependencies:
    """Read a tree of plugins and resolve who uses whom."""
    packages = list(dict.fromkeys(root.package.removesuffix(f".{root.folder}") for root in index.roots))
    return resolve(*read_tree(index), packages)


def resolve(
    plugins: Sequence[PluginFacts], helpers: Mapping[str, SourceFacts], packages: Sequence[str]
) -> Dependencies:
    """Resolve loads and imports to plugins.

    Parameters
    ----------
    plugins : sequence of PluginFacts
    helpers : mapping of str to SourceFacts
        Modules of the library beside the plugins.
    packages : sequence of str
        Names of the libraries, such as ``'brainscore_vision'``.
    """
    resolver = _Resolver(plugins, helpers, packages)
    uses: dict[tuple[PluginName, PluginName, bool], Use] = {}
    unresolved = []
    for plugin in plugins:
        for file, load, own in resolver.loads(plugin):
            matches = resolver.registering(plugin, load, own=own)
            if not matches and not load.says_nothing:
                unresolved.append((plugin.name, file, load))
            for used in matches:
                _note(uses, Use(plugin.name, used, f"{_call(load)} in {file}:{load.line}", is_test_file(file)))
        for file, used, line in resolver.imported_plugins(plugin):
            _note(uses, Use(plugin.name, used, f"import in {file}:{line}", is_test_file(file)))
    return Dependencies(frozenset(plugin.name for plugin in plugins), tuple(uses.values()), tuple(unresolved))


def _note(uses: dict[tuple[PluginName, PluginName, bool], Use], use: Use) -> None:
    if use.user != use.used:
        uses.setdefault((use.user, use.used, use.tests_only), use)


def _call(load: Load) -> str:
    return f"{load.function}({load.literal!r})" if load.literal is not None else f"{load.function}(...)"


class _Resolver:
    """Looks up identifiers and modules in the facts about all plugins."""

    def __init__(
        self, plugins: Sequence[PluginFacts], helpers: Mapping[str, SourceFacts], packages: Sequence[str]
    ) -> None:
        self.by_name = {plugin.name: plugin for plugin in plugins}
        self.helpers = helpers
        self.packages = packages
        self.registers: dict[str, dict[str, list[PluginName]]] = {kind: {} for kind in KINDS}
        self.computing: dict[str, list[PluginName]] = {kind: [] for kind in KINDS}
        for plugin in plugins:
            for kind, identifiers in plugin.identifiers.items():
                for identifier in identifiers:
                    self.registers[kind].setdefault(identifier, []).append(plugin.name)
            for kind in plugin.computed:
                self.computing[kind].append(plugin.name)
        self._texts: dict[PluginName, frozenset[str]] = {}

    def loads(self, plugin: PluginFacts) -> Iterable[tuple[str, Load, bool]]:
        """Yield (file, load, own) for what a plugin loads itself, and through helpers and plugins that it imports."""
        for file, facts in plugin.files.items():
            for load in facts.loads:
                yield file, load, True
            for module in self._helper_modules(file, plugin, facts):
                for load in self.helpers[module].loads:
                    yield file, load, False
        for file, other, line in self.imported_plugins(plugin):
            for facts in self.by_name[other].files.values():
                for load in facts.loads:
                    if load.says_nothing:  # it loads what it is told to, and the plugin that imports it may tell
                        yield file, Load(load.function, load.kind, load.pattern, None, line), False

    def registering(self, plugin: PluginFacts, load: Load, *, own: bool) -> list[PluginName]:
        """Return the plugins that register what a load may mean."""
        registered = self.registers[load.kind]
        if load.literal is not None:
            return registered.get(load.literal, []) or self.computing[load.kind]
        if load.says_nothing:
            identifiers = self._named(plugin, load.kind)
            if not identifiers and own:
                identifiers = set(registered)
        else:
            expression = re.compile(load.pattern)
            identifiers = {identifier for identifier in registered if expression.fullmatch(identifier)}
        names = {name for identifier in identifiers for name in registered[identifier]}
        return sorted(names | set(self.computing[load.kind] if own else ()))

    def imported_plugins(self, plugin: PluginFacts) -> Iterable[tuple[str, PluginName, int]]:
        """Yield (file, plugin, line) for every other plugin that one imports."""
        for file, facts in plugin.files.items():
            for module, line in self._modules(file, plugin, facts):
                other = self._plugin_of(module)
                if other is not None and other != plugin.name:
                    yield file, other, line

    def _named(self, plugin: PluginFacts, kind: str) -> set[str]:
        """Return the identifiers of a kind that stand somewhere in a plugin's source, whole or as a pattern."""
        registered = self.registers[kind]
        named: set[str] = set()
        for facts in plugin.files.values():
            named |= facts.texts & registered.keys()
            for pattern in facts.patterns:
                expression = re.compile(pattern)
                named |= {identifier for identifier in registered if expression.fullmatch(identifier)}
        return named

    def _modules(self, file: str, plugin: PluginFacts, facts: SourceFacts) -> Iterable[tuple[str, int]]:
        """Yield the absolute dotted names of what a file imports."""
        folders = file.split("/")[:-1]
        for found in facts.imports:
            if found.level == 0:
                yield found.module, found.line
                continue
            for package in self.packages:
                parents = [*package.split("."), plugin.name.folder, plugin.name.name, *folders]
                kept = parents[: len(parents) - found.level + 1]
                yield ".".join([*kept, found.module] if found.module else kept), found.line

    def _plugin_of(self, module: str) -> PluginName | None:
        for package in self.packages:
            if module.startswith(f"{package}."):
                folder, _, rest = module.removeprefix(f"{package}.").partition(".")
                # Folder names may hold dots; the longest that exists is meant.
                parts = rest.split(".")
                for length in range(len(parts), 0, -1):
                    name = PluginName(folder, ".".join(parts[:length]))
                    if name in self.by_name:
                        return name
        return None

    def _helper_modules(self, file: str, plugin: PluginFacts, facts: SourceFacts) -> set[str]:
        """Return the modules of the library that a file imports, and those that they import."""
        reached: set[str] = set()
        waiting = [module for module, _ in self._modules(file, plugin, facts) if module in self.helpers]
        while waiting:
            module = waiting.pop()
            if module in reached:
                continue
            reached.add(module)
            waiting += [found.module for found in self.helpers[module].imports if found.module in self.helpers]
        return reached
