"""Follow users' source code: imported modules, and named or opened files and environment variables.

Installed packages (``site-packages``), Python's own library and this library are not followed.
"""

import ast
import importlib.util
import os
import sys
import types
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

import brainscore_core
from brainscore_core.identity.digest import Stamp, file_digest, stamp_of
from brainscore_core.plugin_management.renamed import name_for

__all__ = [
    "BY_VERSION",
    "LONGEST_PATH",
    "STANDARD",
    "OpenedFiles",
    "Value",
    "counted_files",
    "describe_sources",
    "file_of",
    "function_in",
    "has_hidden_state",
    "is_installed",
    "is_own_function",
    "is_own_module",
    "names_in",
    "note_counted",
    "own_module",
    "qualified_name",
    "replaced_functions",
    "source_digest",
    "version_of",
]

STANDARD = frozenset({"builtins", *sys.stdlib_module_names})
BY_VERSION = frozenset({"PIL", "numpy", "scipy", "torch", *STANDARD})
"""Packages whose code is identified by their version instead of their files."""

_LIBRARY, _PLUGINS = ("brainscore_core", "brainscore_vision"), "brainscore_vision.models."
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_ENVIRONMENT = frozenset({"environ", "environb", "getenv"})
_READ_BY_NAME = frozenset({"get", "pop", "setdefault"})
_LONGEST_NAME = 256
_MOST_FOLDERS = 20

_counted: ContextVar[set[str] | None] = ContextVar("brainscore_counted_files", default=None)


@contextmanager
def counted_files() -> Iterator[set[str]]:
    """Collect absolute paths of files whose content counts in descriptions inside the block."""
    counted: set[str] = set()
    token = _counted.set(counted)
    try:
        yield counted
    finally:
        _counted.reset(token)


def note_counted(path: str | Path) -> None:
    """Note that the content of a file counts; see `counted_files`."""
    counted = _counted.get()
    if counted is not None:
        counted.add(os.path.abspath(path))  # noqa: PTH100 - keeps links: it is compared with the paths that code opens


def is_installed(file: str | Path) -> bool:
    """Tell whether a file belongs to an installed package."""
    return not _INSTALLED.isdisjoint(Path(file).parts)


def is_own_module(name: str, file: str | Path | None) -> bool:
    """Tell whether a module belongs to a user."""
    if name.partition(".")[0] in BY_VERSION or (file is not None and is_installed(file)):
        return False
    return name.startswith(_PLUGINS) or name.partition(".")[0] not in _LIBRARY


def own_module(name: str) -> ModuleType | None:
    """Return an imported module if it belongs to a user and has a file."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    return module if isinstance(file, str) and is_own_module(name, file) else None


def source_digest(file: str | Path) -> str:
    """Return a source file's digest, recomputed only after a write."""
    return _digest(str(file), *_stamp(file))


def describe_sources(names: Iterable[str]) -> list[list[Any]]:  # plain values
    """Describe users' imported modules and those that they import, now or later.

    For each: name, digest of its file, and names and digests of the neighbouring files that it names; also the
    environment variables named, or all if a module computes names.
    """
    files = _follow(names)
    sources = {name: _read(str(file), _package(name, file), *_stamp(file)) for name, file in files.items()}
    described: list[list[Any]] = []
    for name, file in sorted(files.items()):
        note_counted(file)
        named = [[path.name, source_digest(path)] for path in _files_beside(file, sources[name].texts)]
        described.append([name, sources[name].digest, named])
    texts = set().union(*(source.texts for source in sources.values()))
    if any(source.computes_variables for source in sources.values()):
        described.append(["environment", sorted(os.environ.items())])
    elif any(source.reads_environment for source in sources.values()):
        described.append(["environment", [[name, os.environ[name]] for name in sorted(texts) if name in os.environ]])
    return described


# --- one file --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Source:
    digest: str
    imports: frozenset[str]  # modules, and names that may be modules or attributes of one
    texts: frozenset[str]
    reads_environment: bool
    computes_variables: bool


@lru_cache(maxsize=4096)
def _digest(file: str, *stamp: int) -> str:  # noqa: ARG001 - part of the key of lru_cache
    return file_digest(file, "sha256")


def _stamp(file: str | Path) -> Stamp:
    return stamp_of(Path(file).stat())


@lru_cache(maxsize=4096)
def _read(file: str, package: str, *stamp: int) -> _Source:
    digest = _digest(file, *stamp)
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (SyntaxError, ValueError):  # compiled code, or edited since it was imported
        return _Source(digest, frozenset(), frozenset(), reads_environment=False, computes_variables=False)
    nodes = list(ast.walk(tree))
    mentions = sum(_mentions_environment(node) for node in nodes)
    return _Source(
        digest,
        frozenset(name for node in nodes for name in _imported(node, package)),
        frozenset(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)),
        reads_environment=mentions > 0,
        computes_variables=mentions > sum(_reads_one_variable(node) for node in nodes),
    )


