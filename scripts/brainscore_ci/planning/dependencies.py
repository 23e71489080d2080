"""Derive which plugin uses which, and which ones use a changed part of the library, from their sources alone.

A plugin uses another if it loads one of its identifiers, imports it, or reaches it through a helper of the library. An
identifier in a variable is followed through the texts of the plugin, its tables among them: each that is an identifier,
or composes one from whole words of the plugin, counts. ``uses:`` in its ``metadata.yml`` declares anything that no text
states.

If neither says anything about a load, it uses nothing, and it is one of `Dependencies.silent`: "every plugin of that
kind" would be a guess, which planned hours of false work for each new plugin. The nightly run tests all plugins.
"""

# Why reach is read from sources
#
# Problem. A pull request changes a file. Which of 1,300 plugins have to be tested or scored again? Too few, and a
# changed score stays on the board; too many, and a typo costs hours on machines with GPUs. The job that decides sees a
# stranger's files, so it runs none of them, and installs next to nothing.
#
# Sources. Airflow's `selective_checks.py`, which maps paths to checks; pytest-testmon, which traces the code that each
# test runs; Bazel, whose build files declare every dependency. For names in strings: none that we know.
#
# What else was tried or considered, and why not.
# - "Every plugin of that kind" for a load whose identifier no text states (tried): a guess that planned hours of false
#   work for each new plugin. Now names are followed, `uses:` declares the rest, and the nightly run tests everything.
# - Paths only, as Airflow does (considered): plugins use each other by name, `load_metric('pls')`, across folders.
# - Tracing (considered): it runs plugins, with data and weights, before anything is known about the change.
# - Declaring everything (considered): people forget, and a missing line is a score that is not repeated.
# - Keeping what files say between runs, and reading them in a second process (both tried): more state that can be
#   wrong, and more processes. Planning is cold each time, and took 40 % less time after 2026-11-23.
#
# Cost. O(bytes of all plugins) to search; only files with a telling word are parsed, since searching bytes is a hundred
# times faster. Following changes to users is O(plugins + uses). A change of the library repeats its closure over
# imports until nothing is added, O(modules) for each round.
#
# Where it breaks. Identifiers from the network, from a data file or from arithmetic: `uses:` has to name them, and
# `silent` lists loads that nothing explains. Files that are found by listing a folder make every file of that plugin
# count. Words that only look like an identifier cause needless work, which is the cheaper error.

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from brainscore_ci.planning.areas import CORE, PluginName, is_test_file
from brainscore_ci.planning.facts import METADATA, PluginFacts, Reach, TreeFacts
from brainscore_core.plugin_management.registrations import never_on_import, nodes_of
from brainscore_core.plugin_management.registry import FOLDERS, KINDS
from brainscore_core.plugin_management.source import (
    Load,
    Pattern,
    SourceFacts,
    SourceFile,
    filled,
    read_files,
    tree_digest,
)

Identifiers = Mapping[PluginName, Mapping[str, tuple[str, ...]]]
"""Plugin -> kind -> identifiers that it registers."""

# Words in the fields of a pattern, which a plugin must state whole. Shorter ones, such as regions, may be composed; of
# two fields that touch (author and year), each part counts.
_WORDS, _PARTS = re.compile(r"[^\W_]{3,}"), re.compile(r"[^\W\d_]{3,}|\d{3,}")

