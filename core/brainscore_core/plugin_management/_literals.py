"""Evaluate expressions whose value is written in the source, without running any of it."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

__all__ = ["UNKNOWN", "bind", "elements", "evaluate"]


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = _Unknown()
"""The value of everything that only running the code can tell."""

_MOST_ELEMENTS = 10_000  # of a loop, and characters of a text: nobody registers that much, and doubling in a loop ends
_LARGEST_NUMBER = 10**15
_STRING_METHODS = frozenset(
    {"capitalize", "format", "join", "lower", "lstrip", "removeprefix", "removesuffix", "replace", "rstrip", "split",
     "strip", "title", "upper"}
)  # fmt: skip
_ITERATION: dict[str, Callable[..., Any]] = {"enumerate": enumerate, "zip": zip, "reversed": reversed}
_PRESENTATION: dict[int, Callable[[Any], Any]] = {
    -1: lambda value: value,
    ord("s"): str,
    ord("r"): repr,
    ord("a"): ascii,
}
_CONVERSION: dict[str, Callable[..., Any]] = {"list": list, "tuple": tuple, "dict": dict, "sorted": sorted, "set": list}


def evaluate(node: ast.expr | None, names: Mapping[str, Any]) -> Any:
    """Return the value of an expression, or `UNKNOWN`.

    Literals, names of literals, f-strings, ``+``, ``%`` and ``*``, subscripts, common methods of strings and
    dictionaries, ``range``, ``enumerate``, ``zip``, ``sorted`` and comprehensions are understood. A tuple, list or
    dictionary whose elements are partly unknown is returned with `UNKNOWN` in their places.

    Parameters
    ----------
    node : ast.expr or None
        The expression; None is `UNKNOWN`.
    names : mapping of str to object
        Values of the variables.
    """
    handler = _HANDLERS.get(type(node))
    if handler is None:
        return UNKNOWN
    try:
        return handler(node, names)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return UNKNOWN  # the expression would raise, or mixes in something unknown


def elements(value: Any) -> list[Any] | None:
    """Return what a loop over a value would visit, or None if that is unknown or too much."""
    if isinstance(value, range):
        return (
            list(value) if abs(value.stop - value.start) <= _LARGEST_NUMBER and len(value) <= _MOST_ELEMENTS else None
        )
    if not isinstance(value, (str, list, tuple, dict)) or len(value) > _MOST_ELEMENTS:
        return None
    return list(value)


def bind(target: ast.expr, value: Any, names: dict[str, Any]) -> None:
    """Assign a value to the variables of a target, in place."""
    if isinstance(target, ast.Name):
        names[target.id] = value
    elif isinstance(target, ast.Starred):
        bind(target.value, UNKNOWN, names)
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts = elements(value)
        fits = parts is not None and len(parts) == len(target.elts)
        for index, part in enumerate(target.elts):
            bind(part, parts[index] if fits and parts is not None else UNKNOWN, names)


def _known(*values: Any) -> bool:
    return not any(value is UNKNOWN for value in values)


def _wholly_known(value: Any) -> bool:
    if isinstance(value, dict):
        return _wholly_known(list(value.items()))
    if isinstance(value, (list, tuple)):
        return all(_wholly_known(part) for part in value)
    return value is not UNKNOWN


def _constant(node: ast.Constant, names: Mapping[str, Any]) -> Any:  # noqa: ARG001  # all handlers are called alike
    return node.value


def _name(node: ast.Name, names: Mapping[str, Any]) -> Any:
    return names.get(node.id, UNKNOWN)


def _sequence(node: ast.List | ast.Tuple | ast.Set, names: Mapping[str, Any]) -> Any:
    values: list[Any] = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            parts = elements(evaluate(element.value, names))
            if parts is None:
                return UNKNOWN
            values.extend(parts)
        else:
            values.append(evaluate(element, names))
    return tuple(values) if isinstance(node, ast.Tuple) else values


def _dictionary(node: ast.Dict, names: Mapping[str, Any]) -> Any:
    result: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        evaluated = evaluate(value, names)
        if key is None:
            result.update(evaluated)  # raises TypeError if that is unknown
        else:
            result[evaluate(key, names)] = evaluated
    return result


def _fstring(node: ast.JoinedStr, names: Mapping[str, Any]) -> Any:
    parts = [evaluate(part, names) for part in node.values]
    return "".join(parts) if _known(*parts) else UNKNOWN


def _formatted(node: ast.FormattedValue, names: Mapping[str, Any]) -> Any:
    value = evaluate(node.value, names)
    specification = "" if node.format_spec is None else evaluate(node.format_spec, names)
    if not _known(specification) or not isinstance(value, (str, int, float)):
        return UNKNOWN
    convert = _PRESENTATION[node.conversion]
    return format(convert(value), specification)


def _operation(node: ast.BinOp, names: Mapping[str, Any]) -> Any:
    left, right = evaluate(node.left, names), evaluate(node.right, names)
    if not _known(left, right):
        return UNKNOWN
    if isinstance(node.op, ast.Mod):
        return left % right if isinstance(left, str) and _wholly_known(right) else UNKNOWN
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return _arithmetic(node.op, left, right)
    if isinstance(node.op, ast.Add) and len(left) + len(right) <= _MOST_ELEMENTS:
        return left + right
    return UNKNOWN


def _arithmetic(operator: ast.operator, left: float, right: float) -> Any:
    if max(abs(left), abs(right)) > _LARGEST_NUMBER:
        return UNKNOWN
    if isinstance(operator, ast.Add):
        return left + right
    if isinstance(operator, ast.Sub):
        return left - right
    return left * right if isinstance(operator, ast.Mult) else UNKNOWN


def _subscript(node: ast.Subscript, names: Mapping[str, Any]) -> Any:
    container = evaluate(node.value, names)
    if isinstance(node.slice, ast.Slice):
        bounds = [
            None if part is None else evaluate(part, names)
            for part in (node.slice.lower, node.slice.upper, node.slice.step)
        ]
        return container[slice(*bounds)]
    return container[evaluate(node.slice, names)]


def _comprehension(node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, names: Mapping[str, Any]) -> Any:
    rows = list(itertools.islice(_bindings(node.generators, dict(names)), _MOST_ELEMENTS + 1))
    if len(rows) > _MOST_ELEMENTS:
        return UNKNOWN
    if isinstance(node, ast.DictComp):
        return {evaluate(node.key, row): evaluate(node.value, row) for row in rows}
    return [evaluate(node.elt, row) for row in rows]


def _bindings(generators: list[ast.comprehension], names: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if not generators:
        yield names
        return
    first, *rest = generators
    values = elements(evaluate(first.iter, names))
    if values is None or first.ifs:
        raise ValueError("This comprehension is not literal.")
    for value in values:
        row = dict(names)
        bind(first.target, value, row)
        yield from _bindings(rest, row)


def _call(node: ast.Call, names: Mapping[str, Any]) -> Any:
    if any(isinstance(argument, ast.Starred) for argument in node.args) or any(k.arg is None for k in node.keywords):
        return UNKNOWN
    arguments = [evaluate(argument, names) for argument in node.args]
    keywords = {str(keyword.arg): evaluate(keyword.value, names) for keyword in node.keywords}
    if not _known(*arguments, *keywords.values()):
        return UNKNOWN
    if isinstance(node.func, ast.Name) and node.func.id not in names:
        return _call_builtin(node.func.id, arguments, keywords)
    if isinstance(node.func, ast.Attribute):
        return _call_method(evaluate(node.func.value, names), node.func.attr, arguments, keywords)
    return UNKNOWN


def _call_builtin(function: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    if function == "range":
        return range(*arguments)
    if function == "str" and not keywords and len(arguments) == 1 and isinstance(arguments[0], (str, int, float)):
        return str(arguments[0])
    if function == "dict" and not arguments:
        return keywords
    if function in _ITERATION:
        # Bounded, because a range may be huge and zip may stop early.
        return list(itertools.islice(_ITERATION[function](*arguments, **keywords), _MOST_ELEMENTS + 1))
    if function in _CONVERSION and len(arguments) == 1 and elements(arguments[0]) is not None:
        return _CONVERSION[function](arguments[0], **keywords)
    return UNKNOWN


def _call_method(owner: Any, method: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    if isinstance(owner, str) and method in _STRING_METHODS and _wholly_known([arguments, keywords]):
        return getattr(owner, method)(*arguments, **keywords)
    if isinstance(owner, dict) and method in ("items", "keys", "values") and not arguments:
        return list(getattr(owner, method)())
    return UNKNOWN


_HANDLERS: dict[type, Callable[[Any, Mapping[str, Any]], Any]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dictionary,
    ast.JoinedStr: _fstring,
    ast.FormattedValue: _formatted,
    ast.BinOp: _operation,
    ast.Subscript: _subscript,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Call: _call,
}
