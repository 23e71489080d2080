"""Read the files of one plugin once, as bytes and syntax trees; nothing is imported and no link is followed."""

from __future__ import annotations

import ast
import os
import stat
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from brainscore_ci.planning.dependencies import is_test_file
from brainscore_core.plugin_management._literals import bind, evaluate
from brainscore_core.plugin_management.registry import KINDS

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

    from brainscore_core.plugin_management.discovery import Plugin

__all__ = ["LARGEST_FILE", "PluginSource", "SourceFile", "Surroundings", "plugin_source", "read_files"]

LARGEST_FILE = 1_000_000  # bytes
_MOST_FILES = 5_000
_LEFT_ALONE = frozenset({"__pycache__", ".pytest_cache", ".ipynb_checkpoints", ".mypy_cache", ".ruff_cache"})
_TEXTS = frozenset({".py", ".txt", ".yml", ".yaml", ".toml", ".cfg", ".md", ".bib"})


@dataclass(frozen=True)
class SourceFile:
    """One file of a plugin.

    Attributes
    ----------
    path : str
        Inside the plugin folder, with ``/``.
    form : {'file', 'symlink', 'special'}
        Links are not followed; special is anything that is neither a file, a folder nor a link.
    size_bytes : int
        Its length.
    content : bytes or None
        None: it is no text, too large, or cannot be read.
    """

    path: str
    form: Literal["file", "symlink", "special"] = "file"
    size_bytes: int = 0
    content: bytes | None = None

    @cached_property
    def _parsed(self) -> tuple[ast.Module | None, tuple[int, str] | None]:
        if not self.path.endswith(".py") or self.content is None:
            return None, None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)  # of code that is only read here
                return ast.parse(self.content), None
        except SyntaxError as error:
            return None, (error.lineno or 1, error.msg)
        except (ValueError, RecursionError, MemoryError) as error:
            return None, (1, f"{type(error).__name__}: {error}")

    @property
    def tree(self) -> ast.Module | None:
        """Its syntax tree; None if it is no Python or cannot be parsed."""
        return self._parsed[0]

    @property
    def problem(self) -> tuple[int, str] | None:
        """Line and reason why it cannot be parsed."""
        return self._parsed[1]

    @cached_property
    def text(self) -> str:
        """Its content; bytes that are no UTF-8 are replaced."""
        return (self.content or b"").decode("utf-8-sig", "replace")

    @cached_property
    def values(self) -> Mapping[str, Any]:
        """Values of the variables that the top of a Python file assigns, as far as they are literal."""
        names: dict[str, Any] = {}
        for statement in self.tree.body if self.tree else ():
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    bind(target, evaluate(statement.value, names), names)
            elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
                bind(statement.target, evaluate(statement.value, names), names)
        return names