# A metric declares its quantity, and tests compare it: such a text is not an identifier, although a metric may have
# that name. The values are those of `brainscore_core.metrics.Quantity`, whose import takes seconds.
QUANTITIES = frozenset(
    {
        "correlation",
        "reliability",
        "dissimilarity_correlation",
        "dissimilarity_reliability",
        "accuracy",
        "kappa",
        "share",
    }
)
_QUANTITY = re.compile(rb"""\bquantity(?:["']\]?|:[^=\n]*)?\s*(?:=|==|:)\s*["'](\w+)["']""")
# A distance of SciPy, such as `pdist(x, "correlation")`, is not an identifier either.
_DISTANCE = re.compile(rb"""\b[cp]dist\((?:[^()]|\([^()]*\))*?["'](\w+)["']\s*\)""")


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

    `silent` are plugin and place of each load whose identifier neither the source nor ``metadata.yml`` states.
    """

    plugins: frozenset[PluginName]
    uses: tuple[Use, ...]
    silent: tuple[tuple[PluginName, str], ...] = ()
    reach: Mapping[PluginName, Reach] = field(default_factory=dict, repr=False, compare=False)

    def affected_by(
        self, changed: Mapping[PluginName, str], *, tests: bool = True
    ) -> dict[PluginName, tuple[str, ...]]:
        """Return every plugin that a change can affect, each with its shortest chain of reasons.

        `changed` or deleted plugins have the last reason, such as ``'changed: metric.py'``. With `tests`, plugins that
        use a changed plugin only in their tests are included, but not their users.
        """
        users: dict[PluginName, list[Use]] = {}
        for use in self.uses:
            users.setdefault(use.used, []).append(use)
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


def find_dependencies(tree: TreeFacts, earlier: Identifiers | None = None) -> Dependencies:
    """Resolve loads and imports to plugins.

    `earlier` has the identifiers that plugins registered before a change, by kind: a plugin that still loads one that
    is gone uses the plugin that had it, even a deleted one.
    """
    resolver = _Resolver(tree, earlier or {})
    reach = {
        plugin.name: Reach(plugin.sources, frozenset(resolver.imported_modules.get(plugin.name, ())))
        for plugin in tree.plugins.values()
    }
    uses: dict[tuple[PluginName, PluginName, str], Use] = {}
    silent = []

    def add(user: PluginName, used: PluginName, file: str, how: str) -> None:
        if user != used:  # one use is enough, except from test files: some of them may change scores
            key = user, used, file if is_test_file(file) else ""
            uses.setdefault(key, Use(user, used, how, file, reach[user]))

    for plugin in tree.plugins.values():
        for identifier in plugin.uses:
            for used in resolver.declared(identifier):
                add(plugin.name, used, METADATA, f"uses: {identifier} in {METADATA}")
        for file, load, loader in resolver.loads(plugin):
            place = _place(file, load, loader)
            matches = resolver.registering(plugin, load, loader)
            if load.says_nothing and loader == plugin.name and not matches and not plugin.uses:
                silent.append((plugin.name, place))
            for used, identifier in matches.items():
                add(plugin.name, used, file, place + resolver.remark(load, identifier))
        for file, used, line in resolver.imported_plugins(plugin):
            add(plugin.name, used, file, f"import in {file}:{line}")
    return Dependencies(frozenset(tree.plugins), tuple(uses.values()), tuple(silent), reach)


def _place(file: str, load: Load, loader: PluginName | str) -> str:
    call = f"{load.function}({load.literal!r})" if load.literal is not None else f"{load.function}(...)"
    if isinstance(loader, str):
        return f"{call} in {loader}:{load.line}, imported in {file}"
    return f"{call} in {file}:{load.line}"


def _is_quantity(text: str, content: bytes) -> bool:
    """Return whether a source states a text only as the quantity of a metric or as a measure of distance."""
    if text not in QUANTITIES:
        return False
    stated = [match[1] for pattern in (_QUANTITY, _DISTANCE) for match in pattern.finditer(content)]
    quoted = re.findall(rb"""["']%b["']""" % text.encode(), content)
    return stated.count(text.encode()) == len(quoted)


class _Resolver:
    def __init__(self, tree: TreeFacts, earlier: Identifiers) -> None:
        self.plugins, self.helpers, self.packages = tree.plugins, tree.helpers, tree.packages
        self.registers: dict[str, dict[str, list[PluginName]]] = {kind: {} for kind in KINDS}
        self.computing: dict[str, list[PluginName]] = {kind: [] for kind in KINDS}
        for plugin in tree.plugins.values():
            self._register(plugin.name, plugin.identifiers)
            for kind in plugin.computed:
                self.computing[kind].append(plugin.name)
        present = {kind: set(registered) for kind, registered in self.registers.items()}
        for name, lost in earlier.items():
            gone = {kind: [each for each in lost[kind] if each not in present[kind]] for kind in lost}
            self._register(name, gone)
        self._gone = {kind: registered.keys() - present[kind] for kind, registered in self.registers.items()}
        self._all_of = {kind: "\n".join(registered) for kind, registered in self.registers.items()}
        self._fitting: dict[tuple[str, Pattern], dict[str, set[str]]] = {}
        self._words: dict[PluginName | str, frozenset[str]] = {}
        self._plugins_of: dict[str, PluginName | None] = {}

    def _register(self, name: PluginName, identifiers: Mapping[str, Iterable[str]]) -> None:
        for kind in identifiers:
            for identifier in identifiers[kind]:
                self.registers[kind].setdefault(identifier, []).append(name)

    def remark(self, load: Load, identifier: str) -> str:
        """Return how a load states an identifier, and whether that was registered only before the change."""
        names = "" if load.literal is not None or not identifier else f", which names {identifier!r}"
        return f"{names}, which it registered before" if identifier in self._gone[load.kind] else names

    def declared(self, identifier: str) -> set[PluginName]:
        """Return the plugins that register an identifier of any kind."""
        return {name for kind in KINDS for name in self._owners(kind, identifier)}

    def _owners(self, kind: str, identifier: str) -> list[PluginName]:
        """Return the plugins that register an identifier, or its scheme: ``'zoo:'`` of ``'zoo:net50'``."""
        scheme, colon, _ = identifier.partition(":")
        registered = self.registers[kind]
        return registered.get(identifier) or (registered.get(scheme + colon, []) if colon else [])

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

    def registering(self, plugin: PluginFacts, load: Load, loader: PluginName | str) -> dict[PluginName, str]:
        """Return the plugins that a load may mean, each with an identifier; empty for one that plugins compute."""
        computing = dict.fromkeys(self.computing[load.kind], "")
        if load.literal is not None:
            return dict.fromkeys(self._owners(load.kind, load.literal), load.literal) or computing
        if load.says_nothing:
            identifiers = self._named(plugin, load.kind)
        else:
            identifiers = self._of_pattern(load.kind, load.pattern, {plugin.name, loader})
        names = {name: identifier for identifier in sorted(identifiers) for name in self._owners(load.kind, identifier)}
        return dict(sorted(((computing if loader == plugin.name else {}) | names).items()))

    def imported_plugins(self, plugin: PluginFacts) -> Iterable[tuple[str, PluginName, int]]:
        for file, facts in plugin.files.items():
            for module, line in self._modules(file, plugin, facts):
                other = self._plugin_of(module)
                if other is not None and other != plugin.name:
                    yield file, other, line

    def _named(self, plugin: PluginFacts, kind: str) -> set[str]:
        """Return the identifiers of a kind that a plugin's source names, whole or as a pattern."""
        named: set[str] = set()
        for path, facts in plugin.files.items():
            named |= {
                text
                for text in facts.texts
                if self._owners(kind, text) and not _is_quantity(text, plugin.sources[path].content or b"")
            }
            for pattern in facts.patterns:
                named |= self._of_pattern(kind, pattern, {plugin.name})
        return named

    def _of_pattern(self, kind: str, pattern: Pattern, writers: Collection[PluginName | str]) -> set[str]:
        """Return the identifiers that fit a pattern and whose other words occur in the source of a writer.

        Without the second condition, ``f"{dataset}.{region}-pls"`` would mean every benchmark.
        """
        key = kind, pattern
        if key not in self._fitting:
            # Some piece of most patterns (messages, paths) occurs in no identifier.
            possible = all(piece in self._all_of[kind] for piece in pattern)
            expression = _PARTS if "" in pattern[1:-1] else _WORDS
            self._fitting[key] = {
                identifier: {word.lower() for start, end in spans for word in expression.findall(identifier[start:end])}
                for identifier in self.registers[kind]
                if possible and (spans := filled(pattern, identifier)) is not None
            }
        fitting = self._fitting[key]
        if not any(fitting.values()):
            return set(fitting)
        words = frozenset[str]().union(*map(self._words_of, writers))
        return {identifier for identifier in fitting if fitting[identifier] <= words}

    def _words_of(self, writer: PluginName | str) -> frozenset[str]:
        """Return the words, and their parts, of the source of a plugin or the texts of a helper, in lower case."""
        if writer not in self._words:
            if isinstance(writer, PluginName):
                texts = [file.text for file in self.plugins[writer].sources.values()]
            else:
                texts = list(self.helpers[writer].texts)
            text = "\0".join(texts).lower()
            self._words[writer] = frozenset(_WORDS.findall(text)) | frozenset(_PARTS.findall(text))
        return self._words[writer]

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


# -- Follow the names that a change of the library alters to the plugins that use them ---------------------------------

_ALL = "*"  # all names of a module, such as after a change of code that runs on import

Altered = Mapping[str, set[str]]
"""Module -> names that a change alters."""


@dataclass(frozen=True)
class LibraryEffect:
    """Plugins that a change of the library concerns."""

    # Plugins that import an altered name, with the reason, and those that do so only in tests; nearest first
    users: Mapping[PluginName, str] = field(default_factory=dict)
    test_users: Mapping[PluginName, str] = field(default_factory=dict)
    # Changed files that may concern every plugin: none imports from them, so they may run plugins
    general: frozenset[str] = frozenset()


def read_library(repository: Path, libraries: Iterable[str]) -> dict[str, SourceFile]:
    """Return path -> file of the modules of the core and of packages with plugins, without the plugins."""
    modules = {}
    for library in (CORE, *libraries):
        for path, file in read_files(repository / library).items():
            folder, _, rest = path.partition("/")
            if path.endswith(".py") and not (folder in FOLDERS and "/" in rest):
                modules[f"{library}/{path}"] = file
    return modules


def follow_changes(
    before: Mapping[str, SourceFile],
    library: Mapping[str, SourceFile],
    tree: TreeFacts,
    reach: Mapping[PluginName, Reach],
) -> LibraryEffect:
    """Follow each changed module by the imports of other modules to plugins.

    `before` has the earlier content of each changed file of the library, `library` the present one, see `read_library`;
    `reach` finds the files of plugins that can change scores.
    """
    modules = {path: _Module(_dotted(path), file) for path, file in library.items()}
    files = [
        (name, path, _Module(_dotted(f"/{package}/{name}/{path}"), file))
        for name, facts in tree.plugins.items()
        for path, file in facts.sources.items()
        if path.endswith(".py") and any(sign in (file.content or b"") for sign in (b"brainscore_", b"..."))
        for package in tree.packages
    ]
    users: dict[PluginName, str] = {}
    test_users: dict[PluginName, str] = {}
    general = set()
    for changed, earlier in before.items():
        if changed not in modules:  # deleted, or no Python
            general.add(changed)
            continue
        altered = _follow(modules[changed], modules[changed].altered_since(earlier), modules.values())
        n_users = 0
        for name, path, module in files:
            imported = module.imports_altered(altered)
            if imported is None:
                continue
            n_users += 1
            reason = f"imports {imported[0]} in {path}:{imported[1]}, which {changed} alters"
            (users if reach[name].changes_scores(path) else test_users).setdefault(name, reason)
        if altered and n_users == 0:
            general.add(changed)
    return LibraryEffect(
        users, {name: why for name, why in test_users.items() if name not in users}, frozenset(general)
    )


def _dotted(path: str) -> str:
    """Return the name of the module at a path."""
    return ".".join(path.removesuffix(".py").removesuffix("/__init__").split("/")[1:])


def _follow(start: _Module, names: set[str], modules: Iterable[_Module]) -> Altered:
    altered = {start.name: start.closure(names, {})} if names else {}
    latest = set(altered)
    while latest:
        words = [re.escape(name.rpartition(".")[2].encode()) for name in sorted(latest)]
        may_import = re.compile(rb"\b(?:%b)\b|\bfrom\s+\.+\s*import" % b"|".join(words))
        latest = set()
        for module in modules:
            if may_import.search(module.file.content or b""):
                earlier = altered.get(module.name, set())
                if (more := module.closure(earlier, altered)) > earlier:
                    altered[module.name] = more
                    latest.add(module.name)
    return altered


@dataclass(frozen=True)
class _Part:
    """A statement at the top of a module: names that it defines and mentions, and texts that may be modules."""

    defines: frozenset[str]
    mentions: frozenset[str]
    texts: frozenset[str]
    imports: tuple[ast.Import | ast.ImportFrom, ...]


@dataclass(frozen=True)
class _Module:
    """A module by its dotted name."""

    name: str
    file: SourceFile

    def altered_since(self, earlier: SourceFile) -> set[str]:
        """Return the names that it defined differently before; all if code that runs on import differs."""
        if self.file.tree is None or earlier.tree is None:
            return {_ALL}
        before, now = _digests(earlier.tree), _digests(self.file.tree)
        # Nothing that did not change uses a name that is new.
        return {name for name in before.keys() | {_ALL, "__getattr__"} if before.get(name) != now.get(name)}

    def closure(self, names: set[str], altered: Altered) -> set[str]:
        """Return altered names of the module, given those of other modules, and all that mentions them."""
        imported = self._imported_names(altered).keys() - names
        waiting = [part for part in self._parts if not part.defines or not part.defines <= names]
        more = imported | (names if not altered else set())
        names = names | imported
        dotted = altered.keys()
        while True:
            reached = [
                part for part in waiting if not (part.mentions.isdisjoint(more) and part.texts.isdisjoint(dotted))
            ]
            if not reached:
                return names
            waiting = [part for part in waiting if part not in reached]
            more = {name for part in reached for name in part.defines or {_ALL}} - names
            names |= more | ({_ALL} if "__getattr__" in more else set())
            dotted = {}.keys()

    def imports_altered(self, altered: Altered) -> tuple[str, int] | None:
        """Return an imported altered name, or an altered module that a text names, and the line."""
        content = self.file.content or b""
        if not any(module.rpartition(".")[2].encode() in content for module in altered):
            return None  # searching bytes is a hundred times faster than parsing
        imported = min(self._imported_names(altered).values(), key=lambda entry: entry[1], default=None)
        if imported is None:
            named = [text for part in self._parts for text in part.texts & altered.keys()]
            return (named[0], 1) if named else None
        return imported

    def _imported_names(self, altered: Altered) -> dict[str, tuple[str, int]]:
        """Return local name -> (dotted name, line) of altered names that the module imports."""
        imported: dict[str, tuple[str, int]] = {}
        for local, module, original, line in self._imports:
            names = altered.get(module, set())
            if original == _ALL:
                imported |= dict.fromkeys(names, (module, line))
            elif (module in altered) if original is None else (not names.isdisjoint({original, _ALL})):
                imported[local] = module if original is None else f"{module}.{original}", line
            elif original is not None and f"{module}.{original}" in altered:
                imported[local] = f"{module}.{original}", line
        return imported

    @cached_property
    def _parts(self) -> list[_Part]:
        """Statements at its top that ever run."""
        return [] if self.file.tree is None else [_part(statement) for statement in _statements(self.file.tree)]

    @cached_property
    def _imports(self) -> list[tuple[str, str, str | None, int]]:
        """Local name, module, name there (None: the module itself) and line of each import that ever runs."""
        parts = self._parts
        if any("__getattr__" in part.defines for part in parts) and self.file.tree:
            parts = [_part(statement) for statement in self.file.tree.body]  # it passes on its imports for types
        package = self.name.split(".")
        if not self.file.path.endswith("__init__.py"):
            package = package[:-1]
        imports: list[tuple[str, str, str | None, int]] = []
        for node in (node for part in parts for node in part.imports):
            if isinstance(node, ast.Import):
                imports += [(_bound(alias), alias.name, None, node.lineno) for alias in node.names]
            else:
                above = package[: len(package) - node.level + 1] if node.level else []
                module = ".".join([*above, *([node.module] if node.module else [])])
                imports += [(_bound(alias), module, alias.name, node.lineno) for alias in node.names]
        return imports


def _statements(tree: ast.Module) -> list[ast.stmt]:
    return [
        statement
        for statement in tree.body
        if not (isinstance(statement, ast.If) and never_on_import(statement.test))
        and not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
    ]


def _digests(tree: ast.Module) -> dict[str, set[str]]:
    """Return name -> digests of the statements that define it; of those that define none for all names."""
    digests: dict[str, set[str]] = {}
    for statement in _statements(tree):
        for name in _part(statement).defines or {_ALL}:
            digests.setdefault(name, set()).add(tree_digest([statement]))
    return digests


def _part(statement: ast.stmt) -> _Part:
    defines: set[str] = set()
    mentions: set[str] = set()
    texts: set[str] = set()
    imports: list[ast.Import | ast.ImportFrom] = []
    for node in nodes_of(statement):
        if isinstance(node, ast.Name):
            (mentions if isinstance(node.ctx, ast.Load) else defines).add(node.id)
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str) and "." in node.value:
                texts.add(node.value)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            defines.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            imports.append(node)
            defines |= {_bound(alias) for alias in node.names}
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        defines = {statement.name}  # all others are local
    elif isinstance(statement, ast.Expr):
        defines = set()
    return _Part(frozenset(defines), frozenset(mentions), frozenset(texts), tuple(imports))


def _bound(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]
