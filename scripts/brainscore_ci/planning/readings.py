"""Read what the files of all plugins say, and only those again that have changed.

What is read is kept in one file of the cache for each folder of plugins. A plugin whose files have the stamps (size,
time of change) that they had is not opened again, so that planning among a thousand plugins takes a fraction of a
second.
"""

from __future__ import annotations

import gc
import hashlib
import json
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brainscore_ci.planning.areas import PluginName, is_plugin_folder_name
from brainscore_ci.planning.sources import Import, Load, SourceFacts, read_source, read_texts
from brainscore_core.caching import atomic_path
from brainscore_core.config import settings
from brainscore_core.plugin_management.registry import KINDS

if TYPE_CHECKING:
    from brainscore_core.plugin_management.index import PluginIndex, PluginRoot

__all__ = ["Reading", "Tree", "collector_paused", "read_tree"]

_FORMAT = 1  # of the file in the cache; raise it whenever what is read from a file changes
# A file changed so shortly before it was read may change again without a new stamp; it is read anew next time.
_SETTLED_AFTER_NS = 2_000_000_000
_KEPT_IN = "plugin-readings"
_METADATA = ("metadata.yml", "metadata.yaml")
_logger = logging.getLogger(__name__)

# Only files that hold one of these load or import a plugin. Looking for bytes is a hundred times faster than parsing,
# and an expression that starts with fixed bytes ten times faster than one with alternatives at its start.
_LOADS = re.compile(rb"load_(?:dataset|stimulus_set|metric|ceiling|benchmark|model)\b")
_NAMES_PLUGINS = re.compile(rb"brainscore_\w+\.(?:data|metrics|benchmarks|models)\b")
_LEAVES_FOLDER = re.compile(rb"from\s+\.\.")
_PRIVATE = re.compile(rb"\bprivate_access\b")
_PLANNED_WITH = re.compile(rb"^(access|minutes|memory_gb)\s*:", re.MULTILINE)
# Helpers that people run by hand; no test and no score passes through them.
_RUN_BY_HAND = "check_submission"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What the files of one folder say.

    Attributes
    ----------
    files : mapping of str to SourceFacts
        Path inside the folder -> what that file says. Files that say nothing are left out.
    has_tests : bool
        Whether there is a ``test*.py``.
    private_tests : int
        How many of its tests need private data.
    access : str or None
        'public' or 'private', where ``metadata.yml`` says so.
    minutes, memory_gb : float or None
        Costs, where ``metadata.yml`` tells them.
    """

    files: Mapping[str, SourceFacts] = field(default_factory=dict)
    has_tests: bool = False
    private_tests: int = 0
    access: str | None = None
    minutes: float | None = None
    memory_gb: float | None = None


@dataclass(frozen=True, kw_only=True)
class Tree:
    """What all plugins of an index say.

    Attributes
    ----------
    plugins : mapping of PluginName to Reading
        But for folders whose name is not allowed.
    helpers : mapping of str to SourceFacts
        Dotted name of a module of the library -> what it says, of those that load something themselves or through
        others.
    packages : tuple of str
        Names of the libraries, such as ``'mylibrary'``.
    """

    plugins: Mapping[PluginName, Reading]
    helpers: Mapping[str, SourceFacts]
    packages: tuple[str, ...]


def read_tree(index: PluginIndex) -> Tree:
    """Read all plugins of an index, and the helpers of the libraries beside them."""
    libraries = {root.path.parent: root.package.rpartition(".")[0] for root in index.roots}
    helpers: dict[str, SourceFacts] = {}
    for library, package in libraries.items():
        helpers |= _read_helpers(library, package)
    plugins: dict[PluginName, Reading] = {}
    for root in index.roots:
        for name, reading in _read_root(index, root, tuple(helpers)).items():
            plugins[PluginName(root.folder, name)] = reading
    packages = tuple(dict.fromkeys(libraries.values()))
    return Tree(plugins=dict(sorted(plugins.items())), helpers=helpers, packages=packages)


def _read_root(index: PluginIndex, root: PluginRoot, helpers: tuple[str, ...]) -> dict[str, Reading]:
    names = [plugin.name for plugin in index.plugins(root.folder) if plugin.root == root]
    reader = _PluginReader(root.package.rpartition(".")[0], root.package, helpers)
    kept = _Folder(root.path, {"reader": "plugin", "package": root.package, "helpers": list(helpers)})
    return kept.readings([name for name in names if is_plugin_folder_name(name)], reader.read)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep Python from looking for circular garbage, which doubles the time that parsing a thousand files takes."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


# -- what is read ------------------------------------------------------------------------------------------------------


class _PluginReader:
    """Reads the folder of a plugin.

    Parameters
    ----------
    library : str
        Such as ``'mylibrary'``.
    package : str
        Such as ``'mylibrary.models'``.
    helpers : tuple of str
        Modules of the library that load something.
    """

    def __init__(self, library: str, package: str, helpers: tuple[str, ...]) -> None:
        self.package = package
        self.folders = tuple(f"{library}.{kind.folder}." for kind in KINDS.values())
        self.helpers = frozenset(helpers)
        self.tails = tuple(helper.partition(".")[2] for helper in helpers)
        self.named = _named(helpers)

    def read(self, directory: Path, files: Sequence[str]) -> Reading:
        sources = dict(_contents(directory, [file for file in files if file.endswith(".py")]))
        telling = {
            path: read_source(source, f"{directory}/{path}") for path, source in sources.items() if self._tells(source)
        }
        if self._is_vague(directory.name, telling):  # any of its texts may then be an identifier
            telling = {path: telling.get(path) or read_texts(source) for path, source in sources.items()}
        tests = [source for path, source in sources.items() if re.fullmatch(r"test[^/]*\.py", path)]
        metadata = _planned_with(dict(_contents(directory, [file for file in _METADATA if file in files])))
        access = metadata.get("access")
        return Reading(
            files=telling,
            has_tests=bool(tests),
            private_tests=sum(len(_PRIVATE.findall(source)) for source in tests),
            access=access if access in {"public", "private"} else None,
            minutes=_positive(metadata.get("minutes")),
            memory_gb=_positive(metadata.get("memory_gb")),
        )

    def _tells(self, source: bytes) -> bool:
        # Looking for fixed bytes is ten times faster again.
        return bool(
            (b"load_" in source and _LOADS.search(source))
            or (b"brainscore_" in source and _NAMES_PLUGINS.search(source))
            or (b".." in source and _LEAVES_FOLDER.search(source))
            or (b"_helpers" in source and self.named.search(source))
        )

    def _is_vague(self, name: str, files: Mapping[str, SourceFacts]) -> bool:
        """Tell whether identifiers that a plugin loads may stand in any of its files."""
        return any(
            any(load.says_nothing for load in facts.loads)
            or any(self._may_load(name, file, found) for found in facts.imports)
            for file, facts in files.items()
        )

    def _may_load(self, name: str, file: str, found: Import) -> bool:
        """Tell whether an import is of another plugin or of a helper, which may load what it is told."""
        if found.level > file.count("/") + 1:  # leaves the folder
            return True
        if found.module in self.helpers or (found.level and found.module.endswith(self.tails)):
            return True
        return found.module.startswith(self.folders) and not f"{found.module}.".startswith(f"{self.package}.{name}.")


def _planned_with(files: Mapping[str, bytes]) -> Mapping[str, Any]:
    """Return what metadata say about planning; empty if they cannot be read."""
    for text in files.values():
        if not _PLANNED_WITH.search(text):  # parsing the metadata of every plugin would take seconds
            continue
        from brainscore_ci.planning.metadata import read_values  # few plugins have such metadata

        return read_values(text)
    return {}


def _positive(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e9:
        return None
    return float(value)


def _read_helpers(library: Path, package: str) -> dict[str, SourceFacts]:
    """Return the helpers that load something, and those that import one that does."""
    names = sorted(folder.name for folder in library.glob("*_helpers"))
    readings = _Folder(library, {"reader": "helper"}).readings(names, _read_helper)
    kept = {
        _helper_module(package, name, path): facts
        for name, reading in readings.items()
        for path, facts in reading.files.items()
        if facts.loads and _RUN_BY_HAND not in f"{name}/{path}"
    }
    if not kept:
        return {}
    sources = {
        _helper_module(package, name, path): source
        for name in names
        for path, source in _contents(library / name, _state(f"{library}/{name}").files)
        if path.endswith(".py") and _RUN_BY_HAND not in f"{name}/{path}"
    }
    parsed: dict[str, SourceFacts] = {}
    while True:  # whoever imports a module names it
        naming = _named(kept)
        more = [module for module, source in sources.items() if module not in kept and naming.search(source)]
        parsed |= {module: read_source(sources[module], module) for module in more if module not in parsed}
        found = {
            module: parsed[module] for module in more if any(each.module in kept for each in parsed[module].imports)
        }
        if not found:
            return dict(sorted(kept.items()))
        kept |= found


def _read_helper(directory: Path, files: Sequence[str]) -> Reading:
    sources = _contents(directory, [file for file in files if file.endswith(".py")])
    facts = {path: read_source(source, f"{directory}/{path}") for path, source in sources if _LOADS.search(source)}
    return Reading(files={path: found for path, found in facts.items() if found.loads})


def _helper_module(package: str, folder: str, path: str) -> str:
    return f"{package}.{folder}.{path.removesuffix('.py').replace('/', '.')}".removesuffix(".__init__")


def _named(modules: Iterable[str]) -> re.Pattern[bytes]:
    """Return the expression that finds the last names of modules; without modules it finds nothing."""
    names = sorted({module.rpartition(".")[2].encode() for module in modules})
    return re.compile(b"|".join(rb"\b%b\b" % re.escape(name) for name in names) if names else rb"(?!)")


# -- the files of a folder ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _State:
    """The files of a folder that matter, and how they were found."""

    files: tuple[str, ...]
    stamp: str
    settled: bool


def _state(directory: str) -> _State:
    files, stamps, newest = [], [], 0
    waiting = [""]
    while waiting:
        within = waiting.pop()
        try:
            with os.scandir(f"{directory}/{within}") as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:  # it has just gone away
            continue
        for entry in listed:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                if name != "__pycache__" and not name.startswith("."):
                    waiting.append(f"{within}{name}/")
            elif name.endswith(".py") or (not within and name in _METADATA):
                try:
                    status = entry.stat()
                except OSError:  # a broken link; nothing can be imported from it either
                    continue
                files.append(within + name)
                stamps.append((within + name, status.st_mtime_ns, status.st_size, status.st_ctime_ns))
                newest = max(newest, status.st_mtime_ns, status.st_ctime_ns)
    digest = hashlib.sha256(ascii(stamps).encode()).hexdigest()[:32]
    return _State(tuple(files), digest, time.time_ns() - newest > _SETTLED_AFTER_NS)


def _contents(directory: Path, files: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    for file in files:
        try:
            with open(f"{directory}/{file}", "rb") as stream:  # noqa: PTH123  # a Path for each would double the time
                yield file, stream.read()
        except OSError:
            continue


# -- the cache ---------------------------------------------------------------------------------------------------------


class _Folder:
    """Readings of the folders in a folder, kept in one file of the cache.

    Parameters
    ----------
    path : Path
    how : mapping
        Everything besides the files that changes what is read.
    """

    def __init__(self, path: Path, how: Mapping[str, Any]) -> None:
        python = [sys.implementation.name, *sys.version_info[:2]]  # which source parses depends on the interpreter
        self.path = path
        self.header: dict[str, Any] = {"format": _FORMAT, "python": python, "path": str(path), **how}
        digest = hashlib.sha256(json.dumps(self.header).encode()).hexdigest()[:32]
        self.file = settings().cache_home / _KEPT_IN / f"{digest}.json"

    def readings(self, names: Iterable[str], read: Callable[[Path, Sequence[str]], Reading]) -> dict[str, Reading]:
        known = {} if settings().caching_disabled else self._known()
        current: dict[str, list[Any]] = {}
        found: dict[str, Reading] = {}
        for name in names:
            state = _state(f"{self.path}/{name}")
            row = known.get(name)
            reading = _from_row(row, state.stamp) if row is not None else None
            if row is None or reading is None:
                reading = read(self.path / name, state.files)
                row = [state.stamp, state.settled, *_to_row(reading)]
            current[name], found[name] = row, reading
        if current != known:
            self._write(current)
        return found

    def _known(self) -> dict[str, list[Any]]:
        try:
            content = json.loads(self.file.read_bytes())
            if any(content[key] != value for key, value in self.header.items()):
                return {}
            folders: dict[str, list[Any]] = content["folders"]
            return folders if isinstance(folders, dict) else {}
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return {}

    def _write(self, rows: Mapping[str, list[Any]]) -> None:
        if settings().caching_disabled:
            return
        try:
            with atomic_path(self.file) as temporary:
                content = json.dumps({**self.header, "folders": rows}, separators=(",", ":"))
                temporary.write_text(content, encoding="ascii")
        except OSError as error:
            _logger.warning("What plugins say cannot be kept at %s, so planning is slower: %s", self.file, error)


def _to_row(reading: Reading) -> list[Any]:
    files = {
        path: [
            [[load.function, load.kind, load.pattern, load.literal, load.line] for load in facts.loads],
            [[found.module, found.level, found.line] for found in facts.imports],
            sorted(facts.texts),
            sorted(facts.patterns),
            facts.problem,
        ]
        for path, facts in reading.files.items()
    }
    return [reading.has_tests, reading.private_tests, reading.access, reading.minutes, reading.memory_gb, files]


def _from_row(row: Any, stamp: str) -> Reading | None:
    """Return what a row of the cache says; None if it is of other files, was read too early, or is damaged."""
    try:
        known, settled, has_tests, private_tests, access, minutes, memory_gb, files = row
        if known != stamp or settled is not True or type(has_tests) is not bool or type(private_tests) is not int:
            return None
        return Reading(
            files={path: _facts(*content) for path, content in files.items()},
            has_tests=has_tests,
            private_tests=private_tests,
            access=access,
            minutes=_positive(minutes),
            memory_gb=_positive(memory_gb),
        )
    except (TypeError, ValueError, AttributeError):
        return None


def _facts(loads: list[Any], imports: list[Any], texts: list[Any], patterns: list[Any], problem: object) -> SourceFacts:
    for row, types in ((loads, ("function", "kind", "pattern")), (imports, ("module",))):
        for values in row:
            if not all(isinstance(value, str) for value in values[: len(types)]) or type(values[-1]) is not int:
                raise TypeError("not a row of the expected types")
    if not all(isinstance(text, str) for text in (*texts, *patterns)):
        raise TypeError("not a list of texts")
    return SourceFacts(
        loads=tuple(Load(*values) for values in loads),
        imports=tuple(Import(*values) for values in imports),
        texts=frozenset(texts),
        patterns=frozenset(patterns),
        problem=problem if isinstance(problem, str) else None,
    )
