"""Choose the number of processes for a plugin's tests: starting one costs as much as many small tests."""

from __future__ import annotations

import ast
import math
import os
from pathlib import Path

_START_S = 10.0  # least work for a process, which has to import everything
_MANY_TESTS = 24  # if their duration is unknown
_MOST = 8  # each holds the library, and maybe a model, in memory


def choose_workers(n_tests: int, cores: int, last_seconds: float | None = None) -> int:
    """Return the number of worker processes; 0 for none beside the first.

    Examples
    --------
    >>> choose_workers(8, cores=4), choose_workers(200, cores=4), choose_workers(200, cores=4, last_seconds=5)
    (0, 4, 0)
    """
    enough = n_tests / (_MANY_TESTS / 2) if last_seconds is None else last_seconds / _START_S
    workers = min(cores, n_tests, math.floor(enough), _MOST)
    return workers if workers > 1 else 0


def usable_cores() -> int:
    """Return the number of processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def count_tests(file: Path) -> int:
    """Return the approximate number of tests in a file, with literal parametrisations; 0 if it cannot be read."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return 0
    return sum(
        math.prod((_times(decorator) for decorator in node.decorator_list), start=1)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    )


def _times(decorator: ast.expr) -> int:
    is_call = isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Attribute)
    if is_call and decorator.func.attr == "parametrize" and len(decorator.args) > 1:  # type: ignore[attr-defined] # a call of an attribute
        values = decorator.args[1]  # type: ignore[attr-defined] # see above
        return len(values.elts) if isinstance(values, (ast.List, ast.Tuple)) else 1
    return 1
