"""Read from Python source what it loads, imports and names, without running it."""

from __future__ import annotations

import ast
import functools
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from brainscore_core.plugin_management.registry import KINDS

__all__ = ["LOADERS", "Import", "Load", "SourceFacts", "fits", "pieces", "read_source", "read_texts"]

LOADERS: Mapping[str, str] = {
    "load_dataset": "data",
    "load_stimulus_set": "stimulus_set",
    "load_metric": "metric",
    "load_ceiling": "metric",
    "load_benchmark": "benchmark",
    "load_model": "model",
}
"""Function -> name of the kind of identifier it takes."""

_ANY = r"[\s\S]*"
_FIELD = re.compile(r"\{[^{}]*\}|%[^A-Za-z%\s]*[A-Za-z]")  # what str.format, f-strings and % replace
# Each kind of quote apart, and the closing quote may open the next text, so that one quote too many hides nothing.
_QUOTED = (re.compile(rb"'((?:[^'\n\\]|\\.)*)(?=')"), re.compile(rb'"((?:[^"\n\\]|\\.)*)(?=")'))
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[\w-]+){2,}")


@dataclass(frozen=True)
class Load:
    """One call that loads something by its identifier.

    Attributes
    ----------
    function : str
        Such as ``'load_metric'``.
    kind : str
        Such as ``'metric'``, a key of `KINDS`.
    pattern : str
        Regular expression that the whole identifier matches; of a literal, the literal itself, escaped.
    literal : str or None
        The identifier, where the source says it.
    line : int
        Counted from 1.
    """

    function: str
    kind: str
    pattern: str
    literal: str | None
    line: int

    @property
    def says_nothing(self) -> bool:
        """Whether the source tells nothing about the identifier."""
        return self.literal is None and not self.pattern.replace(_ANY, "")


@dataclass(frozen=True)
class Import:
    """One module that is imported, also by ``import_module('...')`` or another dotted text.

    Attributes
    ----------
    module : str
        Dotted name; for a relative import what follows the dots.
    level : int
        Number of leading dots.
    line : int
        Counted from 1.
    """

    module: str
    level: int
    line: int


@dataclass(frozen=True)
class SourceFacts:
    """What one file loads, imports and names.

    Attributes
    ----------
    loads : tuple of Load
    imports : tuple of Import
    texts : frozenset of str
        Every literal text.
    patterns : frozenset of str
        Regular expressions for the texts that are put together from literals and something else.
    problem : str or None
        Why it cannot be read.
    """

    loads: tuple[Load, ...] = ()
    imports: tuple[Import, ...] = ()
    texts: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    problem: str | None = None


