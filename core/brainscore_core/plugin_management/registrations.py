"""Read from source, without running it, which identifiers an import registers, and evaluate literal expressions."""

from __future__ import annotations

import ast
import csv
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

# -- literal values ----------------------------------------------------------------------------------------------------
#
# Evaluate literal expressions and names of literals.


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


# -- registrations -----------------------------------------------------------------------------------------------------
#
# Read from source which statements run and which identifiers are registered on import.


@dataclass(frozen=True)
class Registration:
    """One identifier that a plugin assigns to a registry on a line.

    A conditional one is below ``if``, ``try`` or the like, so an import may not register it.
    """

    registry: str
    identifier: str
    line: int
    conditional: bool = False

    @property
    def is_scheme(self) -> bool:
        """Whether the identifier ends with ``:``, so the plugin takes any name after it."""
        return self.identifier.endswith(":")


@dataclass(frozen=True)
class Computed:
    """One registration, on a line, whose identifier is only known at run time."""

    registry: str
    line: int


_MOST_TURNS = 20_000  # no plugin registers as much; loops within loops end


_Content = tuple[list[Registration], list[Computed], str | None, dict[str, str]]


def read_registrations(files: Iterable[Path]) -> list[_Content]:
    """Return the registrations of each ``__init__.py``, see `find_registrations`, or why it cannot be read.

    The table next to it has the keys of ``registry.update(function(...))`` in its column ``identifier``. Those with a
    ``reason`` why they cannot be loaded come last, unregistered.
    """
    contents: list[_Content] = []
    for file in files:
        try:
            tree = parse(file.read_bytes(), str(file))
            names, reasons = _read_table(file.parent)
            contents.append((*find_registrations(tree, names if names or reasons else None), None, reasons))
        except SyntaxError as error:
            contents.append(([], [], f"{file}:{error.lineno or 1}: {error.msg}", {}))
        except (OSError, RecursionError, ValueError) as error:
            contents.append(([], [], f"{file}:1: {type(error).__name__}: {error}", {}))
    return contents


def table_of(directory: Path) -> Path:
    """Return a plugin's table, which it may lack: ``models.csv`` for one in the folder ``models``."""
    return directory / f"{directory.parent.name}.csv"


def _read_table(directory: Path) -> tuple[list[str], dict[str, str]]:
    """Return the identifiers of a plugin's table, and the reasons of those without a model."""
    names: list[str] = []
    reasons: dict[str, str] = {}
    table = table_of(directory)
    try:
        with table.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                if row.get("reason"):
                    reasons[row["identifier"]] = row["reason"]
                else:
                    names.append(row["identifier"])
    except FileNotFoundError:
        pass
    except (csv.Error, UnicodeDecodeError, KeyError) as error:
        raise ValueError(f"{table} is not a UTF-8 table with a column named identifier ({error!r})") from error
    return names, reasons


def find_registrations(
    tree: ast.Module, table: Sequence[str] | None = None
) -> tuple[list[Registration], list[Computed]]:
    """Return one registration per registry and identifier, and one `Computed` per other line, by line.

    Understood are assignments to ``<name>_registry['identifier']`` and aliases of a registry, ``setdefault``, and
    ``update`` and ``|=`` with a literal dictionary. Keys are literals, constants, or made of variables of loops over
    literal lists. ``update`` with a function's result registers the identifiers of `table`.
    """
    reader = _Reader(tree, table)
    reader.read(tree.body)
    return sorted(reader.found.values(), key=lambda found: found.line), sorted(
        (Computed(registry, line) for registry, line in reader.computed), key=lambda computed: computed.line
    )


