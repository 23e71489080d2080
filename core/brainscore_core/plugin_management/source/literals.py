"""Evaluate literal expressions and names of literals."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping
from typing import Final


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = _Unknown()
"""The value of anything that is not literal."""

_LONGEST = 100_000  # characters or elements: bounds a text that doubles line by line


def evaluate(node: ast.expr | None, names: Mapping[str, object]) -> object:
    """Return the value of an expression, or `UNKNOWN`.

    Literals, variables in ``names``, f-strings with plain fields, and ``+`` of texts and of lists are evaluated. Lists
    and sets become tuples, with `UNKNOWN` for unknown elements.
    """
    try:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return names.get(node.id, UNKNOWN)
            case ast.List() | ast.Tuple() | ast.Set():
                if any(isinstance(element, ast.Starred) for element in node.elts):
                    return UNKNOWN
                return tuple(evaluate(element, names) for element in node.elts)
            case ast.JoinedStr():
                return _joined(*(evaluate(part, names) for part in node.values))
            case ast.FormattedValue(conversion=-1, format_spec=None):
                value = evaluate(node.value, names)
                return str(value) if isinstance(value, (str, int)) else UNKNOWN
            case ast.BinOp(op=ast.Add()):
                return _joined(evaluate(node.left, names), evaluate(node.right, names))
    except (RecursionError, ValueError):  # nested too deeply; a number of more digits than Python writes out
        pass
    return UNKNOWN


def _joined(*parts: object) -> object:
    """Join texts or sequences; `UNKNOWN` for anything else and for too much."""
    texts = [part for part in parts if isinstance(part, str)]
    sequences = [part for part in parts if isinstance(part, tuple)]
    if sum(map(len, texts)) + sum(map(len, sequences)) > _LONGEST:
        return UNKNOWN
    if len(texts) == len(parts):
        return "".join(texts)
    return sum(sequences, ()) if len(sequences) == len(parts) else UNKNOWN


def constants(tree: ast.Module, fixed: frozenset[str] | None = None) -> dict[str, object]:
    """Return the values of names that a top level assigns once, ``fixed`` by `names_with_one_meaning`, to literals."""
    fixed = names_with_one_meaning(tree) if fixed is None else fixed
    values: dict[str, object] = {}
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        targets = [statement.target] if isinstance(statement, ast.AnnAssign) else targets
        for target in targets:
            if isinstance(statement, (ast.Assign, ast.AnnAssign)):
                bind(target, evaluate(statement.value, values), values, fixed)
    return {name: value for name, value in values.items() if value is not UNKNOWN}


def bind(target: ast.expr, value: object, names: dict[str, object], fixed: frozenset[str]) -> None:
    """Assign a value to the variables of a target, in place; those that may change become `UNKNOWN`."""
    if isinstance(target, ast.Name):
        names[target.id] = value if target.id in fixed else UNKNOWN
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts = value if isinstance(value, tuple) and len(value) == len(target.elts) else (UNKNOWN,) * len(target.elts)
        for part, element in zip(target.elts, parts, strict=True):
            bind(part, element, names, fixed)


def names_with_one_meaning(tree: ast.AST) -> frozenset[str]:
    """Return names assigned by one statement and never changed, and names used only as loop variables."""
    counts: Counter[str] = Counter()
    looped: set[str] = set()
    for node in nodes_of(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            counts[node.id] += 1
        elif isinstance(node, ast.For):  # several loops may share a variable
            targets = [name.id for name in ast.walk(node.target) if isinstance(name, ast.Name)]
            counts.subtract(targets)
            looped.update(targets)
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):  # names['b'] = 2
            counts.update(_name(node.value))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):  # names.append('b')
            function = node.value.func
            counts.update(_name(function.value) if isinstance(function, ast.Attribute) else ())
        else:  # functions, classes, imports, `except ... as`, patterns of `match`
            counts.update(name for name in (getattr(node, "name", None), getattr(node, "asname", None)) if name)
    counts.update(looped)
    return frozenset(name for name, count in counts.items() if count == 1)


def _name(node: ast.expr) -> list[str]:
    return [node.id] if isinstance(node, ast.Name) else []


def nodes_of(tree: ast.AST) -> list[ast.AST]:
    """Return every node that has fields, in a third of the time of `ast.walk`."""
    parts: list[object] = [tree]
    for part in parts:  # grows meanwhile
        for name in _FIELDS[type(part)]:
            value = getattr(part, name, None)
            if type(value) is list:
                parts += value
            elif value is not None:
                parts.append(value)
    return [part for part in parts if isinstance(part, ast.AST)]  # names and None are in lists too


# Fields that never hold a node with fields of its own.
_PLAIN = frozenset(
    {
        *("id", "ctx", "attr", "arg", "asname", "module", "level", "op", "ops", "kind", "conversion"),
        *("type_comment", "simple", "is_async", "rest", "kwd_attrs", "tag"),
    }
)


class _Fields(dict[type, tuple[str, ...]]):
    """Type of node -> fields that may hold nodes, faster than a function with a cache."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        fields = kind._fields if issubclass(kind, ast.AST) and kind is not ast.Constant else ()
        self[kind] = tuple(name for name in fields if name not in _PLAIN)
        return self[kind]


_FIELDS = _Fields()