def read_source(source: bytes, filename: str = "<source>") -> SourceFacts:
    """Read a file; one that is no Python gives `SourceFacts` with a ``problem``."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # of code that is only read here
            tree = ast.parse(source, filename)
        reader = _Reader()
        reader.read(tree)
    except SyntaxError as error:
        return SourceFacts(problem=f"{filename}:{error.lineno or 1}: {error.msg}")
    except (ValueError, RecursionError, MemoryError) as error:
        return SourceFacts(problem=f"{filename}:1: {type(error).__name__}: {error}")
    return SourceFacts(
        loads=tuple(reader.loads),
        imports=tuple(reader.imports),
        texts=frozenset(reader.texts),
        patterns=frozenset(reader.patterns),
    )


def read_texts(source: bytes) -> SourceFacts:
    """Find everything in quotes without parsing, a hundred times faster; comments may count, nothing is missed.

    Texts that span lines are not found: no identifier does.
    """
    found = {text.decode("utf-8", "replace") for quoted in _QUOTED for text in quoted.findall(source)}
    templates = {text for text in found if _FIELD.search(text)}
    return SourceFacts(texts=frozenset(found), patterns=frozenset(map(_template_pattern, templates)) - {_ANY, ""})


def fits(pattern: str, text: str) -> bool:
    """Tell whether a text is of a pattern, as `re.fullmatch` would, but never in more than linear time.

    Parameters
    ----------
    pattern : str
        Of a `Load` or of `SourceFacts`.
    text : str
        Such as an identifier.
    """
    first, *others = pieces(pattern)
    if not others:
        return text == first
    *middle, last = others
    if not text.startswith(first) or not text.endswith(last):
        return False
    position, end = len(first), len(text) - len(last)
    for piece in middle:
        position = text.find(piece, position, end)
        if position < 0:
            return False
        position += len(piece)
    return position <= end


@functools.lru_cache(maxsize=10_000)
def pieces(pattern: str) -> tuple[str, ...]:
    """Return the literal texts between the parts that may be anything."""
    return tuple(re.sub(r"\\([\s\S])", r"\1", piece) for piece in pattern.split(_ANY))


def _template_pattern(template: str) -> str:
    return _ANY.join(map(re.escape, _FIELD.split(template)))


class _Reader:
    def __init__(self) -> None:
        self.loads: list[Load] = []
        self.imports: list[Import] = []
        self.texts: set[str] = set()
        self.patterns: set[str] = set()
        # Name in this file -> functions it may mean; another function of the file may import another one by that name.
        self.loaders: dict[str, list[str]] = {name: [name] for name in LOADERS}

    def read(self, tree: ast.AST) -> None:
        found = _telling_nodes(tree)
        for node in found[ast.ImportFrom]:
            self._import_from(node)
        for node in found[ast.Import]:
            self.imports += [Import(alias.name, 0, node.lineno) for alias in node.names]
        for node in found[ast.Constant]:
            if isinstance(node.value, str):
                self._text(node.value, node.lineno)
        for node in (*found[ast.JoinedStr], *found[ast.BinOp]):
            pattern = _pattern(node)
            if pattern.replace(_ANY, ""):
                self.patterns.add(pattern)
        for node in found[ast.Call]:
            self._call(node)
        self.loads.sort(key=lambda load: load.line)

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        self.imports.append(Import(module, node.level, node.lineno))
        for alias in node.names:
            if alias.name in LOADERS:
                functions = self.loaders.setdefault(alias.asname or alias.name, [])
                if alias.name not in functions:
                    functions.append(alias.name)
            elif alias.name != "*":  # `from package.metrics import rdm` imports a module
                self.imports.append(Import(f"{module}.{alias.name}".lstrip("."), node.level, node.lineno))

    def _text(self, text: str, line: int) -> None:
        self.texts.add(text)
        if "." in text and _DOTTED.fullmatch(text):
            self.imports.append(Import(text, 0, line))

    def _call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        functions = self.loaders.get(name)
        if functions is None:
            return
        argument = node.args[0] if node.args else None
        for keyword in node.keywords:
            if keyword.arg == "identifier" or (keyword.arg is None and argument is None):
                argument = keyword.value
        literal = argument.value if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else None
        pattern = _ANY if argument is None else _pattern(argument)
        for function in functions:
            self.loads.append(Load(function, KINDS[LOADERS[function]].name, pattern, literal, node.lineno))


# Fields that hold no node that says anything: names, operators, flags.
_SCALARS = frozenset(
    {"arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "kwd_attrs", "level", "module", "name"}
    | {"names", "op", "ops", "rest", "simple", "tag", "type_comment", "type_ignores"}
)
_CHILDREN: Mapping[type, tuple[str, ...]] = {
    kind: tuple(name for name in kind._fields if name not in _SCALARS)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST) and kind is not ast.Constant
}


def _telling_nodes(tree: ast.AST) -> dict[type, list[Any]]:
    """Return the nodes of the types that say something; several times as fast as `ast.walk`."""
    found: dict[type, list[Any]] = {
        kind: [] for kind in (ast.ImportFrom, ast.Import, ast.Constant, ast.JoinedStr, ast.BinOp, ast.Call)
    }
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        kind = type(node)
        if kind in found:
            found[kind].append(node)
        for name in _CHILDREN.get(kind, ()):  # what is no node, such as None, has none
            value = getattr(node, name, None)
            if type(value) is list:
                waiting += value
            elif value is not None:
                waiting.append(value)
    return found


def _pattern(node: ast.expr) -> str:
    """Return a regular expression that every value of an expression matches."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.escape(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_pattern(part) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _pattern(node.left) + _pattern(node.right)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant):
        return _template_pattern(str(node.left.value))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        template = node.func.value
        if isinstance(template, ast.Constant) and isinstance(template.value, str):
            return _template_pattern(template.value)
    return _ANY
