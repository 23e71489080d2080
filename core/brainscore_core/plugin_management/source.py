"""Read the source of plugins without running it: their files, what these load, import and name, and digests of code."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from brainscore_core.plugin_management.registrations import (
    UNKNOWN,
    constants,
    names_with_one_meaning,
    nodes_of,
    parse,
    run_at_import,
)

# -- digests of code ---------------------------------------------------------------------------------------------------
#
# Digest Python source by its syntax tree without docstrings, so comments and layout do not count.


# They change nothing that runs; `kind` is the u of u'text'.
_IGNORED = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


def tree_digest(nodes: Iterable[ast.AST]) -> str:
    """Return the digest of syntax trees, the same for other docstrings, layouts and versions of Python."""
    parts: list[str] = []
    waiting: list[object] = list(nodes)
    waiting.reverse()
    while waiting:  # no recursion: a sum of thousands of texts is a deep tree
        part = waiting.pop()
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, ast.Constant):
            parts.append(repr(part.value))
        elif isinstance(part, ast.AST):
            waiting.append(")")
            for name in reversed(part._fields):
                value = getattr(part, name, None)
                # Later versions of Python add fields, which are empty in source of earlier ones.
                if value is None or value == [] or name in _IGNORED:
                    continue
                if isinstance(value, list):
                    code = [one for one in value if not _is_docstring(one)]
                    waiting += ["]", *(one if isinstance(one, ast.AST) else repr(one) for one in reversed(code)), "["]
                else:
                    waiting.append(value if isinstance(value, ast.AST) else repr(value))
                waiting.append(f"{name}=")
            parts.append(f"({type(part).__name__}")
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _is_docstring(node: object) -> bool:
    """Return whether a statement is a text, such as the docstring of a class or of an attribute."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


# -- loads, imports and names ------------------------------------------------------------------------------------------
#
# Read the loads, imports and names of a file.


LOADERS: Mapping[str, str] = {
    "load_dataset": "data",
    "load_stimulus_set": "stimulus_set",
    "load_metric": "metric",
    "load_ceiling": "metric",
    "load_benchmark": "benchmark",
    "load_model": "model",
}
"""Function -> name of the kind of identifier it takes."""

Pattern = tuple[str, ...]
"""Literal pieces of a text, with anything between two of them."""

_ANYTHING: Pattern = ("", "")
_FIELD = re.compile(r"\{[^{}]*\}|%[^A-Za-z%\s]*[A-Za-z]")  # what str.format and % replace
# The closing quote may also open the next text: one quote too many then hides nothing.
_QUOTED = (re.compile(rb"'((?:[^'\n\\]|\\.)*)(?=')"), re.compile(rb'"((?:[^"\n\\]|\\.)*)(?=")'))
_TELLING = frozenset({ast.Constant, ast.Call, ast.JoinedStr, ast.BinOp, ast.Import, ast.ImportFrom})
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[\w-]+){2,}")


@dataclass(frozen=True)
class Load:
    """One call that loads something by its identifier; see `filled` for the pattern."""

    function: str
    kind: str
    pattern: Pattern
    line: int

    @property
    def literal(self) -> str | None:
        """The identifier if it is literal."""
        return self.pattern[0] if len(self.pattern) == 1 else None

    @property
    def says_nothing(self) -> bool:
        """Whether the source says nothing about the identifier."""
        return len(self.pattern) > 1 and not any(self.pattern)


@dataclass(frozen=True)
class Import:
    """One imported module, also by a dotted text; a relative import has its leading dots as ``level``."""

    module: str
    level: int
    line: int


@dataclass(frozen=True)
class SourceFacts:
    """Loads (by line), imports, literal texts, and patterns (see `filled`) of composed ones."""

    loads: tuple[Load, ...] = ()
    imports: tuple[Import, ...] = ()
    texts: frozenset[str] = frozenset()
    patterns: frozenset[Pattern] = frozenset()