@dataclass(frozen=True)
class PluginSource:
    """One plugin as it lies on the disk.

    Attributes
    ----------
    plugin : Plugin
        What the index says about it.
    location : str
        Its folder as people see it, relative to the repository where it lies in one.
    files : mapping of str to SourceFile
        Path inside the folder -> file, sorted.
    earlier : mapping of str to bytes, optional
        Python files of the same plugin before the change; empty if it is new, None if there is nothing to compare with.
    """

    plugin: Plugin
    location: str
    files: Mapping[str, SourceFile]
    earlier: Mapping[str, bytes] | None = None

    @property
    def folder(self) -> str:
        """Folder of its kind, such as ``'models'``."""
        return self.plugin.root.folder

    def where(self, file: str = "") -> str:
        """Return the path of a file as people see it."""
        return f"{self.location}/{file}" if file else self.location

    @cached_property
    def python(self) -> Mapping[str, SourceFile]:
        """Files that can be parsed, but for those that only make data or install something."""
        return {
            path: file
            for path, file in self.files.items()
            if file.tree is not None and not _is_aside(path) and not is_test_file(path)
        }

    @cached_property
    def imported(self) -> Mapping[str, SourceFile]:
        """Files that run when the plugin is imported: ``__init__.py`` and what it imports at its top, and so on."""
        reached: dict[str, SourceFile] = {}
        waiting = ["__init__.py"]
        while waiting:
            path = waiting.pop()
            file = self.files.get(path)
            if path in reached or file is None or file.tree is None:
                continue
            reached[path] = file
            for node in run_at_import(file.tree.body):
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    waiting += self._files_of(path, node)
        return {path: reached[path] for path in sorted(reached)}

    def module_of(self, file: str) -> list[str]:
        """Return the dotted name, in parts, of the package that a file is in."""
        return [*self.plugin.root.package.split("."), self.plugin.name, *file.split("/")[:-1]]

    @cached_property
    def _names(self) -> dict[str, dict[str, str]]:
        return {}

    def names_in(self, file: str) -> Mapping[str, str]:
        """Return what each imported name of a file stands for: name -> absolute dotted name."""
        if file not in self._names:
            self._names[file] = self._read_names(file)
        return self._names[file]

    def _read_names(self, file: str) -> dict[str, str]:
        tree = self.files[file].tree
        names: dict[str, str] = {}
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.Import):
                for alias in node.names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    names[bound] = alias.name if alias.asname else bound
            elif isinstance(node, ast.ImportFrom):
                module = self.absolute(file, node)
                for alias in node.names:
                    names[alias.asname or alias.name] = f"{module}.{alias.name}"
        return names

    def absolute(self, file: str, node: ast.ImportFrom) -> str:
        """Return the absolute dotted name of the module that ``from ... import`` names."""
        if node.level == 0:
            return node.module or ""
        package = self.module_of(file)
        kept = package[: max(len(package) - node.level + 1, 0)]
        return ".".join([*kept, node.module] if node.module else kept)

    def file_of(self, module: str) -> str | None:
        """Return the path inside the plugin of a module of its own, given its absolute dotted name."""
        if module == self.plugin.module:
            return "__init__.py"
        if not module.startswith(f"{self.plugin.module}."):
            return None
        inside = module.removeprefix(f"{self.plugin.module}.").replace(".", "/")
        return next((path for path in (f"{inside}.py", f"{inside}/__init__.py") if path in self.files), None)

    def definition(self, file: str, name: str) -> tuple[str, ast.stmt] | None:
        """Return where a class or function that a file uses by its name is defined in the plugin: file, statement."""
        dotted = self.names_in(file).get(name)
        if dotted is not None:
            module, _, name = dotted.rpartition(".")
            found = self.file_of(module)
            if found is None:
                return None
            file = found
        tree = self.files[file].tree
        for statement in tree.body if tree else ():
            if isinstance(statement, (ast.FunctionDef, ast.ClassDef)) and statement.name == name:
                return file, statement
        return None

    def _files_of(self, path: str, node: ast.Import | ast.ImportFrom) -> list[str]:
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            module = self.absolute(path, node)
            modules = [module, *(f"{module}.{alias.name}" for alias in node.names)]
        return [file for module in modules if (file := self.file_of(module)) is not None]


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
    """

    identifiers: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    computing: frozenset[str] = frozenset()
    dependencies: Mapping[str, SpecifierSet] = field(default_factory=dict)
    plugins: frozenset[str] = frozenset()

    def known(self, kind: str) -> Mapping[str, tuple[str, ...]]:
        """Return the identifiers of a kind and where they are registered."""
        return self.identifiers.get(kind, {})


def plugin_source(plugin: Plugin, location: str, earlier: Mapping[str, bytes] | None = None) -> PluginSource:
    """Read a plugin; see `PluginSource`."""
    return PluginSource(plugin=plugin, location=location, files=read_files(plugin.directory), earlier=earlier)


def read_files(directory: Path) -> dict[str, SourceFile]:
    """Read a folder and its folders; never more than 5,000 files, nor those of interpreters and editors."""
    found: dict[str, SourceFile] = {}
    if directory.is_symlink():
        found[""] = SourceFile("", "symlink")
    for entry, path in _walk(directory, ""):
        if len(found) >= _MOST_FILES:
            break
        found[path] = _read(entry, path)
    return dict(sorted(found.items()))


def _walk(directory: Path, prefix: str) -> Iterator[tuple[os.DirEntry[str], str]]:
    try:
        with os.scandir(directory) as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in ordered:
        path = f"{prefix}{entry.name}"
        if entry.name in _LEFT_ALONE:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), f"{path}/")
        else:
            yield entry, path


def _read(entry: os.DirEntry[str], path: str) -> SourceFile:
    try:
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            return SourceFile(path, "symlink")
        if not stat.S_ISREG(status.st_mode):
            return SourceFile(path, "special")
        wanted = PurePosixPath(path).suffix.lower() in _TEXTS and status.st_size <= LARGEST_FILE
        content = Path(entry.path).read_bytes() if wanted else None
    except OSError:
        return SourceFile(path)
    return SourceFile(path, "file", status.st_size, content)


def _is_aside(path: str) -> bool:
    """Tell whether a file makes data, installs something or is a stand-alone script; no plugin imports those."""
    parts = PurePosixPath(path).parts
    return path == "setup.py" or "data_packaging" in parts[:-1]


def run_at_import(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield every node that runs when a module with these statements is imported, in the order of the source.

    Bodies of functions do not, nor what stands below ``if __name__ == "__main__"`` and ``if TYPE_CHECKING``; but
    decorators, default values and bodies of classes do.
    """
    waiting = list(body)[::-1]
    while waiting:
        node = waiting.pop()
        parts: list[ast.AST]
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            parts = [*node.decorator_list, *node.args.defaults, *(one for one in node.args.kw_defaults if one)]
        elif isinstance(node, ast.Lambda):
            parts = [*node.args.defaults, *(one for one in node.args.kw_defaults if one)]
        elif isinstance(node, ast.If) and never_on_import(node.test):
            parts = list(node.orelse)
        else:
            yield node
            parts = list(ast.iter_child_nodes(node))
        waiting += parts[::-1]


def never_on_import(test: ast.expr) -> bool:
    """Tell whether a condition is ``__name__ == "__main__"`` or ``TYPE_CHECKING``."""
    if isinstance(test, ast.Compare):
        names = [node for node in (test.left, *test.comparators) if isinstance(node, ast.Name)]
        return any(node.id == "__name__" for node in names) and isinstance(test.ops[0], ast.Eq)
    return (isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING") or (
        isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"
    )


def dotted(node: ast.AST, names: Mapping[str, str]) -> str:
    """Return what ``a.b.c`` stands for given the imports of a file, or ``''`` if it is nothing of that form."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(names.get(node.id, node.id))
    elif isinstance(node, ast.Call) and parts:  # something(...).method
        parts.append("()")
    else:
        return ""
    return ".".join(reversed(parts))


def kinds_of(folder: str) -> list[str]:
    """Return the names of the kinds that plugins of a folder register."""
    return [kind.name for kind in KINDS.values() if kind.folder == folder]
