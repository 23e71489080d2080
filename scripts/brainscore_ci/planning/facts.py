"""Read what the files of every plugin tell about planning: what they use, their tests, what they cost."""

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

__all__ = ["PluginFacts", "TreeFacts", "read_facts"]

_METADATA = ("metadata.yml", "metadata.yaml")
_PLANNED_WITH = re.compile(rb"^(access|minutes|memory_gb)\s*:", re.MULTILINE)
_PRIVATE = re.compile(rb"\bprivate_access\b")
# Only files that hold one of these load or import a plugin. Looking for bytes is a hundred times faster than parsing.
_LOADS = re.compile(rb"load_(?:%b)\b" % "|".join(name.removeprefix("load_") for name in LOADERS).encode())
_NAMES_PLUGINS = re.compile(rb"brainscore_\w+\.(?:%b)\b" % "|".join(FOLDERS).encode())
_LEAVES_FOLDER = re.compile(rb"from\s+\.\.")
_NAMES_HELPERS = re.compile(rb"_helpers[\w.]*(?:\s*\\|\s+import\b[^\n]*)?")  # from where a helper's name may follow
_LONGEST_NAME = 64  # of what stands before _helpers
# Helpers that people run by hand; no test and no score passes through them.
_RUN_BY_HAND = "check_submission"


@dataclass(frozen=True, kw_only=True)
class PluginFacts:
    """What is known about one plugin.

    Attributes
    ----------
    identifiers : mapping of str to tuple of str
        Name of the kind -> identifiers that it registers.
    computed : tuple of str
        Kinds of which it computes identifiers that only running it tells.
    files : mapping of str to SourceFacts
        Path inside the folder -> what that file says. Files that say nothing are left out.
    sources : mapping of str to SourceFile
        Path inside the folder -> file, of all of them.
    has_tests : bool
        Whether there is a ``test*.py``.
    private_tests : int
        How many of its tests need private data.
    access : str or None
        'public' or 'private', where ``metadata.yml`` says so.
    minutes, memory_gb : float or None
        Costs, where ``metadata.yml`` tells them.
    """

    name: PluginName
    identifiers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    computed: tuple[str, ...] = ()
    files: Mapping[str, SourceFacts] = field(default_factory=dict)
    sources: Mapping[str, SourceFile] = field(default_factory=dict, repr=False, compare=False)
    has_tests: bool = False
    private_tests: int = 0
    access: str | None = None
    minutes: float | None = None
    memory_gb: float | None = None


@dataclass(frozen=True, kw_only=True)
class TreeFacts:
    """What is known about all plugins of an index.

    Attributes
    ----------
    plugins : mapping of PluginName to PluginFacts
        Sorted by name; without folders whose name is not allowed.
    helpers : mapping of str to SourceFacts
        Dotted name of a module of the library -> what it says, of those that load something themselves or through
        others.
    packages : tuple of str
        Names of the libraries, such as ``'mylibrary'``.
    """

    plugins: Mapping[PluginName, PluginFacts]
    helpers: Mapping[str, SourceFacts]
    packages: tuple[str, ...]


