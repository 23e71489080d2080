"""Check that a plugin has tests, and that they can fail."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from brainscore_core.plugin_management.registrations import dotted

if TYPE_CHECKING:
    from brainscore_ci.checks.findings import Finding
    from brainscore_ci.checks.plugin import CheckedPlugin, Surroundings

_Function = ast.FunctionDef | ast.AsyncFunctionDef
# Functions of pytest, numpy.testing, unittest, the contract tests and check_models that compare and raise.
_CHECKING = re.compile(
    r"(assert|check|validate|expect|verify|require|compare|ensure)(_\w*|[A-Z]\w*)?|raises|warns|fail|run_test\w*|\w+_test"
)
_STOPPING = frozenset({"pytest.skip", "pytest.xfail", "pytest.exit"})


def check_tests(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Require a ``test.py`` with at least one test that can fail."""
    file = source.files.get("test.py")
    if file is None:
        fix = "add one; nox -s new_plugin writes an example"
        yield source.finding("tests", "there is no test.py", fix, "test.py")
        return
    if file.tree is None:
        return  # the syntax rule reports it
    module = _TestModule(file.tree, source.names_in("test.py"))
    tests = list(module.tests())
    if not tests and not module.inherits_tests():
        message = "holds no test: no function and no method whose name starts with test"
        fix = "add one that loads each identifier and compares a known value"
        yield source.finding("tests", message, fix, "test.py")
    elif not module.inherits_tests() and not any(module.can_fail(test) for test in tests):
        message = f"{_count(len(tests))}, so that a wrong result would pass"
        fix = "assert a known value, such as assert score == pytest.approx(0.42, abs=0.01)"
        yield source.finding("tests", message, fix, "test.py", min(test.lineno for test in tests))
    for name, line in module.repeated():
        message = f"{name} is defined twice, so that only the last one runs"
        fix = "rename one of them"
        yield source.finding("tests", message, fix, "test.py", line, hint=True)


def _count(tests: int) -> str:
    return "the only test compares nothing" if tests == 1 else f"none of the {tests} tests compares anything"


class _TestModule:
    def __init__(self, tree: ast.Module, names: Mapping[str, str]) -> None:
        self.tree = tree
        self.names = names
        self.functions: dict[str, list[_Function]] = {}
        for node in ast.walk(tree):
            if isinstance(node, _Function):
                self.functions.setdefault(node.name, []).append(node)

    def tests(self) -> Iterator[_Function]:
        for scope in self._scopes():
            for statement in _flat(scope.body):
                if isinstance(statement, _Function) and statement.name.startswith("test"):
                    yield statement

    def _scopes(self) -> Iterator[ast.Module | ast.ClassDef]:
        yield self.tree
        yield from self.test_classes()

    def test_classes(self) -> Iterator[ast.ClassDef]:
        for statement in _flat(self.tree.body):
            if isinstance(statement, ast.ClassDef) and (statement.name.startswith("Test") or self._is_case(statement)):
                yield statement

    def _is_case(self, statement: ast.ClassDef) -> bool:
        return any(dotted(base, self.names).endswith("TestCase") for base in statement.bases)

    def inherits_tests(self) -> bool:
        """Return whether a class inherits tests from another module, such as the contract classes."""
        local = {statement.name for statement in self.tree.body if isinstance(statement, ast.ClassDef)}
        return any(
            dotted(base, {}) and dotted(base, {}) not in {*local, "object"} and not self._is_case(statement)
            for statement in self.test_classes()
            for base in statement.bases
        )

    def can_fail(self, test: _Function) -> bool:
        """Return whether a test, or a function of this file that it calls, compares something."""
        if any(self._skips(decorator) for decorator in test.decorator_list):
            return False
        seen: set[str] = set()
        waiting: list[_Function] = [test]
        while waiting:
            function = waiting.pop()
            for node in _reached(function, self._stops):
                if isinstance(node, ast.Assert) and not _is_always_true(node.test):
                    return True
                if isinstance(node, ast.Raise):
                    return True
                if isinstance(node, ast.Call):
                    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                    if name in self.functions and name not in seen:
                        seen.add(name)
                        waiting += self.functions[name]
                    elif name not in self.functions and _CHECKING.fullmatch(name):
                        return True
        return False

    def _skips(self, decorator: ast.expr) -> bool:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        return dotted(called, self.names) in {"pytest.mark.skip", "unittest.skip"}

    def _stops(self, statement: ast.stmt) -> bool:
        if isinstance(statement, ast.Return):
            return True
        value = statement.value if isinstance(statement, ast.Expr) else None
        return isinstance(value, ast.Call) and dotted(value.func, self.names) in _STOPPING

    def repeated(self) -> Iterator[tuple[str, int]]:
        for scope in self._scopes():
            seen: set[str] = set()
            for statement in scope.body:
                if isinstance(statement, _Function | ast.ClassDef) and statement.name.lower().startswith("test"):
                    if statement.name in seen:
                        yield statement.name, statement.lineno
                    seen.add(statement.name)


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, (ast.If, ast.Try, ast.With)):
            yield from _flat(statement.body)


def _reached(function: _Function, stops: object) -> Iterator[ast.AST]:
    """Yield the nodes of a function up to an unconditional end."""
    for statement in function.body:
        if callable(stops) and stops(statement):
            yield from ast.walk(statement)
            return
        yield from ast.walk(statement)


def _is_always_true(test: ast.expr) -> bool:
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.Tuple):
        return bool(test.elts)  # assert (condition, "message") asserts a tuple, which is true
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Eq, ast.Is)):
        return isinstance(test.left, ast.Constant) and ast.dump(test.left) == ast.dump(test.comparators[0])
    return False


RULES = (check_tests,)
