"""Digest Python source by its syntax tree without docstrings, so comments and layout do not count."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable

# They say nothing that runs; `kind` is the u of u'text'.
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
