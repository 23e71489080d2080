"""Find the statements that run when a module is imported, and resolve dotted expressions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

__all__ = ["dotted", "never_on_import", "run_at_import"]


def run_at_import(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield every node that runs when a module with these statements is imported, in the order of the source.

    Bodies of functions do not, nor statements below ``if __name__ == "__main__"`` and ``if TYPE_CHECKING``; but
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
    """Return the dotted name of ``a.b.c`` given the imports of a file, or ``''`` for other expressions."""
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