@dataclass
class _Reader:
    """Follow statements as the interpreter would, knowing only literals."""

    tree: ast.Module
    table: Sequence[str] | None = None  # identifiers
    found: dict[tuple[str, str], Registration] = field(default_factory=dict)
    computed: set[tuple[str, int]] = field(default_factory=set)
    # Other names of a registry; None if a name that looks like one is the plugin's own.
    aliases: dict[str, str | None] = field(default_factory=dict)
    local: dict[str, object] = field(default_factory=dict)  # assigned by enclosing loops
    loops: int = 0  # enclosing loops
    conditions: int = 0  # enclosing conditions, so the code may not run
    turns: int = _MOST_TURNS  # of loops that may still be followed

    @cached_property
    def _constants(self) -> dict[str, object]:
        return constants(self.tree, self._fixed)

    @cached_property
    def _fixed(self) -> frozenset[str]:
        return names_with_one_meaning(self.tree)

    def _value(self, node: ast.expr) -> object:
        if isinstance(node, ast.Constant):  # nearly always, and needs no look at the rest of the file
            return node.value
        return evaluate(node, {**self._constants, **self.local})

    def read(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            match statement:
                case ast.Assign():
                    for target in statement.targets:
                        self._assign(target, statement.value)
                case ast.AnnAssign(value=ast.expr() as value):
                    self._assign(statement.target, value)
                case ast.AugAssign(op=ast.BitOr()):
                    if registry := self._registry(statement.target):
                        self._record_all(registry, statement.value)
                case ast.Expr(value=ast.Call() as call):
                    self._call(call)
                case ast.ImportFrom():
                    self._import(statement)
                case _:
                    self._read_block(statement)

    # Statements that register something.

    def _record(self, registry: str, key: object, line: int) -> None:
        if not isinstance(key, str):
            self.computed.add((registry, line))
            return
        previous = self.found.get((registry, key))
        if previous is None or (previous.conditional and not self.conditions):
            self.found[registry, key] = Registration(registry, key, line, self.conditions > 0)

    def _record_all(self, registry: str, mapping: ast.expr) -> None:
        if isinstance(mapping, ast.Call) and self.table is not None:
            for identifier in self.table:
                self._record(registry, identifier, mapping.lineno)
            return
        keys = mapping.keys if isinstance(mapping, ast.Dict) else [None]
        for key in keys:
            self._record(registry, UNKNOWN if key is None else self._value(key), mapping.lineno)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        for part in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
            registry = self._registry(part.value) if isinstance(part, ast.Subscript) else None
            if registry and isinstance(part, ast.Subscript):
                self._record(registry, self._value(part.slice), part.lineno)
        if isinstance(target, ast.Name):
            registry = self._registry(value)
            if registry or self._registry(target):
                self.aliases[target.id] = registry
        if self.loops:
            bind(target, self._value(value), self.local, self._fixed)

    def _call(self, call: ast.Call) -> None:
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            if handed_over := self._registry(argument):
                self._record(handed_over, UNKNOWN, call.lineno)
        registry = self._registry(call.func.value) if isinstance(call.func, ast.Attribute) else None
        if registry is None or not isinstance(call.func, ast.Attribute):
            return
        if call.func.attr in {"setdefault", "__setitem__"} and call.args:
            self._record(registry, self._value(call.args[0]), call.lineno)
        elif call.func.attr == "update":
            for argument in call.args:
                self._record_all(registry, argument)
            for keyword in call.keywords:
                self._record(registry, keyword.arg or UNKNOWN, call.lineno)

    def _registry(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name) and node.id in self.aliases:
            return self.aliases[node.id]
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        return name if name.endswith("_registry") else None

    def _import(self, statement: ast.ImportFrom) -> None:
        for name in statement.names:
            bound = name.asname or name.name
            self.aliases.pop(bound, None)
            if name.name.endswith("_registry"):
                self.aliases[bound] = name.name

    # Statements that hold others.

    def _read_block(self, statement: ast.stmt) -> None:
        match statement:
            case ast.If() if never_on_import(statement.test):
                self.read(statement.orelse)
            case ast.If() | ast.While():
                self._perhaps(statement.body, statement.orelse)
            case ast.Try() | ast.TryStar():
                self._perhaps(statement.body, *(one.body for one in statement.handlers), statement.orelse)
                self.read(statement.finalbody)
            case ast.Match():
                self._perhaps(*(case.body for case in statement.cases))
            case ast.With() | ast.ClassDef():
                self.read(statement.body)
            case ast.For():
                self._loop(statement)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(statement)

    def _perhaps(self, *blocks: Iterable[ast.stmt]) -> None:
        self.conditions += 1
        for block in blocks:
            self.read(block)
        self.conditions -= 1

    def _loop(self, statement: ast.For) -> None:
        values = self._value(statement.iter)
        followed = isinstance(values, tuple) and len(values) <= self.turns
        leaves_early = any(isinstance(node, (ast.Break, ast.Continue)) for node in ast.walk(statement))
        perhaps = leaves_early or not followed
        self.loops += 1
        self.conditions += perhaps
        for value in values if followed and isinstance(values, tuple) else (UNKNOWN,):
            self.turns -= 1
            bind(statement.target, value, self.local, self._fixed)
            self.read(statement.body)
        self.conditions -= perhaps
        self.loops -= 1
        self._perhaps(statement.orelse)

    def _function(self, statement: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Record any registration inside as computed: it happens if the function is called."""
        inside = _Reader(self.tree, aliases=dict(self.aliases))
        inside.read(statement.body)
        self.computed.update((registration.registry, registration.line) for registration in inside.found.values())
        self.computed.update(inside.computed)


def parse(content: bytes | str, filename: str = "<source>") -> ast.Module:
    """Return a source's syntax tree without warnings; `SyntaxError` if it is no Python or nested too deeply."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # importing the code shows them
            return ast.parse(content, filename)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(f"{type(error).__name__}: {error}") from error


def run_at_import(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield every node that runs when a module with these statements is imported, in the order of the source.

    Bodies of functions, of ``if __name__ == "__main__"`` and of ``if TYPE_CHECKING`` do not.
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
    """Return whether a condition is ``__name__ == "__main__"`` or ``TYPE_CHECKING``."""
    if isinstance(test, ast.Compare):
        names = [node for node in (test.left, *test.comparators) if isinstance(node, ast.Name)]
        return any(node.id == "__name__" for node in names) and isinstance(test.ops[0], ast.Eq)
    return (isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING") or (
        isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"
    )


def dotted(node: ast.AST, names: Mapping[str, str]) -> str:
    """Return the dotted name of ``a.b.c`` by the imports of a file; ``''`` for other expressions."""
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
