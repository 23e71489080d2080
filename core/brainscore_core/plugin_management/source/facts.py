"""Read the loads, imports and names of a file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from brainscore_core.plugin_management.source.literals import nodes_of

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
# The closing quote may open the next text, so that one quote too many hides nothing.
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
