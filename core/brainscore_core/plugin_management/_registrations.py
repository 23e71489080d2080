"""Read from the source of a plugin's `__init__.py` what importing it would register."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from brainscore_core.plugin_management._literals import UNKNOWN, bind, elements, evaluate

__all__ = ["Computed", "Registration", "find_registrations"]


@dataclass(frozen=True)
class Registration:
    """One identifier that a plugin assigns to a registry.

    Attributes
    ----------
    registry : str
        Name of the dictionary, such as ``'model_registry'``.
    identifier : str
        The key.
    line : int
        Where it stands, counted from 1.
    conditional : bool
        It stands below ``if``, ``try`` or the like, so that importing the plugin may not register it.
    """

    registry: str
    identifier: str
    line: int
    conditional: bool = False


@dataclass(frozen=True)
class Computed:
    """One registration whose identifier is only known when the plugin runs.

    Attributes
    ----------
    registry : str
        Name of the dictionary.
    line : int
        Where it stands, counted from 1.
    """

    registry: str
    line: int


_MOST_TURNS = 20_000  # no plugin registers as much; loops within loops end


def find_registrations(source: bytes, filename: str = "<plugin>") -> tuple[list[Registration], list[Computed]]:
    """Return what importing a source would register, in the order of the lines.

    Understood are assignments to ``<name>_registry['identifier']`` with literal keys, literal f-strings and the like,
    also in loops over literals; ``update``, ``setdefault`` and ``|=`` of a registry; and other names for a registry.
    Comments, texts, the bodies of ``if __name__ == '__main__'`` and ``if TYPE_CHECKING`` do not count.

    Parameters
    ----------
    source : bytes
        Python source in any encoding that it declares.
    filename : str
        For the messages of errors.

    Returns
    -------
    registrations : list of Registration
        One for each registry and identifier.
    computed : list of Computed
        One for each line whose identifier is not literal.

    Raises
    ------
    SyntaxError
        If the source is no Python. `ValueError` and `RecursionError` likewise.
    """
    if b"registry" not in source:
        compile(source, filename, "exec", ast.PyCF_ONLY_AST)  # for its errors
        return [], []
    reader = _Reader()
    reader.read(ast.parse(source, filename).body)
    return sorted(reader.found.values(), key=lambda found: found.line), sorted(
        (Computed(registry, line) for registry, line in reader.computed), key=lambda computed: computed.line
    )


@dataclass
class _Reader:
    """Walks through statements as the interpreter would, knowing only literals."""

    found: dict[tuple[str, str], Registration] = field(default_factory=dict)
    computed: set[tuple[str, int]] = field(default_factory=set)
    names: dict[str, Any] = field(default_factory=dict)
    # Other names that stand for a registry; None where a name that looks like one is something of the plugin's own.
    aliases: dict[str, str | None] = field(default_factory=dict)
    depth: int = 0  # of statements that may not run
    turns: int = _MOST_TURNS  # of loops that may still be followed

    def read(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            reader = getattr(self, f"_read_{type(statement).__name__.lower()}", None)
            if reader is not None:
                reader(statement)

    def _perhaps(self, *blocks: Iterable[ast.stmt]) -> None:
        """Read blocks of which any may not run; what they assign is unknown afterwards."""
        before = dict(self.names)
        self.depth += 1
        for block in blocks:
            self.names = dict(before)
            block = list(block)
            self.read(block)
            for name in _assigned(block):
                before[name] = UNKNOWN
        self.depth -= 1
        self.names = before

    def _record(self, registry: str, key: Any, line: int) -> None:
        if not isinstance(key, str):
            self.computed.add((registry, line))
            return
        previous = self.found.get((registry, key))
        if previous is None or (previous.conditional and not self.depth):
            self.found[registry, key] = Registration(registry, key, line, self.depth > 0)

    # Statements that assign.

    def _read_assign(self, statement: ast.Assign) -> None:
        for target in statement.targets:
            self._assign(target, statement.value)

    def _read_annassign(self, statement: ast.AnnAssign) -> None:
        if statement.value is not None:
            self._assign(statement.target, statement.value)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        for part in _flat(target):
            if isinstance(part, ast.Subscript):
                registry = self._registry(part.value)
                if registry:
                    self._record(registry, evaluate(part.slice, self.names), part.lineno)
                self._forget(part.value)
        if isinstance(target, ast.Name):
            registry = self._registry(value)
            if registry or self._registry(target):
                self.aliases[target.id] = registry
        bind(target, evaluate(value, self.names), self.names)

    def _read_augassign(self, statement: ast.AugAssign) -> None:
        registry = self._registry(statement.target)
        if registry and isinstance(statement.op, ast.BitOr):
            self._record_all(registry, statement.value, statement.lineno)
        operation = ast.BinOp(left=_loaded(statement.target), op=statement.op, right=statement.value)
        bind(statement.target, evaluate(operation, self.names), self.names)

    def _read_expr(self, statement: ast.Expr) -> None:
        call = statement.value
        if not isinstance(call, ast.Call):
            return
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            handed_over = self._registry(argument)
            if handed_over:
                self._record(handed_over, UNKNOWN, call.lineno)
        if isinstance(call.func, ast.Attribute):
            registry = self._registry(call.func.value)
            if registry:
                self._call(registry, call.func.attr, call)
            else:
                self._forget(call.func.value)

    def _read_delete(self, statement: ast.Delete) -> None:
        for target in statement.targets:
            self._forget(target.value if isinstance(target, (ast.Subscript, ast.Attribute)) else target)

    def _forget(self, node: ast.expr) -> None:
        """Take the value of a variable as unknown, because something may have changed it in place."""
        if isinstance(node, ast.Name):
            self.names[node.id] = UNKNOWN

    def _call(self, registry: str, method: str, call: ast.Call) -> None:
        if method in ("setdefault", "__setitem__") and call.args:
            self._record(registry, evaluate(call.args[0], self.names), call.lineno)
        elif method == "update":
            for argument in call.args:
                self._record_all(registry, argument, call.lineno)
            for keyword in call.keywords:
                self._record(registry, keyword.arg or UNKNOWN, call.lineno)

    def _record_all(self, registry: str, mapping: ast.expr, line: int) -> None:
        value = evaluate(mapping, self.names)
        if not isinstance(value, dict):
            self._record(registry, UNKNOWN, line)
            return
        for key in value:
            self._record(registry, key, line)

    def _registry(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            if node.id in self.aliases:
                return self.aliases[node.id]
            return node.id if node.id.endswith("_registry") else None
        if isinstance(node, ast.Attribute) and node.attr.endswith("_registry"):
            return node.attr
        return None

    def _read_importfrom(self, statement: ast.ImportFrom) -> None:
        for name in statement.names:
            bound = name.asname or name.name
            self.names[bound] = UNKNOWN
            self.aliases.pop(bound, None)
            if name.name.endswith("_registry"):
                self.aliases[bound] = name.name

    def _read_import(self, statement: ast.Import) -> None:
        for name in statement.names:
            self.names[name.asname or name.name.partition(".")[0]] = UNKNOWN

    # Statements that hold others.

    def _read_if(self, statement: ast.If) -> None:
        if _never_on_import(statement.test):
            self.read(statement.orelse)
        else:
            self._perhaps(statement.body, statement.orelse)

    def _read_try(self, statement: ast.Try) -> None:
        self._perhaps(statement.body, *(handler.body for handler in statement.handlers), statement.orelse)
        self.read(statement.finalbody)

    _read_trystar = _read_try

    def _read_with(self, statement: ast.With) -> None:
        for item in statement.items:
            if item.optional_vars is not None:
                bind(item.optional_vars, UNKNOWN, self.names)
        self.read(statement.body)

    def _read_for(self, statement: ast.For) -> None:
        values = elements(evaluate(statement.iter, self.names))
        self.turns -= len(values or ())
        if values is None or self.turns < 0:
            for name in _assigned([statement]):
                self.names[name] = UNKNOWN
            self._perhaps(statement.body)
        else:
            leaves_early = any(isinstance(node, (ast.Break, ast.Continue)) for node in ast.walk(statement))
            self.depth += leaves_early
            for value in values:
                bind(statement.target, value, self.names)
                self.read(statement.body)
            self.depth -= leaves_early
        self._perhaps(statement.orelse)

    def _read_while(self, statement: ast.While) -> None:
        for name in _assigned(statement.body):
            self.names[name] = UNKNOWN
        self._perhaps(statement.body, statement.orelse)

    def _read_match(self, statement: ast.Match) -> None:
        for name in _assigned([statement]):
            self.names[name] = UNKNOWN
        self._perhaps(*(case.body for case in statement.cases))

    def _read_classdef(self, statement: ast.ClassDef) -> None:
        outside = dict(self.names)
        self.read(statement.body)
        self.names = {**outside, statement.name: UNKNOWN}

    def _read_functiondef(self, statement: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Take any registration inside as computed: it happens if and when the function is called."""
        inside = _Reader(aliases=dict(self.aliases))
        inside.read(statement.body)
        self.computed.update((found.registry, found.line) for found in inside.found.values())
        self.computed.update(inside.computed)
        self.names[statement.name] = UNKNOWN

    _read_asyncfunctiondef = _read_functiondef


def _flat(target: ast.expr) -> Iterable[ast.expr]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            yield from _flat(part)
    else:
        yield target


def _loaded(target: ast.expr) -> ast.expr:
    return ast.Name(id=target.id, ctx=ast.Load()) if isinstance(target, ast.Name) else target


def _assigned(statements: Iterable[ast.stmt]) -> set[str]:
    return {
        node.id
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del))
    }


def _never_on_import(test: ast.expr) -> bool:
    if isinstance(test, ast.Compare):
        names = [node for node in (test.left, *test.comparators) if isinstance(node, ast.Name)]
        return any(node.id == "__name__" for node in names) and isinstance(test.ops[0], ast.Eq)
    if isinstance(test, ast.Attribute):
        return test.attr == "TYPE_CHECKING"
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"