def _imported(node: ast.AST, package: str) -> list[str]:
    if isinstance(node, ast.Import):
        return [name_for(package, alias.name) for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
    base = name_for(package, ".".join([*above, *([node.module] if node.module else [])]))
    return [base, *(name_for(package, f"{base}.{alias.name}") for alias in node.names if alias.name != "*")]


def _mentions_environment(node: ast.AST) -> bool:
    if isinstance(node, ast.alias):  # cannot be followed under another name
        return node.name in _ENVIRONMENT and node.asname not in (None, node.name)
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
    return name in _ENVIRONMENT or (isinstance(node, ast.Constant) and node.value in tuple(_ENVIRONMENT))


def _reads_one_variable(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        return _mentions_environment(node.value) and _is_text(node.slice)
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and _mentions_environment(node.comparators[0]) and _is_text(node.left)
    if not isinstance(node, ast.Call) or not node.args or not _is_text(node.args[0]):
        return False
    called = node.func
    of_environment = isinstance(called, ast.Attribute) and called.attr in _READ_BY_NAME
    return _mentions_environment(called.value if of_environment and isinstance(called, ast.Attribute) else called)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))


def _files_beside(file: Path, texts: frozenset[str]) -> list[Path]:
    """Return files that a module may name: in its folder, folders that it names, or packages above."""
    folders = [file.parent]
    while (folders[-1] / "__init__.py").is_file() and len(folders) < _MOST_FOLDERS:
        folders.append(folders[-1].parent)
    paths = {path for folder in folders[: max(1, len(folders) - 1)] for path in _named_in(folder, texts)}
    return sorted(path for path in paths if path.suffix != ".pyc")


def _named_in(folder: Path, texts: frozenset[str]) -> Iterator[Path]:
    waiting, seen = [folder], 0
    while waiting and seen < _MOST_FOLDERS:
        seen += 1
        here = waiting.pop()
        try:
            entries = {entry.name: entry for entry in os.scandir(here)}
        except OSError:
            continue
        for name in sorted(texts & entries.keys()):
            if entries[name].is_file():
                note_counted(here / name)
                yield here / name
            elif entries[name].is_dir():
                waiting.append(here / name)
    for text in texts:
        if "/" in text and len(text) < _LONGEST_NAME and not text.startswith("/") and text.isprintable():
            path = folder / text
            if path.is_file():
                note_counted(path)
                yield path


# --- from file to file -----------------------------------------------------------------------------------------------