def read_facts(tree: ast.Module) -> SourceFacts:
    """Return the loads, imports and names of a file; raise `RecursionError` if it is nested too deeply."""
    imports: list[Import] = []
    texts: dict[str, int] = {}
    patterns: set[Pattern] = set()
    calls: list[ast.Call] = []
    # Name in this file -> functions it may mean, as each function may import another one.
    loaders: dict[str, set[str]] = {name: {name} for name in LOADERS}
    for node in [node for node in nodes_of(tree) if type(node) in _TELLING]:
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                texts.setdefault(node.value, node.lineno)
        elif isinstance(node, ast.Call):
            calls.append(node)
        elif isinstance(node, (ast.JoinedStr, ast.BinOp)):
            patterns.add(_pattern(node))
        elif isinstance(node, ast.Import):
            imports += [Import(alias.name, 0, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imports += _imported_from(node)
            for alias in node.names:
                if alias.name in LOADERS:
                    loaders.setdefault(alias.asname or alias.name, set()).add(alias.name)
    imports += [Import(text, 0, line) for text, line in texts.items() if "." in text and _DOTTED.fullmatch(text)]
    loads = [load for call in calls for load in _loads(call, loaders)]
    return SourceFacts(
        loads=tuple(sorted(loads, key=lambda load: load.line)),
        imports=tuple(imports),
        texts=frozenset(texts),
        patterns=frozenset(pattern for pattern in patterns if any(pattern)),
    )


def read_texts(content: bytes) -> SourceFacts:
    """Return all one-line texts in quotes without parsing, a hundred times faster; comments may count."""
    texts = {text.decode("utf-8", "replace") for quoted in _QUOTED for text in quoted.findall(content)}
    patterns = {tuple(_FIELD.split(text)) for text in texts if _FIELD.search(text)}
    return SourceFacts(texts=frozenset(texts), patterns=frozenset(pattern for pattern in patterns if any(pattern)))


def _imported_from(node: ast.ImportFrom) -> Iterator[Import]:
    module = node.module or ""
    yield Import(module, node.level, node.lineno)
    for alias in node.names:
        if alias.name != "*" and alias.name not in LOADERS:  # `from package.metrics import rdm` imports a module
            yield Import(f"{module}.{alias.name}".lstrip("."), node.level, node.lineno)


def _loads(call: ast.Call, loaders: Mapping[str, set[str]]) -> Iterator[Load]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name not in loaders:
        return
    argument = call.args[0] if call.args else None
    for keyword in call.keywords:
        if keyword.arg == "identifier" or (keyword.arg is None and argument is None):
            argument = keyword.value
    pattern = _ANYTHING if argument is None else _pattern(argument)
    for function in sorted(loaders[name]):
        yield Load(function, LOADERS[function], pattern, call.lineno)


def _pattern(node: ast.expr) -> Pattern:
    match node:
        case ast.Constant(value=str(text)):
            return (text,)
        case ast.JoinedStr():
            return _joined(*map(_pattern, node.values))
        case ast.BinOp(op=ast.Add()):
            return _joined(_pattern(node.left), _pattern(node.right))
        case ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str(template))):
            return tuple(_FIELD.split(template))
        case ast.Call(func=ast.Attribute(attr="format", value=ast.Constant(value=str(template)))):
            return tuple(_FIELD.split(template))
    return _ANYTHING


def _joined(*patterns: Pattern) -> Pattern:
    joined = [""]
    for first, *others in patterns:
        joined[-1] += first
        joined += others
    return tuple(joined)


def filled(pattern: Pattern, text: str) -> list[tuple[int, int]] | None:
    """Return the spans of a text between the pieces of a pattern, in linear time; None if it does not match.

    ``('A.', '-pls')`` matches every text that starts and ends like that.
    """
    first, *others = pattern
    if not others:
        return [] if text == first else None
    *middle, last = others
    if not text.startswith(first) or not text.endswith(last):
        return None
    spans = []
    position, end = len(first), len(text) - len(last)
    for piece in middle:
        found = text.find(piece, position, end)
        if found < 0:
            return None
        spans.append((position, found))
        position = found + len(piece)
    return [*spans, (position, end)] if position <= end else None


