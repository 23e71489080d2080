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
                    waiting.append("]")
                    for one in reversed(value):
                        is_text = isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
                        if not (is_text and isinstance(one.value.value, str)):  # a docstring, also of an attribute
                            waiting.append(one if isinstance(one, ast.AST) else repr(one))
                    waiting.append("[")
                else:
                    waiting.append(value if isinstance(value, ast.AST) else repr(value))
                waiting.append(f"{name}=")
            parts.append(f"({type(part).__name__}")
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
