"""Check a plugin's folder: files that are small, plain and readable, tests that can fail, fixed requirements."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name
from pyflakes.checker import Checker
from pyflakes.messages import UndefinedName

from brainscore_ci.checks.findings import CheckedPlugin, Finding, Surroundings
from brainscore_ci.planning.areas import is_plugin_folder_name
from brainscore_core.errors import RequirementsError
from brainscore_core.plugin_management.registrations import dotted
from brainscore_core.plugin_management.requirements import (
    RequirementLine,
    expanded_requirements,
    is_module_of_python,
    is_own_distribution,
)
from brainscore_core.plugin_management.source import LARGEST_FILE, SourceFile

if TYPE_CHECKING:
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet


# -- Files: small, plain, text, and parsable Python --------------------------------------------------------------------

_BINARIES = frozenset(
    {
        ".7z", ".bin", ".bz2", ".caffemodel", ".ckpt", ".dll", ".dylib", ".egg", ".exe", ".feather", ".gz", ".h5",
        ".hdf5", ".jar", ".mat", ".msgpack", ".nc", ".npz", ".onnx", ".parquet", ".pb", ".pickle", ".pkl", ".pt",
        ".pth", ".pyc", ".rar", ".safetensors", ".so", ".tar", ".tflite", ".tgz", ".whl", ".xz", ".zip",
    }
)  # fmt: skip
_UPLOAD = "upload it, and load it with load_weight_file, load_assembly_from_s3 or load_stimulus_set_from_s3"


def check_files(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Refuse links, large files, weights, data, and names that break systems or shells."""
    folded: dict[str, str] = {}
    for path, file in source.files.items():
        problem = _problem(file)
        if problem is not None:
            rule, message, fix = problem
            yield source.finding(rule, message, fix, path)
        twin = folded.setdefault(path.casefold(), path)
        if twin != path:
            message = f"its name differs from {twin!r} only in case, which macOS and Windows do not distinguish"
            yield source.finding("file-name", message, "rename one of them", path)
    for folder in sorted({part for path in source.files for part in PurePosixPath(path).parts[:-1]}):
        if not is_plugin_folder_name(folder):
            message = f"the folder {folder!r} has characters other than letters, digits and _ . -"
            yield source.finding("file-name", message, "rename it", hint=folder.isprintable())


def _problem(file: SourceFile) -> tuple[str, str, str] | None:
    if file.form == "symlink":
        return "symlink", "is a symbolic link, which may point anywhere", "replace it with a copy of its target"
    if file.form == "special":
        return "symlink", "is neither a file nor a folder", "remove it"
    path = PurePosixPath(file.path)
    if any(part != part.strip() or not part.isprintable() or part.endswith(".") for part in path.parts):
        return "file-name", f"the name {file.path!r} has characters that not every system supports", "rename it"
    if path.suffix.lower() in _BINARIES:
        message = f"{path.suffix} files are weights, data or archives, which do not belong in git"
        return "binary-file", message, _UPLOAD
    if file.size_bytes > LARGEST_FILE:
        return "file-size", f"has {file.size_bytes / 1e6:.1f} MB; at most 1 MB is accepted", _UPLOAD
    return None