# -- files -------------------------------------------------------------------------------------------------------------
#
# Read the files of a plugin once; nothing is imported and no link is followed.


LARGEST_FILE = 1_000_000  # bytes
_MOST_FILES = 5_000
LEFT_ALONE = frozenset({"__pycache__", ".pytest_cache", ".ipynb_checkpoints", ".mypy_cache", ".ruff_cache"})
"""Folders that programs generate and git ignores."""

_COOKIE = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")
_TEXTS = (".py", ".txt", ".yml", ".yaml", ".toml", ".cfg", ".md", ".bib")


@dataclass(frozen=True)
class SourceFile:
    """One file of a plugin, by its path inside the folder, with ``/``.

    ``content`` is None if it is not text, too large, or unreadable; ``form`` 'special' includes devices and pipes.
    """

    path: str
    form: Literal["file", "symlink", "special"] = "file"
    size_bytes: int = 0
    content: bytes | None = None

    @cached_property
    def hidden(self) -> tuple[int, str] | None:
        """Line where Python may run something else than a reader sees, and why (Boucher and Anderson, 2023)."""
        for number, line in enumerate(
            (self.content or b"").split(b"\n", 2)[:2] if self.path.endswith(".py") else (), 1
        ):
            cookie = _COOKIE.match(line)
            if cookie and cookie[1].lower().replace(b"_", b"-") not in (b"utf-8", b"utf8", b"utf-8-sig"):
                return number, f"declares the encoding {cookie[1].decode('ascii', 'replace')}; expected UTF-8"
        if self.text.isascii() or not (match := _REORDERING.search(self.text)):
            return None
        number = self.text.count("\n", 0, match.start()) + 1
        return (
            number,
            f"has the character U+{ord(match[0]):04X}, which displays text in a different order than Python reads it",
        )

    @cached_property
    def _parsed(self) -> tuple[ast.Module | None, tuple[int, str] | None]:
        if not self.path.endswith(".py") or self.content is None:
            return None, None
        if self.hidden:
            return None, self.hidden
        try:
            return parse(self.content), None
        except SyntaxError as error:
            return None, (error.lineno or 1, error.msg)

    @property
    def tree(self) -> ast.Module | None:
        """Syntax tree; None if it is no Python or cannot be parsed."""
        return self._parsed[0]

    @property
    def problem(self) -> tuple[int, str] | None:
        """Line and reason why it cannot be parsed."""
        return self._parsed[1]

    @cached_property
    def code_digest(self) -> str:
        """Digest of Python code without comments, docstrings and layout; of the content if it cannot be parsed."""
        return tree_digest([self.tree]) if self.tree else hashlib.sha256(self.content or b"").hexdigest()

    @cached_property
    def text(self) -> str:
        """Content, with bytes that are no UTF-8 replaced."""
        return (self.content or b"").decode("utf-8-sig", "replace")

    @cached_property
    def constants(self) -> Mapping[str, object]:
        """Values of names that a Python file's top level assigns once, to literals."""
        return constants(self.tree) if self.tree else {}

    @cached_property
    def facts(self) -> SourceFacts:
        """Loads, imports and names; empty if it cannot be parsed."""
        try:
            return read_facts(self.tree) if self.tree else SourceFacts()
        except RecursionError:
            return SourceFacts()


