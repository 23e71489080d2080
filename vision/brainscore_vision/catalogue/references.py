"""Read from source the S3 files that a data plugin's registrations name.

It follows methods of a `Bucket`, literals, constants, loops over tables of them, f-strings, and functions that pass
their arguments on.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from brainscore_core.plugin_management.registrations import UNKNOWN, bind, evaluate, names_with_one_meaning
from brainscore_vision.data_helpers.bucket import Bucket, cite_data, cite_plugin

if TYPE_CHECKING:
    from brainscore_core.plugin_management.source import PluginSource

__all__ = ["Reference", "citation", "constant", "find_references"]

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
"""Relevant parameters, in order."""
_FILES = {"load_assembly_from_s3": (("nc", ""),), "load_stimulus_set_from_s3": (("csv", "csv_"), ("zip", "zip_"))}
_OF_BUCKET = {
    "assembly": ("load_assembly_from_s3", inspect.signature(Bucket.assembly)),
    "stimuli": ("load_stimulus_set_from_s3", inspect.signature(Bucket.stimuli)),
}
"""Method of a `Bucket` -> its loader and parameters."""
_CITING = {cite.__name__: cite for cite in (cite_data, cite_plugin)}
_DEEPEST = 10  # functions that call functions, and expressions in expressions

_Values = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A file in S3 as a registration names it."""

    identifier: str  # as packaged; may differ from the registered one
    file_type: str
    bucket: str  # from here on: arguments of `s3.locate`, None if absent or unknown
    version_id: str | None
    sha1: str | None
    filename_prefix: str | None
    stimulus_set: str | None = None  # registered identifier of an assembly's stimuli, if known


def find_references(plugin: PluginSource, registry: str, identifier: str) -> list[Reference]:
    """Return the S3 files that a registration names, as far as known."""
    init = plugin.files.get("__init__.py")
    if init is None or init.tree is None:
        return []
    for node, values in _assignments(init.tree, plugin.constants_in("__init__.py"), names_with_one_meaning(init.tree)):
        if any(_is_key(target, registry, identifier, values) for target in node.targets):
            return list(_Follower(plugin, "__init__.py", values).loaded_by(node.value))
    return []


def _assignments(parent: ast.AST, values: _Values, fixed: frozenset[str]) -> Iterator[tuple[ast.Assign, _Values]]:
    """Yield assignments with the values of names; in a loop over literals, once for each turn."""
    for node in ast.iter_child_nodes(parent):
        turns = evaluate(node.iter, values) if isinstance(node, ast.For) else UNKNOWN
        if isinstance(node, ast.Assign):
            yield node, values
        elif isinstance(node, ast.For) and isinstance(turns, tuple):
            for turn in turns:
                names = dict(values)
                bind(node.target, turn, names, fixed)
                yield from _assignments(node, names, fixed)
        else:
            yield from _assignments(node, values, fixed)


def constant(plugin: PluginSource, *names: str) -> str | None:
    """Return the first string constant with one of these names in a plugin, first of all in ``__init__.py``."""
    others = (path for path in plugin.files if path.endswith(".py") and "/" not in path and path != "test.py")
    for path in sorted(others, key=lambda path: (path != "__init__.py", path)):
        for name in names:
            if isinstance(text := plugin.constants_in(path).get(name), str):
                return text
    return None


def citation(plugin: PluginSource) -> str | None:
    """Return the ``BIBTEX`` of a plugin, which `cite_data` or `cite_plugin` may take from another one."""
    if text := constant(plugin, "BIBTEX"):
        return text
    for path in plugin.files:
        _, value = (path.endswith(".py") and plugin.assigned(path, "BIBTEX")) or ("", None)
        if isinstance(value, ast.Call) and (cite := _CITING.get(_last_name(value.func))):
            texts = [part for argument in value.args if isinstance(part := evaluate(argument, {}), str)]
            return cite(*texts) if texts and len(texts) == len(value.args) else None
    return None


def _is_key(target: ast.expr, registry: str, identifier: str, values: _Values) -> bool:
    return (
        isinstance(target, ast.Subscript)
        and _last_name(target.value) == registry
        and evaluate(target.slice, values) == identifier
    )


def _last_name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


