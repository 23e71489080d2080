"""Read from the source of a data plugin which files in S3 its registrations name; the plugin does not run.

Followed are literals, constants, f-strings, and functions of the plugin that pass their arguments on, which is how
registrations are written. What is computed in any other way stays unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Reference", "constant", "find_references"]

_SIGNATURES = {
    "load_assembly_from_s3": ("identifier", "version_id", "sha1", "bucket"),
    "load_stimulus_set_from_s3": (
        "identifier",
        "bucket",
        "csv_sha1",
        "zip_sha1",
        "csv_version_id",
        "zip_version_id",
        "filename_prefix",
    ),
}
"""The parameters that matter, in their order; None of them is the identifier of another artefact."""
_FILES = {"load_assembly_from_s3": (("nc", ""),), "load_stimulus_set_from_s3": (("csv", "csv_"), ("zip", "zip_"))}
_DEEPEST = 5
_Scope = Mapping[str, str | None]


@dataclass(frozen=True, kw_only=True)
class Reference:
    """One file in S3, as a registration names it.

    Attributes
    ----------
    identifier : str
        That the file was packaged under; not always the one that is registered.
    file_type : {'csv', 'zip', 'nc'}
        Ending of the file.
    bucket, version_id, sha1, filename_prefix : str, optional
        Arguments for `s3.locate`; None if they are not given or not known.
    """

    identifier: str
    file_type: str
    bucket: str
    version_id: str | None
    sha1: str | None
    filename_prefix: str | None


def find_references(directory: Path, registry: str, identifier: str) -> list[Reference]:
    """Return the files in S3 that a registration names; empty if there are none or they cannot be known.

    Parameters
    ----------
    directory : Path
        Folder of the plugin.
    registry : {'data_registry', 'stimulus_set_registry'}
        What is registered.
    identifier : str
        Under which key.
    """
    source = _Sources(directory)
    for node in ast.walk(source.module("__init__").tree):
        if isinstance(node, ast.Assign) and any(_is_key(target, registry, identifier) for target in node.targets):
            return list(source.references(node.value, "__init__", {}))
    return []


def constant(directory: Path, *names: str) -> str | None:
    """Return the first text constant of one of these names in a plugin; its ``__init__.py`` counts first."""
    source = _Sources(directory)
    others = sorted(path.stem for path in directory.glob("*.py") if path.stem not in {"__init__", "test"})
    for module in ["__init__", *others]:
        for name in names:
            if (text := source.value(ast.Name(name), module, {})) is not None:
                return text
    return None


def _is_key(target: ast.expr, registry: str, identifier: str) -> bool:
    return (
        isinstance(target, ast.Subscript)
        and _last_name(target.value) == registry
        and isinstance(target.slice, ast.Constant)
        and target.slice.value == identifier
    )


def _last_name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


class _Module:
    """The names that a file gives a meaning to."""

    def __init__(self, path: Path) -> None:
        try:
            self.tree = ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError):
            self.tree = ast.Module([], [])  # the plugin index reports plugins that cannot be read
        self.values: dict[str, ast.expr] = {}
        self.functions: dict[str, ast.FunctionDef] = {}
        self.imports: dict[str, tuple[str, str]] = {}
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.values[node.targets[0].id] = node.value
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
                self.values[node.target.id] = node.value
            elif isinstance(node, ast.FunctionDef):
                self.functions[node.name] = node
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    self.imports[alias.asname or alias.name] = (node.module.rpartition(".")[2], alias.name)


class _Sources:
    """The files of one plugin."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._modules: dict[str, _Module] = {}

    def module(self, name: str) -> _Module:
        if name not in self._modules:
            self._modules[name] = _Module(self._directory / f"{name}.py")
        return self._modules[name]

    def value(self, node: ast.expr | None, module: str, scope: _Scope, depth: int = 0) -> str | None:
        """Return the text that an expression stands for, None if it is none or unknown."""
        if depth > _DEEPEST:
            return None
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.JoinedStr):
            parts = [self.value(part, module, scope, depth + 1) for part in node.values]
            known = [part for part in parts if part is not None]
            return "".join(known) if len(known) == len(parts) else None
        if isinstance(node, ast.FormattedValue):
            plain = node.conversion == -1 and node.format_spec is None
            return self.value(node.value, module, scope, depth + 1) if plain else None
        if isinstance(node, ast.Name):
            if node.id in scope:
                return scope[node.id]
            found = self.module(module)
            if node.id in found.values:
                return self.value(found.values[node.id], module, {}, depth + 1)
            if node.id in found.imports:
                other, name = found.imports[node.id]
                return self.value(ast.Name(name), other, {}, depth + 1)
        return None

    def references(self, node: ast.AST, module: str, scope: _Scope, depth: int = 0) -> Iterator[Reference]:
        """Yield the files that an expression or a function body loads."""
        if depth > _DEEPEST:
            return
        if isinstance(node, ast.Name):  # a function that is registered as it is
            yield from self._called(ast.Call(node, [], []), module, scope, depth)
        elif isinstance(node, ast.Call):
            yield from self._called(node, module, scope, depth)
        else:
            for child in ast.iter_child_nodes(node):
                if not isinstance(child, (ast.Name, ast.keyword)):
                    yield from self.references(child, module, scope, depth)

    def _called(self, call: ast.Call, module: str, scope: _Scope, depth: int) -> Iterator[Reference]:
        name = _last_name(call.func)
        if name == "partial" and call.args:
            yield from self._called(ast.Call(call.args[0], call.args[1:], call.keywords), module, scope, depth)
            return
        if name in _SIGNATURES:
            yield from _files(name, self._bound(call, _SIGNATURES[name], module, scope))
            return
        # `clean_up(load(...))` and `load(...).sel(...)` load too; a lambda in an argument is about another artefact.
        for inside in [call.func, *call.args, *(keyword.value for keyword in call.keywords)]:
            if isinstance(inside, (ast.Call, ast.Attribute)):
                yield from self.references(inside, module, scope, depth + 1)
        found, where = self._function(name, module)
        if found is None:
            return
        inner = self._bound(call, [argument.arg for argument in found.args.args], module, scope)
        inner = {**self._defaults(found, where), **inner}
        for statement in found.body:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                inner[statement.targets[0].id] = self.value(statement.value, where, inner)
            yield from self.references(statement, where, inner, depth + 1)

    def _function(self, name: str, module: str) -> tuple[ast.FunctionDef | None, str]:
        found = self.module(module)
        if name in found.imports:
            module, name = found.imports[name]
        return self.module(module).functions.get(name), module

    def _bound(
        self, call: ast.Call, parameters: tuple[str, ...] | list[str], module: str, scope: _Scope
    ) -> dict[str, str | None]:
        positional = dict(zip(parameters, call.args, strict=False))
        named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        return {name: self.value(node, module, scope) for name, node in {**positional, **named}.items()}

    def _defaults(self, function: ast.FunctionDef, module: str) -> dict[str, str | None]:
        arguments = function.args
        positional = arguments.args[len(arguments.args) - len(arguments.defaults) :]
        pairs = [*zip(positional, arguments.defaults, strict=True)]
        keyword_only = [*zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
        return {argument.arg: self.value(node, module, {}) for argument, node in [*pairs, *keyword_only]}


def _files(loader: str, given: Mapping[str, str | None]) -> Iterator[Reference]:
    identifier, bucket = given.get("identifier"), given.get("bucket")
    if identifier is None or bucket is None:
        return
    for file_type, prefix in _FILES[loader]:
        yield Reference(
            identifier=identifier,
            file_type=file_type,
            bucket=bucket,
            version_id=given.get(f"{prefix}version_id"),
            sha1=given.get(f"{prefix}sha1"),
            filename_prefix=given.get("filename_prefix"),
        )