@dataclass(frozen=True)
class PluginSource:
    """The files of one plugin, by sorted path inside its folder, and the references between its modules."""

    module: str
    files: Mapping[str, SourceFile]
    _names: dict[str, dict[str, str]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def imported(self) -> Mapping[str, SourceFile]:
        """Files that run when the plugin is imported: ``__init__.py`` and its imports, recursively."""
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

    def names_in(self, file: str) -> Mapping[str, str]:
        """Return imported name -> absolute dotted name of a file."""
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

    def constants_in(self, file: str) -> Mapping[str, object]:
        """Return a file's literal names -> values, with those imported within the plugin."""
        values: dict[str, object] = {}
        for name, imported in self.names_in(file).items():
            module, _, original = imported.rpartition(".")
            other = self.file_of(module)
            value = UNKNOWN if other is None else self.files[other].constants.get(original, UNKNOWN)
            if value is not UNKNOWN:
                values[name] = value
        return {**values, **self.files[file].constants}

    def absolute(self, file: str, node: ast.ImportFrom) -> str:
        """Return the absolute dotted name of the module in a ``from ... import``."""
        if node.level == 0:
            return node.module or ""
        package = [*self.module.split("."), *file.split("/")[:-1]]
        parents = package[: max(len(package) - node.level + 1, 0)]
        return ".".join([*parents, node.module] if node.module else parents)

    def file_of(self, module: str) -> str | None:
        """Return the path inside the plugin of one of its modules."""
        if module == self.module:
            return "__init__.py" if "__init__.py" in self.files else None
        if not module.startswith(f"{self.module}."):
            return None
        inside = module.removeprefix(f"{self.module}.").replace(".", "/")
        return next((path for path in (f"{inside}.py", f"{inside}/__init__.py") if path in self.files), None)

    def definition(self, file: str, name: str) -> tuple[str, ast.FunctionDef | ast.ClassDef] | None:
        """Return file and statement that define a class or function used in a file."""
        file, name = self._origin(file, name)
        for statement in self._top(file):
            if isinstance(statement, (ast.FunctionDef, ast.ClassDef)) and statement.name == name:
                return file, statement
        return None

    def assigned(self, file: str, name: str) -> tuple[str, ast.expr] | None:
        """Return file and expression of a name that the plugin assigns once, at top level."""
        file, name = self._origin(file, name)
        for statement in self._top(file):
            if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
                continue
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                tree = self.files[file].tree
                return (file, statement.value) if tree and name in names_with_one_meaning(tree) else None
        return None

    def _origin(self, file: str, name: str) -> tuple[str, str]:
        """Return the file of the plugin that defines a name (``''`` if none does) and its name there."""
        imported = self.names_in(file).get(name)
        if imported is None:
            return file, name
        module, _, original = imported.rpartition(".")
        return self.file_of(module) or "", original

    def _top(self, file: str) -> list[ast.stmt]:
        tree = self.files[file].tree if file in self.files else None
        return tree.body if tree else []

    def _files_of(self, path: str, node: ast.Import | ast.ImportFrom) -> list[str]:
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            module = self.absolute(path, node)
            modules = [module, *(f"{module}.{alias.name}" for alias in node.names)]
        return [file for module in modules if (file := self.file_of(module)) is not None]


def read_plugin(directory: Path, module: str) -> PluginSource:
    """Read a plugin; see `PluginSource` and `read_files`."""
    return PluginSource(module, read_files(directory))


def read_files(directory: Path) -> dict[str, SourceFile]:
    """Read a folder and its folders, at most 5,000 files, without `LEFT_ALONE`."""
    sources: dict[str, SourceFile] = {}
    if directory.is_symlink():
        sources[""] = SourceFile("", "symlink")
    for entry, path in _walk(str(directory), ""):
        if len(sources) >= _MOST_FILES:
            break
        sources[path] = _read(entry, path)
    return dict(sorted(sources.items()))


def _walk(directory: str, prefix: str) -> Iterator[tuple[os.DirEntry[str], str]]:
    try:
        with os.scandir(directory) as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in ordered:
        path = f"{prefix}{entry.name}"
        if entry.name in LEFT_ALONE:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path, f"{path}/")
        else:
            yield entry, path


def _read(entry: os.DirEntry[str], path: str) -> SourceFile:
    try:
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            return SourceFile(path, "symlink")
        if not stat.S_ISREG(status.st_mode):
            return SourceFile(path, "special")
        is_text = path.lower().endswith(_TEXTS) and status.st_size <= LARGEST_FILE
        if not is_text:
            return SourceFile(path, "file", status.st_size)
        with open(entry.path, "rb") as stream:  # noqa: PTH123 - a Path for each of thousands of files doubles the time
            return SourceFile(path, "file", status.st_size, stream.read())
    except OSError:
        return SourceFile(path)
