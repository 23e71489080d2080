"""Check that a benchmark states version, citation and ceiling, and that its version rises when its code changes."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from brainscore_ci.planning.reach import Reach
from brainscore_core.plugin_management.registrations import constants, dotted, evaluate, parse

if TYPE_CHECKING:
    from brainscore_ci.checks.findings import Finding
    from brainscore_ci.checks.plugin import CheckedPlugin, Surroundings

_STATED: Mapping[str, str] = {
    "version": "pass version=1, and raise it when scores change: records name it",
    "bibtex": "pass bibtex= with the publication of the experiment",
    "ceiling_func": "pass ceiling_func=, such as the reliability of the repetitions",
}
_OWN_CEILING = frozenset({"NeuralBenchmark", "BenchmarkBase"})  # the caller of these classes knows the ceiling
_SAME = re.compile(r"#\s*same scores:\s*(\S.*)$", re.MULTILINE)


def check_arguments(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Require version, citation and ceiling where a benchmark is made with named arguments only."""
    for path, file in source.python.items() if source.folder == "benchmarks" else ():
        for node in ast.walk(file.tree) if file.tree else ():
            name = dotted(node.func, {}).rpartition(".")[2] if isinstance(node, ast.Call) else ""
            if not isinstance(node, ast.Call) or node.args or not name.endswith(("Benchmark", "BenchmarkBase")):
                continue
            arguments = {keyword.arg: keyword.value for keyword in node.keywords}
            if None in arguments or "identifier" not in arguments:  # with **kwargs, the caller may state the rest
                continue
            needed = set(_STATED) - ({"ceiling_func"} if name not in _OWN_CEILING or "ceiling" in arguments else set())
            for argument in sorted(needed):
                value = evaluate(arguments[argument], file.constants) if argument in arguments else None
                if argument not in arguments or value == "":
                    message = f"the benchmark has {'an empty' if argument in arguments else 'no'} {argument}"
                    yield source.finding("benchmark-argument", message, _STATED[argument], path, node.lineno)


def check_version(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Require a higher version if the code of a benchmark changed."""
    earlier = source.earlier
    if source.folder != "benchmarks" or not earlier:
        return
    reach = Reach(source.files)
    makes_scores = {path for path in {**earlier, **source.files} if path.endswith(".py") and reach.changes_scores(path)}
    earlier_code = {path: content for path, content in earlier.items() if path in makes_scores - {"setup.py"}}
    now = {path: file.content or b"" for path, file in source.files.items() if path in makes_scores - {"setup.py"}}
    changed = sorted(path for path in earlier_code if code_changed(earlier_code[path], now.get(path, b"")))
    if not changed:
        return
    before, after = versions(earlier_code), versions(now)
    fewer, more = before - after, after - before
    is_higher = not before or (bool(fewer) and bool(more) and max(more) > min(fewer))
    if is_higher or _reasons(now) - _reasons(earlier_code):
        return
    places = (
        (path, line)
        for path, file in source.python.items()
        for line, _ in (_version_arguments(file.tree) if file.tree else ())
    )
    path, line = next(places, (next(iter(source.python), "__init__.py"), 1))
    message = f"the code changed ({', '.join(changed)}), but the version did not"
    fix = "raise version= by 1; if no score can change, say why beside it: # same scores: <reason>"
    yield source.finding("version", message, fix, path, line)


def code_changed(before: bytes, now: bytes) -> bool:
    """Return whether existing code changed; comments, docstrings, citations and additions do not count."""
    try:
        return bool(_statements(before) - _statements(now))
    except (SyntaxError, RecursionError):
        return before != now


def _statements(source: bytes) -> Counter[str]:
    """Return the statements at the top of a file; imports count name by name."""
    statements: Counter[str] = Counter()
    for statement in parse(source).body:
        if isinstance(statement, ast.ImportFrom):
            statements.update(
                f"from {'.' * statement.level}{statement.module} import {alias.name} as {alias.asname}"
                for alias in statement.names
            )
        elif isinstance(statement, ast.Import):
            statements.update(f"import {alias.name} as {alias.asname}" for alias in statement.names)
        elif not _is_description(statement):
            nodes: list[ast.AST] = list(ast.walk(statement))
            for node in nodes:
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    node.body = [ast.Pass() if _is_description(part) else part for part in node.body]
            statements[ast.dump(statement)] += 1
    return statements


def _is_description(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign):
        return all(isinstance(target, ast.Name) and "bibtex" in target.id.lower() for target in statement.targets)
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def versions(files: Mapping[str, bytes]) -> Counter[int]:
    """Count the literal numbers given as ``version=``."""
    numbers: Counter[int] = Counter()
    for content in files.values():
        try:
            tree = parse(content)
        except SyntaxError:
            continue
        for _, number in _version_arguments(tree):
            numbers[number] += 1
    return numbers


def _version_arguments(tree: ast.Module) -> Iterator[tuple[int, int]]:
    names = constants(tree)
    for node in ast.walk(tree):
        for keyword in node.keywords if isinstance(node, ast.Call) else ():
            number = evaluate(keyword.value, names) if keyword.arg == "version" else None
            if isinstance(number, int):
                yield keyword.value.lineno, number


def _reasons(files: Mapping[str, bytes]) -> set[str]:
    return {reason for content in files.values() for reason in _SAME.findall(content.decode("utf-8", "replace"))}


RULES = (check_arguments, check_version)