def read_facts(index: PluginIndex) -> TreeFacts:
    """Read all plugins of an index, and the helpers of the libraries beside them."""
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
    """Reads the folders of plugins.

    Parameters
    ----------
    packages : tuple of str
        Such as ``('mylibrary',)``.
    helpers : mapping of str to SourceFacts
        Modules of the libraries that load something.
    """

    def __init__(self, packages: tuple[str, ...], helpers: Mapping[str, SourceFacts]) -> None:
        self.helpers = helpers
        self.plugins = tuple(f"{package}.{folder}." for package in packages for folder in FOLDERS)
        self.ends_of_helpers = tuple(helper.partition(".")[2] for helper in helpers)
        self.names_helpers = _naming(helpers)

    def read(self, plugin: Plugin) -> PluginFacts:
        files = read_files(plugin.directory)
        sources = {path: file for path, file in files.items() if path.endswith(".py") and file.content is not None}
        telling = {path: file.facts for path, file in sources.items() if self._tells(file)}
        if self._is_vague(plugin, telling):  # any of its texts may then be an identifier
            telling = {path: telling.get(path) or read_texts(file.content or b"") for path, file in sources.items()}
        tests = [file.content or b"" for path, file in sources.items() if re.fullmatch(r"test[^/]*\.py", path)]
        values = next((_values(files[name]) for name in _METADATA if name in files), {})
        access = values.get("access")
        return PluginFacts(
            name=PluginName(plugin.root.folder, plugin.name),
            identifiers={kind.name: found for kind in KINDS.values() if (found := tuple(plugin.identifiers(kind)))},
            computed=tuple(
                kind.name for kind in KINDS.values() if any(each.registry == kind.registry for each in plugin.computed)
            ),
            files=telling,
            sources=files,
            has_tests=bool(tests),
            private_tests=sum(len(_PRIVATE.findall(content)) for content in tests),
            access=access if access in ("public", "private") else None,
            minutes=_positive(values.get("minutes")),
            memory_gb=_positive(values.get("memory_gb")),
        )

    def _tells(self, file: SourceFile) -> bool:
        content = file.content or b""
        return bool(
            (b"load_" in content and _LOADS.search(content))
            or (b"brainscore_" in content and _NAMES_PLUGINS.search(content))
            or (b".." in content and _LEAVES_FOLDER.search(content))
            or (b"_helpers" in content and self._names_helper(content))
        )

    def _names_helper(self, content: bytes) -> bool:
        """Tell whether a file may import a helper; looks at the import, since whole files take ten times as long."""
        for match in _NAMES_HELPERS.finditer(content):
            goes_on = any(sign in match[0] for sign in (b"(", b"\\"))
            end = len(content) if goes_on else match.end()
            if self.names_helpers.search(content, max(0, match.start() - _LONGEST_NAME), end):
                return True
        return False

    def _is_vague(self, plugin: Plugin, files: Mapping[str, SourceFacts]) -> bool:
        """Tell whether identifiers that a plugin loads may stand in any of its files."""
        return any(
            any(load.says_nothing for load in facts.loads)
            or any(self._may_load(plugin, path, found) for found in facts.imports)
            for path, facts in files.items()
        )

    def _may_load(self, plugin: Plugin, path: str, found: Import) -> bool:
        """Tell whether an import is of another plugin or of a helper, which may load what it is told."""
        if found.level > path.count("/") + 1:  # leaves the folder
            return True
        if found.module in self.helpers or (found.level and found.module.endswith(self.ends_of_helpers)):
            return True
        return found.module.startswith(self.plugins) and not f"{found.module}.".startswith(f"{plugin.module}.")


def _values(file: SourceFile) -> Mapping[str, object]:
    """Return what metadata say; nothing if that is nothing about planning, or they cannot be read."""
    if file.content is None or not _PLANNED_WITH.search(file.content):
        return {}  # parsing the metadata of every plugin would take seconds
    from brainscore_ci.planning.metadata import read_values  # few plugins have such metadata

    return read_values(file.content)


def _positive(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e9:
        return None
    return float(value)


def _read_helpers(library: Path, package: str) -> dict[str, SourceFacts]:
    """Return the helpers that load something, and those that import one that does."""
    files = dict(_helpers(library, package))
    loading = {module: file.facts for module, file in files.items() if _LOADS.search(file.content or b"")}
    found = {module: facts for module, facts in loading.items() if facts.loads}
    while True:
        naming = _naming(found)  # whoever imports a module names it
        named = {module: file for module, file in files.items() if naming.search(file.content or b"")}
        more = {
            module: file.facts
            for module, file in named.items()
            if module not in found and any(each.module in found for each in file.facts.imports)
        }
        if not more:
            return dict(sorted(found.items()))
        found |= more


def _helpers(library: Path, package: str) -> Iterator[tuple[str, SourceFile]]:
    """Yield the dotted name and the file of every module in the folders of helpers."""
    for folder in sorted(library.glob("*_helpers")):
        for path, file in read_files(folder).items():
            if path.endswith(".py") and _RUN_BY_HAND not in f"{folder.name}/{path}":
                module = f"{package}.{folder.name}.{path.removesuffix('.py').replace('/', '.')}"
                yield module.removesuffix(".__init__"), file


def _naming(modules: Iterable[str]) -> re.Pattern[bytes]:
    """Return the expression that finds the last names of modules; without modules it finds nothing."""
    names = sorted({module.rpartition(".")[2].encode() for module in modules})
    return re.compile(b"|".join(rb"\b%b\b" % re.escape(name) for name in names) if names else rb"(?!)")
