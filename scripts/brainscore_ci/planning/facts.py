"""Read from every plugin's files what planning needs: uses, tests and costs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from brainscore_ci.planning.areas import PluginName, is_plugin_folder_name
from brainscore_core.plugin_management.registry import FOLDERS, KINDS
from brainscore_core.plugin_management.source import LOADERS, Import, SourceFacts, SourceFile, read_files, read_texts

if TYPE_CHECKING:
    from pathlib import Path

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
    """Return whether a file may import a helper; searches its imports alone, ten times faster than all of it."""
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
