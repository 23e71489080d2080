"""Check a plugin's registrations: literal, unique identifiers that equal the object's own, and benchmarks' versions."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from brainscore_ci.planning.areas import is_plugin_folder_name
from brainscore_ci.planning.facts import Reach
from brainscore_core.errors import did_you_mean
from brainscore_core.names import CHARACTERS, folded, why_no_identifier
from brainscore_core.plugin_management.registrations import constants, dotted, evaluate, parse
from brainscore_core.plugin_management.registry import KINDS, kinds_in
from brainscore_core.plugin_management.source import LOADERS, SourceFile

if TYPE_CHECKING:
    from brainscore_ci.checks.findings import CheckedPlugin, Finding, Surroundings

CATEGORIES = (
    "V1", "V2", "V4", "IT", "behavior", "engineering", "neural",
    "average_vision", "neural_vision", "behavior_vision", "engineering_vision",
)  # fmt: skip
"""Regions and groups of the published tree, parents of benchmarks."""

_CONVENTIONS: Mapping[str, tuple[re.Pattern[str], str]] = {
    "benchmark": (
        re.compile(r"[A-Z][\w-]*?\d{4}[\w.+-]*-[\w.+-]+", re.ASCII),
        "<AuthorYear>[public].<region>-<metric>, such as MajajHong2015public.IT-pls",
    ),
    "data": (re.compile(r"[A-Z][\w-]*?\d{4}[\w.+-]*", re.ASCII), "<AuthorYear>[.<part>], such as MajajHong2015.IT"),
    "stimulus_set": (re.compile(r"[A-Z][\w-]*?\d{4}[\w.+-]*", re.ASCII), "<AuthorYear>[.<part>]"),
    "metric": (re.compile(r"[\w.+-]+", re.ASCII), "letters, digits and _ . + -"),
    "model": (re.compile(r"[\w.+:=-]+", re.ASCII), "letters, digits and _ . + - : ="),
}
_OLD_TWINS = frozenset(
    {
        "cornet_s", "resnet50_ewconplus_wzc_seed2_2_", "resnet50_ewconplus_wzc_seed5_2_", "ridge_cv", "vgg16",
        "Zhang2018search_obj_array",
    }
)  # fmt: skip
"""Identifiers that differ from another one only in case and separators, and are older than this rule."""

_AUTHOR_YEAR = re.compile(r"([A-Za-z][\w-]*?\d{4})|([A-Za-z]\w*)", re.ASCII)


def check_init(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Require an ``__init__.py`` with only literal registrations in the registries of its folder."""
    plugin = source.plugin
    kinds = kinds_in(source.folder)
    registries = " or ".join(kind.registry for kind in kinds)
    if "__init__.py" not in source.files:
        fix = f"add one that assigns {registries}['<identifier>'] = ..."
        yield source.finding("registration", "there is no __init__.py", fix, "__init__.py")
        return
    for computed in plugin.computed:
        message = f"the identifier given to {computed.registry} is only known when the plugin runs"
        write = f"write it as {computed.registry}['<identifier>'] = ..., or in a loop over a list that is written out"
        fix = f"{write}; plugins are found without running them"
        yield source.finding("literal-registration", message, fix, "__init__.py", computed.line)
    for registration in plugin.registrations:
        if registration.registry not in {kind.registry for kind in kinds}:
            message = f"{registration.registry} is not read in {source.folder}/"
            fix = f"use {registries}, or move the plugin"
            yield source.finding("registry", message, fix, "__init__.py", registration.line)
        elif registration.conditional:
            message = f"whether {registration.identifier!r} is registered depends on a condition"
            yield source.finding(
                "conditional-registration", message, "register it always", "__init__.py", registration.line, hint=True
            )
    if not (plugin.registrations or plugin.taken or plugin.computed or plugin.unavailable or plugin.problem):
        message = f"registers nothing; expected {registries}['<identifier>'] = ..."
        yield source.finding("registration", message, "add the registration", "__init__.py")