@dataclass(frozen=True)
class _Follower:
    plugin: PluginSource
    file: str
    values: _Values
    depth: int = 0

    def loaded_by(self, node: ast.AST) -> Iterator[Reference]:
        if self.depth > _DEEPEST:
            return
        if isinstance(node, ast.Name):  # a registered function
            yield from self._called(ast.Call(node, [], []))
        elif isinstance(node, ast.Call):
            yield from self._called(node)
        else:
            inside = replace(self, depth=self.depth + 1)
            for child in ast.iter_child_nodes(node):
                if not isinstance(child, (ast.Name, ast.keyword)):
                    yield from inside.loaded_by(child)

    def _called(self, call: ast.Call) -> Iterator[Reference]:
        name = _last_name(call.func)
        if name == "partial" and call.args:
            yield from self._called(ast.Call(call.args[0], call.args[1:], call.keywords))
            return
        if name in _SIGNATURES:
            for reference in _files(name, self._bound(call, _SIGNATURES[name])):
                yield replace(reference, stimulus_set=self._stimulus_set(call))
            return
        path = self._path_of_bucket(call.func.value) if isinstance(call.func, ast.Attribute) else None
        if path is not None and name in _OF_BUCKET:
            yield from self._declared(name, path, call)
            return
        # `clean_up(load(...))` and `load(...).sel(...)` load too; a lambda in an argument does not.
        deeper = replace(self, depth=self.depth + 1)
        for inside in [call.func, *call.args, *(keyword.value for keyword in call.keywords)]:
            if isinstance(inside, (ast.Call, ast.Attribute)):
                yield from deeper.loaded_by(inside)
        file, function = self.plugin.definition(self.file, name) or ("", None)
        if isinstance(function, ast.FunctionDef):
            yield from self._body(file, function, call)

    def _path_of_bucket(self, node: ast.expr) -> str | None:
        file = self.file
        if isinstance(node, ast.Name):
            file, node = self.plugin.assigned(file, node.id) or (file, node)
        if not isinstance(node, ast.Call) or _last_name(node.func) != "Bucket":
            return None
        paths = [keyword.value for keyword in node.keywords if keyword.arg == "path"] or node.args[:1]
        path = evaluate(paths[0], self.plugin.constants_in(file)) if paths else None
        return path if isinstance(path, str) else None

    def _declared(self, method: str, path: str, call: ast.Call) -> Iterator[Reference]:
        loader, signature = _OF_BUCKET[method]
        defaults = {name: parameter.default for name, parameter in signature.parameters.items()}
        arguments = {**defaults, **self._bound(call, ("identifier",)), "bucket": path}
        stimuli = arguments.get("stimuli")
        for reference in _files(loader, arguments):
            yield replace(reference, stimulus_set=stimuli if isinstance(stimuli, str) else None)

    def _body(self, file: str, function: ast.FunctionDef, call: ast.Call) -> Iterator[Reference]:
        outside = self.plugin.constants_in(file)
        arguments = function.args
        defaults = [
            *zip(reversed(arguments.args), reversed(arguments.defaults), strict=False),
            *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        ]
        values = {**outside, **{argument.arg: evaluate(node, outside) for argument, node in defaults}}
        values.update(self._bound(call, [argument.arg for argument in arguments.args]))
        for statement in function.body:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                values[statement.targets[0].id] = evaluate(statement.value, values)
            yield from replace(self, file=file, values=values, depth=self.depth + 1).loaded_by(statement)

    def _stimulus_set(self, call: ast.Call) -> str | None:
        """Read ``stimulus_set_loader=lambda: load_stimulus_set(...)``."""
        loaders = [keyword.value for keyword in call.keywords if keyword.arg == "stimulus_set_loader"]
        inside = loaders[0].body if loaders and isinstance(loaders[0], ast.Lambda) else None
        if isinstance(inside, ast.Call) and _last_name(inside.func) == "load_stimulus_set" and inside.args:
            identifier = evaluate(inside.args[0], self.values)
            return identifier if isinstance(identifier, str) else None
        return None

    def _bound(self, call: ast.Call, parameters: Sequence[str]) -> dict[str, object]:
        nodes = dict(zip(parameters, call.args, strict=False))
        nodes.update({keyword.arg: keyword.value for keyword in call.keywords if keyword.arg})
        return {name: evaluate(node, self.values) for name, node in nodes.items()}


def _files(loader: str, given: _Values) -> Iterator[Reference]:
    texts = {name: value for name, value in given.items() if isinstance(value, str)}
    if "identifier" not in texts or "bucket" not in texts:
        return
    for file_type, prefix in _FILES[loader]:
        yield Reference(
            identifier=texts["identifier"],
            file_type=file_type,
            bucket=texts["bucket"],
            version_id=texts.get(f"{prefix}version_id"),
            sha1=texts.get(f"{prefix}sha1"),
            filename_prefix=texts.get("filename_prefix"),
        )
