"""Find the plugins that a person or a change names, and apply every rule to them."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from brainscore_ci.checks import files, imports, metadata, registrations
from brainscore_ci.checks.findings import (
    CheckedPlugin,
    Finding,
    Surroundings,
    describe_new,
    in_order,
    read_checked_plugin,
)
from brainscore_ci.planning.areas import Area, PluginName, area_of
from brainscore_ci.planning.changes import ChangeSet, changes_since, find_unwanted, tracked_files
from brainscore_ci.planning.checkout import read_checkout
from brainscore_core.errors import ConfigurationError, UnknownIdentifierError
from brainscore_core.files import atomic_path
from brainscore_core.git import ask_git, run_git
from brainscore_core.plugin_management.index import (
    Plugin,
    PluginIndex,
    PluginRoot,
    library_roots,
    outside_roots,
    plugins_named,
)
from brainscore_core.plugin_management.registry import FOLDERS, KINDS
from brainscore_core.plugin_management.requirements import OWN

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

    from brainscore_ci.reporting.results import AddedPlugin

Rule = Callable[[CheckedPlugin, Surroundings], Iterable[Finding]]
RULES: tuple[Rule, ...] = tuple(rule for module in (registrations, files, metadata, imports) for rule in module.RULES)
_CHANGELOG = "CHANGELOG.md"
_PACKAGE = re.compile(r"[^/]+/brainscore_[^/]+/")
_NO_ENTRY = re.compile(r"^Changelog: none \(.*\w.*\)$", re.MULTILINE)


@dataclass(frozen=True)
class Checked:
    """Checked plugins and their findings.

    `plugins` are such as ``'models/pixels'``; `fixed` files were fixed beforehand.
    """

    plugins: tuple[str, ...]
    findings: tuple[Finding, ...]
    fixed: tuple[str, ...] = ()
    new: tuple[AddedPlugin, ...] = ()

    @property
    def has_errors(self) -> bool:
        """Whether any finding is an error."""
        return any(finding.is_error for finding in self.findings)


@dataclass(frozen=True)
class Workplace:
    """Where to look for plugins.

    `repository` is the top of the checkout (None: only the installed library); `libraries` are folders of packages with
    plugins, relative to it, or the name of the installed package.
    """

    repository: Path | None
    libraries: tuple[str, ...]
    index: PluginIndex

    @property
    def library(self) -> str:
        """Name of the first package."""
        return Path(self.libraries[0]).name

    def location(self, directory: Path) -> str:
        """Return a folder for people."""
        if self.repository is not None and directory.is_relative_to(self.repository):
            return directory.relative_to(self.repository).as_posix()
        return directory.as_posix()


def check_source(source: CheckedPlugin, surroundings: Surroundings) -> list[Finding]:
    """Apply every rule to one plugin; return the findings, sorted by place."""
    findings: list[Finding] = []
    for rule in RULES:
        try:
            findings += rule(source, surroundings)
        except RecursionError:
            message = f"is nested so deeply that the rule {rule.__name__!r} cannot follow it"
            findings.append(source.finding("syntax", message, "write it in smaller parts"))
    return in_order(findings)


def workplace(start: Path, library: str | None = None) -> Workplace:
    """Return where to look for plugins: the checkout around a folder, or an installed library."""
    for folder in (start.resolve(), *start.resolve().parents):
        if (folder / "pyproject.toml").is_file():
            checkout = read_checkout(folder)
            if any(root.path.is_dir() for root in checkout.index.roots):
                own = checkout.index.roots
                outside = outside_roots(own[0].package.rpartition(".")[0], [root.path.parent for root in own])
                return Workplace(folder, checkout.policy.libraries, PluginIndex([*own, *outside]))
    if library is None:
        raise ConfigurationError(
            f"{start} is not in a checkout with plugins. Run this in a checkout whose pyproject.toml lists its "
            "libraries under [tool.brainscore.ci], or name the library with --library."
        )
    return Workplace(None, (library,), PluginIndex(library_roots(library)))


def look_around(place: Workplace) -> Surroundings:
    """Collect the facts that rules need about all plugins and the library."""
    identifiers: dict[str, dict[str, tuple[str, ...]]] = {}
    for kind in KINDS.values():
        places = identifiers.setdefault(kind.name, {})
        for plugin in place.index.plugins(kind.folder):
            for registration in plugin.registrations:
                if registration.registry == kind.registry:
                    label = plugin.directory if plugin.root.rank else f"{kind.folder}/{plugin.name}"
                    here = f"{label}/__init__.py:{registration.line}"
                    places[registration.identifier] = (*places.get(registration.identifier, ()), here)
    computing = frozenset(kind.name for kind in KINDS.values() if place.index.computing(kind))
    plugins = frozenset(f"{folder}/{plugin.name}" for folder in FOLDERS for plugin in place.index.plugins(folder))
    return Surroundings(
        identifiers=identifiers,
        computing=computing,
        dependencies=_dependencies(place),
        plugins=plugins,
        nodes=_nodes(place),
    )


def _nodes(place: Workplace) -> frozenset[str]:
    """Return the nodes of the benchmark hierarchies."""
    nodes: set[str] = set()
    for folder in {root.path.parent for root in place.index.roots}:
        try:
            nodes |= tomllib.loads((folder / "hierarchy.toml").read_text(encoding="utf-8")).keys()
        except (OSError, ValueError):
            continue
    return frozenset(nodes)


def _dependencies(place: Workplace) -> dict[str, SpecifierSet]:
    texts: list[str] = []
    repository = place.repository
    files_of = [repository / Path(name).parts[0] / "pyproject.toml" for name in place.libraries] if repository else []
    for file in [*files_of, repository / "core/pyproject.toml"] if repository else []:
        try:
            texts += tomllib.loads(file.read_text(encoding="utf-8"))["project"]["dependencies"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
    if not texts:
        for name in OWN:
            try:
                texts += importlib.metadata.requires(name) or []
            except importlib.metadata.PackageNotFoundError:
                continue
    registrations: dict[str, SpecifierSet] = {}
    for text in texts:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if "extra" not in str(requirement.marker or ""):
            registrations[canonicalize_name(requirement.name)] = requirement.specifier
    return registrations


def check_named(place: Workplace, names: Sequence[str], base: str | None = None, *, fix: bool = False) -> Checked:
    """Check plugins by folder name, identifier or path, and versions against `base`, after `fix_plugin` if asked."""
    plugins: dict[Path, Plugin] = {}
    unknown = []
    for name in names:
        try:
            for plugin in _at_path(name, place) or plugins_named(place.index, name):
                plugins.setdefault(plugin.directory, plugin)
        except UnknownIdentifierError as error:
            unknown.append(str(error))
    if unknown:
        raise UnknownIdentifierError("\n".join(unknown))
    changes = None if base is None else _changes(place, base)
    return _check(place, list(plugins.values()), changes, fix=fix)


def check_changed(place: Workplace, base: str, *, fix: bool = False) -> Checked:
    """Check every plugin that differs from the merge base with a branch."""
    changes = _changes(place, base)
    areas = [area_of(path, place.libraries) for change in changes.changes for path in change.paths]
    names = {area.plugin for area in areas if area.plugin is not None}
    plugins = [
        plugin
        for kind in FOLDERS
        for plugin in place.index.plugins(kind)
        if plugin.root.rank == 0 and PluginName(kind, plugin.name) in names
    ]
    checked = _check(place, plugins, changes, fix=fix)
    existing = {PluginName(plugin.root.folder, plugin.name) for plugin in plugins}
    paths = {finding.path for finding in checked.findings}
    unwanted = [finding for finding in _unwanted(place) if finding.path not in paths]
    more = [*_refused(areas), *_without_init(place, sorted(names - existing)), *unwanted]
    if place.repository and (place.repository / _CHANGELOG).is_file():
        paths_changed = [path for change in changes.changes for path in change.paths]
        messages = ask_git(place.repository, "log", "--format=%B", f"{changes.base}..HEAD").decode("utf-8", "replace")
        more += changelog_findings(paths_changed, messages, place.libraries)
    return replace(checked, findings=tuple(in_order([*checked.findings, *more])))


def static_errors(tree: Path, base: str) -> list[tuple[str, str]]:
    """Return rule and text of each error of the static checks in plugins that differ from a commit."""
    findings = check_changed(workplace(tree), base).findings
    return [(finding.rule, str(finding)) for finding in findings if finding.is_error]


def changelog_findings(paths: Iterable[str], messages: str, libraries: Sequence[str]) -> list[Finding]:
    """Require an entry in the changelog for a change of the library outside plugins and tests.

    A line ``Changelog: none (reason)`` in the commit messages exempts it.
    """
    paths = sorted(paths)
    packages = [path for path in paths if _PACKAGE.match(path)]
    changed = next((path for path in packages if area_of(path, libraries).kind in {"library", "tooling", "web"}), None)
    if changed is None or _CHANGELOG in paths or _NO_ENTRY.search(messages):
        return []
    message = f"{changed} changes, but has no entry"
    fix = "add a line under Unreleased, or the line 'Changelog: none (reason)' to a commit message"
    return [Finding(path=_CHANGELOG, line=1, rule="changelog", message=message, fix=fix)]


def _unwanted(place: Workplace, locations: Sequence[str] = ("",)) -> list[Finding]:
    if place.repository is None:
        return []
    try:
        files = tracked_files(place.repository)
    except ConfigurationError:
        return []
    folders = tuple(f"{location}/" if location else "" for location in locations)
    return [
        Finding(path=file.path, line=1, rule=file.rule, message=file.reason, fix=file.fix)
        for file in find_unwanted(files)
        if f"{file.path}/".startswith(folders)
    ]


def _refused(areas: Iterable[Area]) -> list[Finding]:
    return [
        Finding(
            path=area.within.partition("/")[0],
            line=1,
            rule="folder-name",
            message="this name is not allowed for a plugin folder",
            fix="use ASCII letters, digits and _ . - only, and start with a letter, a digit or _",
        )
        for area in dict.fromkeys(areas)
        if area.kind == "refused"
    ]


def _without_init(place: Workplace, names: Iterable[PluginName]) -> list[Finding]:
    findings: list[Finding] = []
    for name in names:
        for root in place.index.roots:
            directory = root.path / name.name
            if root.folder == name.folder and root.rank == 0 and directory.is_dir() and any(directory.iterdir()):
                plugin = Plugin(name=name.name, root=root)
                source = read_checked_plugin(plugin, place.location(directory))
                findings += registrations.check_init(source, Surroundings())
    return findings


def _at_path(name: str, place: Workplace) -> list[Plugin]:
    """Return the plugin at a path, if any; its registrations determine the kind."""
    directory = Path(name).expanduser()
    if "/" not in name.replace("\\", "/") and name not in {".", ".."}:
        return []
    directory = directory.absolute() if not name.endswith("..") and name != "." else directory.resolve()
    if not (directory / "__init__.py").is_file():
        return []
    for plugin in place.index.plugins(directory.parent.name):
        if plugin.directory == directory.resolve():
            return [plugin]
    library = place.index.roots[0].package.rpartition(".")[0]
    plugin = _plugin_in(directory, directory.parent.name if directory.parent.name in FOLDERS else FOLDERS[0], library)
    registries = {entry.registry for entry in plugin.registrations} | {entry.registry for entry in plugin.computed}
    if directory.parent.name not in FOLDERS:
        meant = [kind.folder for kind in KINDS.values() if kind.registry in registries]
        plugin = _plugin_in(directory, meant[0], library) if meant else plugin
    return [plugin]


def _plugin_in(directory: Path, folder: str, library: str) -> Plugin:
    root = PluginRoot(folder=folder, path=directory.parent, package=f"{library}.{folder}")
    plugins = [plugin for plugin in PluginIndex([root]).plugins(folder) if plugin.name == directory.name]
    return plugins[0] if plugins else Plugin(name=directory.name, root=root)


def _check(place: Workplace, plugins: Sequence[Plugin], changes: ChangeSet | None, *, fix: bool) -> Checked:
    together: dict[str, list[CheckedPlugin]] = {}
    surroundings = replace(look_around(place), together=together)
    locations: list[str] = []
    fixed: list[str] = []
    for plugin in sorted(plugins, key=lambda one: (one.root.folder, one.name)):
        location = place.location(plugin.directory)
        earlier = None
        if changes is not None and changes.base is not None and place.repository is not None:
            earlier = _earlier(place.repository, changes.base, location)
        locations.append(location)
        if fix:
            fixed += fix_plugin(read_checked_plugin(plugin, location))
        together.setdefault(plugin.name, []).append(read_checked_plugin(plugin, location, earlier))
    sources = sorted(chain(*together.values()), key=lambda source: (source.folder, source.plugin.name))
    findings = [finding for source in sources for finding in check_source(source, surroundings)]
    paths = {finding.path for finding in findings}
    findings += [finding for finding in _unwanted(place, locations) if finding.path not in paths]
    names = tuple(f"{source.folder}/{source.plugin.name}" for source in sources)
    new = tuple(filter(None, map(describe_new, sources)))
    return Checked(names, tuple(in_order(findings)), tuple(fixed), new)


def fix_plugin(source: CheckedPlugin) -> list[str]:
    """Apply the mechanical fixes to a plugin on disk: outdated names in the code, missing keys of ``metadata.yml``."""
    library = source.plugin.root.package.partition(".")[0]
    changed: dict[str, bytes] = {}
    for path, file in source.files.items():
        if file.tree is not None and file.content is not None:
            mended = imports.fixed_source(file.content, library)
            if mended != file.content:
                changed[path] = mended
    if "metadata.yaml" not in source.files:
        described = source.files.get("metadata.yml")
        is_private = any(b"private_access" in (file.content or b"") for file in source.files.values())
        original = "" if described is None else described.text
        text = metadata.fixed_metadata(original, is_private=is_private)
        if text != original and (described is None or described.content is not None):
            changed["metadata.yml"] = text.encode()
    for path, content in changed.items():
        with atomic_path(source.plugin.directory / path) as temporary:
            temporary.write_bytes(content)
    return [source.where(path) for path in changed]


def _changes(place: Workplace, base: str) -> ChangeSet:
    if place.repository is None:
        raise ConfigurationError("Finding changes needs git: run this in a checkout.")
    try:
        return changes_since(place.repository, base)
    except ConfigurationError:
        if "/" in base:
            raise
        return changes_since(place.repository, f"origin/{base}")


def _earlier(repository: Path, commit: str, location: str) -> dict[str, bytes]:
    listing = run_git(repository, "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--", location)
    paths = [path for path in listing.stdout.decode("utf-8", "surrogateescape").split("\0") if path.endswith(".py")]
    sources = {}
    for path in paths:
        content = run_git(repository, "show", f"{commit}:{path}")
        if content.status == 0:
            sources[path.removeprefix(f"{location}/")] = content.stdout
    return sources