def check_names(source: CheckedPlugin, surroundings: Surroundings) -> Iterator[Finding]:
    """Require unique names that follow the conventions."""
    name = source.plugin.name
    if not is_plugin_folder_name(name):
        message = f"the folder name {name!r} has characters other than letters, digits and _ . -"
        yield source.finding("folder-name", message, "rename the folder")
    elif name != name.lower():
        message = f"the folder name {name!r} has capital letters"
        fix = f"call it {name.lower()!r}"
        yield source.finding("folder-name", message, fix, hint=True)
    for taken in source.plugin.taken:
        message = f"{taken.identifier!r} is already registered by the library, or by plugins named before it"
        fix = "choose another identifier; identifiers are unique"
        yield source.finding("unique-identifier", message, fix, "__init__.py", taken.line)
    by_registry = {kind.registry: kind.name for kind in kinds_in(source.folder)}
    for registration in source.plugin.registrations:
        kind = by_registry.get(registration.registry)
        if kind is None:
            continue
        here = (f"{source.folder}/{source.plugin.name}/", f"{source.plugin.directory}/")
        if why := why_no_identifier(registration.identifier):
            message = f"{registration.identifier!a} {why}"
            fix = f"write it with {CHARACTERS}"
            yield source.finding("identifier-characters", message, fix, "__init__.py", registration.line)
        others = [
            place
            for identifier, places in surroundings.known(kind).items()
            if _are_twins(identifier, registration.identifier)
            for place in places
            if identifier != registration.identifier or not place.startswith(here)
        ]
        if others:
            message = (
                f"{registration.identifier!r} is registered elsewhere too (case and . _ - ignored): {', '.join(others)}"
            )
            fix = "choose another identifier; identifiers are unique"
            yield source.finding("unique-identifier", message, fix, "__init__.py", registration.line)
        pattern, convention = _CONVENTIONS[kind]
        if not registration.is_scheme and not pattern.fullmatch(registration.identifier):
            message = f"{registration.identifier!r} does not follow the convention for a {KINDS[kind].label}"
            fix = f"the convention is {convention}"
            is_hint = source.earlier != {}  # existing names stay
            yield source.finding("identifier-name", message, fix, "__init__.py", registration.line, hint=is_hint)


def _are_twins(one: str, other: str) -> bool:
    """Return whether people take one identifier for the other."""
    return one == other or (folded(one) == folded(other) and _OLD_TWINS.isdisjoint((one, other)))


def check_identifiers(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Require that an object gets the identifier it is registered under, as far as the source shows."""
    file = source.files.get("__init__.py")
    registries = {kind.registry for kind in kinds_in(source.folder)}
    for statement in file.tree.body if file and file.tree else ():
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Subscript):
            continue
        target = statement.targets[0]
        key = evaluate(target.slice, file.constants) if file else None
        if dotted(target.value, {}).rpartition(".")[2] not in registries or not isinstance(key, str):
            continue
        for place, line, identifier in _given_identifiers(source, statement.value):
            if identifier != key:
                # Packaged files keep their given name, as their digests are known.
                is_packaged = source.folder == "data" and (
                    identifier.endswith(f".{key}") or _names_a_digest(statement.value)
                )
                message = f"the object registered as {key!r} has the identifier {identifier!r}"
                fix = f"give it identifier={key!r}; caches and records go by the identifier"
                yield source.finding("identifier-equals-key", message, fix, place, line, hint=is_packaged)


def _names_a_digest(value: ast.expr) -> bool:
    return any(isinstance(node, ast.keyword) and node.arg in ("sha1", "csv_sha1") for node in ast.walk(value))


def _given_identifiers(source: CheckedPlugin, value: ast.expr) -> Iterator[tuple[str, int, str]]:
    """Yield (file, line, text) if the value of a registration passes exactly one literal ``identifier=``."""
    arguments = list(_identifier_arguments("__init__.py", value, source))
    if not arguments:
        called = value.body if isinstance(value, ast.Lambda) else value
        if isinstance(called, ast.Call):
            if called.args or called.keywords:
                return  # its arguments may decide
            called = called.func
        if isinstance(called, ast.Name):
            definition = source.definition("__init__.py", called.id)
            if definition is not None:
                arguments = list(_identifier_arguments(definition[0], definition[1], source))
    if len({identifier for _, _, identifier in arguments}) == 1:
        yield arguments[0]


def _identifier_arguments(path: str, node: ast.AST, source: CheckedPlugin) -> Iterator[tuple[str, int, str]]:
    values = source.files[path].constants
    for call in ast.walk(node):
        if not isinstance(call, ast.Call):
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        # Calls that make the registered object, for instance no wrapper within a model.
        if name == "__init__" or name.endswith(("Benchmark", "Commitment", "_from_s3")) or declares_files(call):
            arguments = [keyword.value for keyword in call.keywords if keyword.arg == "identifier"]
            for argument in arguments or call.args[: declares_files(call)]:
                text = evaluate(argument, values)
                if isinstance(text, str):
                    yield path, argument.lineno, text


def declares_files(node: ast.expr) -> bool:
    """Return whether an expression is ``BUCKET.stimuli(identifier, ...)`` or ``BUCKET.assembly(identifier, ...)``."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("assembly", "stimuli")
        and _names_a_digest(node)
    )


