"""Read the facts about every plugin that planning needs: uses, tests, costs, and which files can change its scores."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from brainscore_ci.planning.areas import PluginName, is_plugin_folder_name
from brainscore_core.plugin_management.registry import FOLDERS, KINDS
from brainscore_core.plugin_management.source import LOADERS, Import, SourceFacts, SourceFile, read_files, read_texts

if TYPE_CHECKING:
    from brainscore_core.plugin_management.index import Plugin, PluginIndex

METADATA = "metadata.yml"
_METADATA = (METADATA, "metadata.yaml")
_PLANNED_WITH = re.compile(rb"^(access|minutes|memory_gb|uses)\s*:", re.MULTILINE)
_PRIVATE = re.compile(rb"\bprivate_access\b")
# Only files with one of these load or import a plugin. Searching bytes is a hundred times faster than parsing.
_LOADS = re.compile(rb"load_(?:%b)\b" % "|".join(name.removeprefix("load_") for name in LOADERS).encode())
_NAMES_PLUGINS = re.compile(rb"brainscore_\w+\.(?:%b)\b" % "|".join(FOLDERS).encode())
_LEAVES_FOLDER = re.compile(rb"from\s+\.\.")
_NAMES_HELPERS = re.compile(rb"_helpers[\w.]*(?:\s*\\|\s+import\b[^\n]*)?")  # up to where a helper's name may follow
_LONGEST_NAME = 64  # searched before _helpers
# Helpers that people run by hand; no test or score depends on them.
_RUN_BY_HAND = "check_submission"


@dataclass(frozen=True, kw_only=True)
class PluginFacts:
    """Facts about one plugin."""

    name: PluginName
    # Kind -> identifiers and schemes it registers
    identifiers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    computed: tuple[str, ...] = ()  # kinds with identifiers that only running the plugin reveals
    # Path inside the folder -> facts; only files that load or import a plugin
    files: Mapping[str, SourceFacts] = field(default_factory=dict)
    # Path inside the folder -> file; all files
    sources: Mapping[str, SourceFile] = field(default_factory=dict, repr=False, compare=False)
    has_tests: bool = False
    private_tests: int = 0
    # As in ``metadata.yml``; None if it does not say
    access: str | None = None
    minutes: float | None = None
    memory_gb: float | None = None
    uses: tuple[str, ...] = ()  # identifiers of any kind that it loads and its source does not state


@dataclass(frozen=True, kw_only=True)
class TreeFacts:
    """Facts about all plugins of an index."""

    plugins: Mapping[PluginName, PluginFacts]  # sorted by name; without folders with forbidden names
    helpers: Mapping[str, SourceFacts]  # dotted name -> facts, of library modules that load a plugin, directly or not
    packages: tuple[str, ...]


def read_facts(index: PluginIndex) -> TreeFacts:
    """Read all plugins of an index and the helpers of their libraries."""
    libraries = {root.path.parent: root.package.rpartition(".")[0] for root in index.roots}
    helpers: dict[str, SourceFacts] = {}
    for library, package in libraries.items():
        helpers |= _read_helpers(library, package)
    reader = _PluginReader(tuple(libraries.values()), helpers)
    plugins = [
        reader.read(plugin)
        for folder in FOLDERS
        for plugin in index.plugins(folder)
        if is_plugin_folder_name(plugin.name)
    ]
    return TreeFacts(
        plugins={facts.name: facts for facts in sorted(plugins, key=lambda facts: facts.name)},
        helpers=helpers,
        packages=tuple(dict.fromkeys(libraries.values())),
    )


class _PluginReader:
    def __init__(self, packages: tuple[str, ...], helpers: Mapping[str, SourceFacts]) -> None:
        self.helpers = helpers
        self.plugins = tuple(f"{package}.{folder}." for package in packages for folder in FOLDERS)
        self.ends_of_helpers = tuple(helper.partition(".")[2] for helper in helpers)
        self.names_helpers = _naming(helpers)

    def read(self, plugin: Plugin) -> PluginFacts:
        files = read_files(plugin.directory)
        sources = {path: file for path, file in files.items() if path.endswith(".py") and file.content is not None}
        telling = {path: file.facts for path, file in sources.items() if self._tells(file)}
        if self._is_vague(plugin, telling):  # any text may be an identifier
            telling = {path: telling.get(path) or read_texts(file.content or b"") for path, file in sources.items()}
        tests = [file.content or b"" for path, file in sources.items() if re.fullmatch(r"test[^/]*\.py", path)]
        values = next((_values(files[name]) for name in _METADATA if name in files), {})
        access = values.get("access")
        return PluginFacts(
            name=PluginName(plugin.root.folder, plugin.name),
            identifiers={
                kind.name: identifiers
                for kind in KINDS.values()
                if (identifiers := (*plugin.identifiers(kind), *plugin.identifiers(kind, schemes=True)))
            },
            computed=tuple(
                kind.name
                for kind in KINDS.values()
                if any(computed.registry == kind.registry for computed in plugin.computed)
            ),
            files=telling,
            sources=files,
            has_tests=bool(tests),
            private_tests=sum(len(_PRIVATE.findall(content)) for content in tests),
            access=access if access in ("public", "private") else None,
            minutes=_positive(values.get("minutes")),
            memory_gb=_positive(values.get("memory_gb")),
            uses=tuple(text for text in _listed(values.get("uses")) if isinstance(text, str)),
        )

    def _tells(self, file: SourceFile) -> bool:
        content = file.content or b""
        return bool(
            (b"load_" in content and _LOADS.search(content))
            or (b"brainscore_" in content and _NAMES_PLUGINS.search(content))
            or (b".." in content and _LEAVES_FOLDER.search(content))
            or (b"_helpers" in content and _may_import(content, self.names_helpers))
        )

    def _is_vague(self, plugin: Plugin, files: Mapping[str, SourceFacts]) -> bool:
        """Return whether any file of a plugin may hold identifiers that it loads."""
        return any(
            any(load.says_nothing for load in facts.loads)
            or any(self._may_load(plugin, path, statement) for statement in facts.imports)
            for path, facts in files.items()
        )

    def _may_load(self, plugin: Plugin, path: str, found: Import) -> bool:
        """Return whether an import is of another plugin or a helper, which may load identifiers it is passed."""
        if found.level > path.count("/") + 1:  # leaves the folder
            return True
        if found.module in self.helpers or (found.level and found.module.endswith(self.ends_of_helpers)):
            return True
        return found.module.startswith(self.plugins) and not f"{found.module}.".startswith(f"{plugin.module}.")


def _values(file: SourceFile) -> Mapping[str, object]:
    """Return the metadata relevant for planning; empty if there are none or they are unreadable."""
    if file.content is None or not _PLANNED_WITH.search(file.content):
        return {}  # parsing the metadata of every plugin would take seconds
    from brainscore_ci.planning.metadata import read_values  # few plugins need yaml, which takes long to import

    return read_values(file.content)


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _positive(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e9:
        return None
    return float(value)


def _read_helpers(library: Path, package: str) -> dict[str, SourceFacts]:
    """Return the helpers that load a plugin, and those that import one that does."""
    files = dict(_helpers(library, package))
    loading = {module: file.facts for module, file in files.items() if _LOADS.search(file.content or b"")}
    helpers = {module: facts for module, facts in loading.items() if facts.loads}
    while True:
        naming = _naming(helpers)
        more = {
            module: file.facts
            for module, file in files.items()
            if module not in helpers
            and _may_import(file.content or b"", naming)
            and any(statement.module in helpers for statement in file.facts.imports)
        }
        if not more:
            return dict(sorted(helpers.items()))
        helpers |= more


def _helpers(library: Path, package: str) -> Iterator[tuple[str, SourceFile]]:
    for folder in sorted(library.glob("*_helpers")):
        for path, file in read_files(folder).items():
            if path.endswith(".py") and _RUN_BY_HAND not in f"{folder.name}/{path}":
                module = f"{package}.{folder.name}.{path.removesuffix('.py').replace('/', '.')}"
                yield module.removesuffix(".__init__"), file


def _may_import(content: bytes, naming: re.Pattern[bytes]) -> bool:
    """Return whether a file may import a helper; searches only its imports, ten times faster than all of it."""
    for match in _NAMES_HELPERS.finditer(content):
        goes_on = any(sign in match[0] for sign in (b"(", b"\\"))
        end = len(content) if goes_on else match.end()
        if naming.search(content, max(0, match.start() - _LONGEST_NAME), end):
            return True
    return False


def _naming(modules: Iterable[str]) -> re.Pattern[bytes]:
    """Return a pattern for the last names of modules; it matches nothing if there are none."""
    names = sorted({module.rpartition(".")[2].encode() for module in modules})
    return re.compile(b"|".join(rb"\b%b\b" % re.escape(name) for name in names) if names else rb"(?!)")


# -- Decide which files of a plugin can change its scores: all except unused tests, descriptions and packaging ---------
# A model may read a table from ``tests/``, so a file is ignored only if no relevant file can name it; if the source
# locates files by unwritten names, none is.

_DESCRIPTIONS = re.compile(r"(.*/)?([^/]*\.(md|rst|bib)|LICENSE|\.DS_Store)|metadata\.ya?ml", re.DOTALL)
_TESTS = re.compile(r"test.*\.py|conftest\.py")
_FOLDERS = frozenset({"test", "tests", "test_resources", "data_packaging"})

# `Path(__file__).parent / "a" / "b.csv"` and `Path(__file__).with_name("b.csv")` name files to read.
_WRITTEN_OUT = re.compile(
    rb"Path\(__file__\)(?:\.(?:resolve|absolute)\(\))?"
    rb"(?:\.with_name\(\s*[\"'][\w.-]+[\"']\s*\)|(?:\.parent)+\s*(?:/\s*[\"'][\w./-]+[\"']\s*)+)"
    rb"(?!\s*(?:/|\.(?!read_text|read_bytes|open\b)))"
)
# Ways to reach files or modules whose names are not written out.
_DOORS = re.compile(
    rb"__(?:file|path|spec|loader|cached|import|dict)__"
    rb"|\b(?:importlib|runpy|pkgutil|zipimport|subprocess)\b"
    rb"|\b(?:i?glob|rglob|iterdir|listdir|scandir|getcwd|popen|getsource(?:file|lines)?|getfile|currentframe)\b"
    rb"|\bos\.(?:walk|system)\b|\bsys\.(?:modules|path)\b|\bPath\.cwd\b|\binspect\.stack\b"
    rb"|(?<![\w.])(?:exec|eval|compile|globals|vars)\s*\("
    rb"|\bfind_plugin_directory\b"
    rb"|(?<!\.)\.\.[/\"']"
)

# Ways to comments, docstrings and layout of a source.
_READS_SOURCE = re.compile(rb"__doc__|\b(?:getsource|getdoc|getcomments|tokenize|docopt)|\.pyw?[\"']")

_SIGNS = (
    b"__file__", b"__path__", b"__spec__", b"__loader__", b"__cached__", b"__import__", b"__dict__", b"importlib",
    b"runpy", b"pkgutil", b"zipimport", b"subprocess", b"glob", b"iterdir", b"listdir", b"scandir", b"cwd", b"popen",
    b"getsource", b"getfile", b"currentframe", b"os.walk", b"os.system", b"sys.modules", b"sys.path", b"inspect.stack",
    b"exec", b"eval", b"compile", b"vars", b"find_plugin_directory", b"../", b'.."', b"..'",
)  # fmt: skip


@dataclass(frozen=True)
class Reach:
    """Which files of one plugin count; others may import modules of it, such as ``'tests.helper'``."""

    files: Mapping[str, SourceFile]
    imported: frozenset[str] = frozenset()

    def changes_scores(self, within: str) -> bool:
        """Return whether a file, possibly deleted, can change a score."""
        if not _may_be_aside(within) or self._counted is None:
            return True
        if within in self.files:
            return within in self._counted
        modules, texts = self._all_modules, [self.files[path].content or b"" for path in self._counted]
        return _is_named(within, modules, b"\0".join(texts))

    @cached_property
    def reads_source(self) -> bool:
        """Whether comments, docstrings and layout of the plugin's Python files may change a score."""
        return any(
            _READS_SOURCE.search(file.content or b"") is not None
            for path, file in self.files.items()
            if _is_source(path, file) and self.changes_scores(path)
        )

    @cached_property
    def _counted(self) -> frozenset[str] | None:
        """Files that count; None: all."""
        modules = {name.partition(".")[0] for name in self.imported}
        aside = {path for path in self.files if _may_be_aside(path)}
        stems = sorted({path.split("/")[0].removesuffix(".py") for path in aside})
        # Most files contain no such word and need no parsing.
        may_import = re.compile(rb"\b(?:%b)\b" % b"|".join(re.escape(os.fsencode(stem)) for stem in stems))
        content = b""
        waiting = [path for path in self.files if path not in aside]
        while waiting:
            for path in waiting:
                aside.discard(path)
                file = self.files[path]
                text = file.content or b""
                if _is_source(path, file):
                    if file.content is None or _finds_any(text):
                        return None
                    modules |= _modules(path, file) if stems and may_import.search(text) else set()
                content += b"\0" + text
            waiting = [path for path in aside if _is_named(path, modules, content)]
        return frozenset(self.files.keys() - aside)

    @cached_property
    def _all_modules(self) -> set[str]:
        sources = [(path, self.files[path]) for path in self._counted or ()]
        modules = [_modules(path, file) for path, file in sources if _is_source(path, file)]
        return {name.partition(".")[0] for name in self.imported}.union(*modules)


