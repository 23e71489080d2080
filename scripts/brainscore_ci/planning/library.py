"""Follow the names that a change of the library alters to the plugins that use them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_ci.planning.areas import CORE, PluginName
from brainscore_core.plugin_management.registrations import never_on_import, nodes_of
from brainscore_core.plugin_management.registry import FOLDERS
from brainscore_core.plugin_management.source import SourceFile, read_files, tree_digest

if TYPE_CHECKING:
    from brainscore_ci.planning.facts import TreeFacts
    from brainscore_ci.planning.reach import Reach

_ALL = "*"  # all names of a module, such as after a change of code that runs on import

Altered = Mapping[str, set[str]]
"""Module -> names that a change alters."""


@dataclass(frozen=True)
class LibraryEffect:
    """Plugins that a change of the library concerns."""

    # Plugins that import an altered name, with the reason, and those whose tests alone do; the nearest first
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
    `reach` tells which files of plugins can change scores.
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