def check_parents(source: CheckedPlugin, surroundings: Surroundings) -> Iterator[Finding]:
    """Require that the parent of a benchmark is a region, a group or a benchmark."""
    if source.folder != "benchmarks":
        return
    parents = [*surroundings.nodes, *surroundings.known("benchmark")]
    for path, file in source.python.items():
        for node in ast.walk(file.tree) if file.tree else ():
            if not isinstance(node, ast.Call):
                continue
            for keyword in node.keywords:
                parent = evaluate(keyword.value, file.constants) if keyword.arg == "parent" else None
                if isinstance(parent, str) and not _is_parent(
                    parent, [*parents, *source.plugin.identifiers(KINDS["benchmark"])]
                ):
                    meant = did_you_mean(parent, [*CATEGORIES, *parents])
                    message = f"the parent {parent!r} does not exist"
                    fix = f"use a benchmark, a common prefix of benchmarks, or one of {', '.join(CATEGORIES)}.{meant}"
                    yield source.finding("parent", message, fix, path, keyword.value.lineno)


def _is_parent(parent: str, identifiers: list[str]) -> bool:
    """Return whether a benchmark may have this parent; ``Geirhos2021-top1`` groups ``Geirhos2021...``."""
    if parent in CATEGORIES or parent in identifiers:
        return True
    match = _AUTHOR_YEAR.match(parent)
    return match is not None and any(identifier.startswith(match[0]) for identifier in identifiers)


def check_loaded(source: CheckedPlugin, surroundings: Surroundings) -> Iterator[Finding]:
    """Require that every literal identifier passed to a loader is registered."""
    for path, file in source.python.items():
        if b"load_" not in (file.content or b""):
            continue
        for line, kind, identifier in _loads(source, path, file):
            registered = surroundings.known(kind)
            scheme = f"{identifier.partition(':')[0]}:"
            known = {*registered, *source.plugin.identifiers(KINDS[kind])}
            is_known = identifier in known or scheme in known
            if is_known or kind in surroundings.computing or not registered:
                continue
            meant = did_you_mean(identifier, registered).strip()
            message = f"no {KINDS[kind].label} is registered as {identifier!r}"
            fix = meant or "correct it, or add the plugin to the same change"
            yield source.finding("unknown-identifier", message, fix, path, line)


def _loads(source: CheckedPlugin, path: str, file: SourceFile) -> Iterator[tuple[int, str, str]]:
    library = source.plugin.root.package.partition(".")[0]
    for node in ast.walk(file.tree) if file.tree else ():
        if not isinstance(node, ast.Call):
            continue
        package, _, function = dotted(node.func, source.names_in(path)).rpartition(".")
        if function not in LOADERS or package.partition(".")[0] != library:
            continue
        values = [keyword.value for keyword in node.keywords if keyword.arg == "identifier"] or node.args[:1]
        identifier = evaluate(values[0], file.constants) if values else None
        if isinstance(identifier, str):
            yield node.lineno, LOADERS[function], identifier


# -- A benchmark states version, citation and ceiling, and its version rises when its code changes ---------------------

_STATED: Mapping[str, str] = {
    "version": "pass version=1, and raise it when scores change: records refer to it",
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
    fix = "raise version= by 1; if no score can change, add a comment with the reason: # same scores: <reason>"
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


RULES = (check_init, check_names, check_identifiers, check_parents, check_loaded, check_arguments, check_version)