def _follow(names: Iterable[str]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    waiting, seen = sorted(names, reverse=True), set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen or not name:
            continue
        seen.add(name)
        waiting.append(name.rpartition(".")[0])  # importing a module runs its packages
        file = _file_of(name)
        if file is None or not is_own_module(name, file):
            continue
        files[name] = file
        waiting += sorted(_read(str(file), _package(name, file), *_stamp(file)).imports - seen, reverse=True)
    return files


def _package(name: str, file: Path) -> str:
    return name if file.name == "__init__.py" else name.rpartition(".")[0]


def _file_of(name: str) -> Path | None:
    top, _, below = name.partition(".")
    if not is_own_module(name, _origin(top) if below else None):
        return None
    file = _origin(name)
    path = Path(file) if file is not None else None
    return path if path is not None and path.suffix == ".py" and path.is_file() else None


def _origin(name: str) -> str | None:
    above = name.rpartition(".")[0]
    if name in sys.modules:
        origin = getattr(sys.modules[name], "__file__", None)
    elif above:
        if above in sys.modules:
            paths = getattr(sys.modules[above], "__path__", None)
        else:
            package = _origin(above)
            paths = [str(Path(package).parent)] if package is not None and Path(package).name == "__init__.py" else []
        spec = PathFinder.find_spec(name, list(paths)) if paths else None
        origin = spec.origin if spec else None
    else:
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            return None
        origin = spec.origin if spec else None
    return origin if isinstance(origin, str) else None


# -- names and code of functions ---------------------------------------------------------------------------------------

Value = Any  # anything that a model may hold

LONGEST_PATH = 1024
"""Texts of this length or longer are not treated as a path or a name."""


class _Plain:
    pass


def file_of(module_name: str) -> str | None:
    """Return an imported module's file; None without one."""
    file = getattr(sys.modules.get(module_name), "__file__", None)
    return file if isinstance(file, str) else None


def is_own_function(function: types.FunctionType) -> bool:
    """Tell whether a function is a user's: of neither an installed package nor this library."""
    name, file = str(function.__globals__.get("__name__")), function.__code__.co_filename
    return is_own_module(name, file_of(name) if file == "<string>" else file)


def names_in(code: types.CodeType) -> set[str]:
    """Return the names that code looks up, and its texts, which it may look up too."""
    texts = {part for part in code.co_consts if isinstance(part, str) and len(part) < LONGEST_PATH}
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return (texts | set(code.co_names)).union(*map(names_in, inner))


def has_hidden_state(cls: type) -> bool:
    """Tell whether instances may hold more than their attributes: in slots, C structures or pickles."""
    if not hasattr(cls, "__dict__") or not cls.__dictoffset__ or cls.__basicsize__ > _Plain.__basicsize__:
        return True
    own = [vars(base) for base in cls.__mro__[:-1]]
    return any(space.get("__slots__") or "__reduce__" in space or "__reduce_ex__" in space for space in own)


def function_in(attribute: Value) -> types.FunctionType | None:
    """Return the function that an attribute of a class is or holds."""
    function = attribute.fget if isinstance(attribute, property) else getattr(attribute, "__func__", attribute)
    return function if isinstance(function, types.FunctionType) else None


def replaced_functions(namespace: Mapping[str, Value], module_name: str) -> list[tuple[str, types.FunctionType]]:
    """Return name and function for a package's functions replaced by foreign code."""
    top = module_name.partition(".")[0]
    functions = [(name, value) for name, value in namespace.items() if isinstance(value, types.FunctionType)]
    homes = [str(value.__globals__.get("__name__", "")).partition(".")[0] for _, value in functions]
    expected = {top, "typing_extensions", *STANDARD}
    return [function for function, home in zip(functions, homes, strict=True) if home not in expected]


def version_of(module_name: str) -> str:
    """Return the version of a module's package; that of Python for its own library."""
    top = module_name.partition(".")[0]
    if top == "builtins" or top in sys.stdlib_module_names:
        return sys.version
    return f"{top} {getattr(sys.modules.get(top), '__version__', '')}"


def qualified_name(code: Value) -> str:
    """Return module and qualified name of a function or class, or of another object's class."""
    named = code if hasattr(code, "__qualname__") else type(code)
    return f"{getattr(named, '__module__', None)}.{named.__qualname__}"


# -- opened files ------------------------------------------------------------------------------------------------------
# Watch which files a model's code opens, to find those missing from the cache key.

_CODE = frozenset({".py", ".pyc", ".pyi", ".so", ".pyd"})  # digested or installed
_SYSTEM = ("/proc", "/sys", "/dev", "/etc", "/usr", "/lib")


@dataclass
class OpenedFiles:
    """The absolute paths of files that a model's code opened through Python.

    A file that was created before it was read is only in `written`.
    """

    read: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)

    @contextmanager
    def noticing(self, besides: Collection[str] = ()) -> Iterator[None]:
        """Watch the files that this thread and task open in the block, except `besides`, such as stimuli."""
        _install()
        token = _noticing.set((self, {*map(os.path.abspath, besides)}))
        try:
            yield
        finally:
            _noticing.reset(token)

    def unknown(self, counted: Collection[str]) -> list[str]:
        """Return the files that were read and are neither in `counted` nor installed."""
        return sorted(path for path in self.read.difference(counted) if not _is_part_of_the_system(path))


_noticing: ContextVar[tuple[OpenedFiles, set[str]] | None] = ContextVar("brainscore_opened_files", default=None)


@lru_cache(maxsize=1)
def _install() -> None:
    sys.addaudithook(_audit)  # Python cannot remove it again


def _audit(
    event: str,
    arguments: tuple[object, ...],
    noticing: ContextVar[tuple[OpenedFiles, set[str]] | None] = _noticing,  # globals are gone when Python ends
) -> None:
    if event != "open":
        return
    watch = noticing.get()
    if watch is not None:
        _note(*watch, *arguments)


def _note(opened: OpenedFiles, besides: Collection[str], path: object, mode: object, flags: object) -> None:
    if not isinstance(path, (str, bytes, os.PathLike)):
        return  # a file descriptor
    name = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - as `besides`
    if isinstance(mode, str):
        replaces, reads = "w" in mode or "x" in mode, "r" in mode or "+" in mode
    else:
        bits = flags if isinstance(flags, int) else os.O_WRONLY
        replaces, reads = bool(bits & (os.O_TRUNC | os.O_EXCL)), not bits & os.O_WRONLY
    if replaces:
        opened.written.add(name)
    elif reads and name not in besides and name not in opened.written:
        opened.read.add(name)


def _is_part_of_the_system(path: str) -> bool:
    if Path(path).suffix in _CODE or is_installed(path) or not os.path.isfile(path):  # noqa: PTH113 - as above
        return True
    places = [*_SYSTEM, sys.prefix, sys.base_prefix, str(Path(brainscore_core.__file__).parent)]
    return any(path.startswith(f"{place}{os.sep}") for place in places)