def check_syntax(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Require that every Python file parses, and refuse texts that a reviewer sees otherwise than a program."""
    for path, file in source.files.items():
        if file.hidden:
            line, message = file.hidden
            yield source.finding("hidden-text", message, "write it in UTF-8 without such characters", path, line)
        elif file.problem:
            line, message = file.problem
            fix = "correct it; it must be valid in Python 3.11"
            hint = not (path in _RUN or path in source.imported)
            yield source.finding("syntax", f"cannot be read: {message}", fix, path, line, hint=hint)


_RUN = frozenset({"__init__.py", "benchmark.py", "ceiling.py", "metric.py", "model.py", "test.py"})


def check_setup(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Require requirements in ``requirements.txt``."""
    for name in ("setup.py", "environment.yml", "environment.yaml"):
        if name in source.files:
            message = f"{name} is not used to install anything"
            if name == "setup.py":
                message = "setup.py is never run; only its literal install_requires counts"
            fix = "move its requirements to requirements.txt and remove it"
            yield source.finding("setup", message, fix, name, hint=True)


def check_defined_names(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Require that every name that a file reads is defined, as pyflakes finds (F821 of ruff)."""
    for path, file in source.files.items():
        found = Checker(file.tree, path).messages if file.tree is not None else ()
        undefined = [message for message in found if isinstance(message, UndefinedName)]
        lines: dict[str, int] = {}
        for each in sorted(undefined, key=lambda message: message.lineno):
            lines.setdefault(each.message_args[0], each.lineno)
        for name, line in sorted(lines.items()):
            message = f"the name {name!r} is not defined, so running this line fails"
            yield source.finding("undefined-name", message, "define or import it, or correct it", path, line)


# -- Tests: a plugin has some, and they can fail -----------------------------------------------------------------------

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
        yield source.finding("tests", "test.py is missing", fix, "test.py")
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
        message = f"{_count(len(tests))}, so a wrong result would pass"
        fix = "assert a known value, such as assert score == pytest.approx(0.42, abs=0.01)"
        yield source.finding("tests", message, fix, "test.py", min(test.lineno for test in tests))
    for name, line in module.repeated():
        message = f"{name} is defined twice, so only the last one runs"
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


# -- Requirements, as they would be installed: resolvable and immutable ------------------------------------------------

_Find = Callable[..., Finding]  # makes a finding of a line, see `CheckedPlugin.finding`

_COMMIT = re.compile(r"@[0-9a-f]{7,40}(?:#|$)")
_DIGEST = re.compile(r"[#&]sha(?:256|384|512)=[0-9a-f]{64,}")
_UPPER = frozenset({"<", "<=", "==", "~=", "==="})


def check_requirements(source: CheckedPlugin, surroundings: Surroundings) -> Iterator[Finding]:
    """Require that every installed line names a distribution or a fixed commit."""
    try:
        lines = expanded_requirements(source.plugin.directory, within=True)
    except (RequirementsError, RecursionError) as error:
        yield _unreadable(source, str(error))
        return
    seen: dict[str, RequirementLine] = {}
    for line in lines:
        find = partial(source.finding, "requirements", file=line.file, line=line.number)
        yield from _check_line(find, line, surroundings)
        name = canonicalize_name(line.requirement.name) if line.requirement else None
        if name is not None and (first := seen.setdefault(name, line)) is not line and ";" not in line.text:
            where = f"line {first.number}" if first.file == line.file else f"{first.file}:{first.number}"
            yield find(f"{name} is already listed in {where}", "keep one of them", hint=True)


def _unreadable(source: CheckedPlugin, said: str) -> Finding:
    place = re.match(r"(?P<file>.+?):(?P<line>\d+): ", said)
    file = Path(place["file"]) if place else source.plugin.directory / "requirements.txt"
    name = file.relative_to(source.plugin.directory).as_posix()
    message = said.removeprefix(place[0] if place else "").rstrip(".")
    fix = "write each requirement on one line of requirements.txt, as pip reads it"
    return source.finding("requirements", message, fix, name, int(place["line"]) if place else 1)


def _check_line(find: _Find, line: RequirementLine, surroundings: Surroundings) -> Iterator[Finding]:
    text, *options = re.split(r"\s+(?=--)", line.text)
    if text.startswith("-"):
        yield from _check_option(find, line.text)
        return
    for option in options:
        if not option.startswith("--hash"):
            yield find(f"{option.split()[0]!r} changes how packages are built or found", "remove it")
    if re.fullmatch(r"\.(\[.*\])?/?", text):
        yield find("names the plugin folder itself", "remove the line: the plugin is available anyway", hint=True)
    elif re.match(r"[a-z+]+://", text):
        yield from _check_url(find, text)
    elif line.requirement is not None:
        yield from _check_named(find, line.requirement, surroundings)
    elif "://" in text or text.startswith(("./", "../", "/", "git@")):
        yield from _check_url(find, text)
    else:
        fix = "write it as pip reads it, such as timm>=1.0"
        yield find(f"{text!r} is not a requirement", fix)


def _check_option(find: _Find, text: str) -> Iterator[Finding]:
    editable = re.fullmatch(r"(?:-e|--editable)[ =]?\s*(.+)", text)
    if editable and re.fullmatch(r"\.(\[.*\])?/?", editable[1]):
        yield find("names the plugin folder itself", "remove the line: the plugin is available anyway", hint=True)
    elif editable:
        yield from _check_url(find, editable[1])
    elif re.match(r"-c|--constraint", text):
        yield find("refers to a file of constraints, which is not checked", "write each limit after the name: timm<2")
    elif re.split("[= ]", text)[0] not in {"--no-binary", "--only-binary", "--prefer-binary", "--pre"}:
        yield find(f"{text.split()[0]!r} changes where packages come from", "remove it; name packages of PyPI")


def _check_url(find: _Find, text: str) -> Iterator[Finding]:
    if text.startswith("git@") or re.match(r"(git\+)?(ssh|file|http|git)://", text):
        yield find(f"{text!r} is not fetched over https", "use git+https://...@<40 digits of the commit>")
    elif text.startswith("git+https://"):
        if not _COMMIT.search(text):
            yield find(
                f"{text!r} may change with every push to that repository",
                "pin the commit: git+https://...@<40 hexadecimal digits>",
            )
    elif text.startswith("https://"):
        if not _DIGEST.search(text):
            fix = "name a release on PyPI, or append #sha256=<digest>"
            yield find(f"{text!r} may change unnoticed", fix)
    else:
        yield find(f"{text!r} is not a package that everyone can install", "name a release on PyPI")


def _check_named(find: _Find, requirement: Requirement, surroundings: Surroundings) -> Iterator[Finding]:
    name = canonicalize_name(requirement.name)
    if is_own_distribution(name):
        yield find(f"{requirement.name} is already available to every plugin", "remove the line", hint=True)
    elif is_module_of_python(name):
        yield find(
            f"{requirement.name} is a module of Python; a distribution of that name would be a different one",
            "remove the line",
        )
    elif requirement.url is not None:
        yield from _check_url(find, requirement.url)
    elif name in surroundings.dependencies:
        yield from _check_bound(find, requirement, surroundings.dependencies[name])


def _check_bound(find: _Find, requirement: Requirement, wanted: SpecifierSet) -> Iterator[Finding]:
    upper = [one for one in requirement.specifier if one.operator in _UPPER]
    if not upper:
        return
    lowest = [one.version for one in wanted if one.operator in {">=", "=="}]
    too_old = bool(lowest) and all(not requirement.specifier.contains(version, prereleases=True) for version in lowest)
    bounds = ",".join(map(str, upper))
    message = f"{requirement.name}{bounds} conflicts with a requirement of the library ({requirement.name}{wanted})"
    if too_old and upper[0].operator in {"<", "<="}:
        message += "; without a box, no version satisfies both"
    yield find(message, "drop the upper bound, and adapt the plugin to the current release", hint=True)


RULES = (
    check_files,
    check_syntax,
    check_setup,
    check_defined_names,
    check_tests,
    check_requirements,
)