def _is_source(path: str, file: SourceFile) -> bool:
    return path.endswith(".py") and file.form == "file"


def _finds_any(content: bytes) -> bool:
    """Return whether a source reaches files or modules without naming them."""
    # Searching bytes is a hundred times faster than the pattern, which few files need.
    if not any(sign in content for sign in _SIGNS):
        return False
    rest = _WRITTEN_OUT.sub(lambda match: b" ".join(re.findall(rb"[\"'][\w./-]+[\"']", match[0])), content)
    return _DOORS.search(rest) is not None


def _may_be_aside(within: str) -> bool:
    """Return whether a file's name marks it as irrelevant for scores."""
    path = PurePosixPath(within)
    return (
        _DESCRIPTIONS.fullmatch(within) is not None
        or bool(_TESTS.fullmatch(path.parts[0]))
        or path.parts[0] in _FOLDERS
    )


def _is_named(within: str, modules: Iterable[str], content: bytes) -> bool:
    """Return whether a file, or its top folder, is imported or named."""
    path = PurePosixPath(within)
    first = path.parts[0]
    if first.removesuffix(".py") in modules or path.name.encode("utf-8", "surrogateescape") in content:
        return True
    return len(path.parts) > 1 and re.search(rb"[\"'/]%b[\"'/]" % re.escape(first.encode()), content) is not None


def _modules(path: str, file: SourceFile) -> set[str]:
    """Return the first part, inside the plugin, of every module that a file may import from it."""
    parents = path.split("/")[:-1]
    names: set[str] = set()
    for statement in file.facts.imports:
        if statement.level == 0:  # possibly the plugin itself by its whole name; otherwise harmless
            names |= set(statement.module.split("."))
        else:
            folder = parents[: len(parents) - statement.level + 1] if statement.level <= len(parents) + 1 else []
            names |= {*folder[:1], *statement.module.split(".")}
    return names
