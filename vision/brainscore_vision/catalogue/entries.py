"""List registered data, verify their cached files and remove these."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brainscore_core import command_line
from brainscore_core.config import installing_nothing
from brainscore_core.errors import (
    BrainScoreError,
    ConfigurationError,
    CorruptFileError,
    UnknownIdentifierError,
    did_you_mean,
)
from brainscore_core.plugin_management.index import Plugin, PluginIndex, library_roots
from brainscore_core.plugin_management.registry import KINDS, unknown_identifier
from brainscore_core.plugin_management.source import read_plugin
from brainscore_vision.catalogue.references import Reference, find_references

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.s3 import S3Object

__all__ = [
    "DATA_KINDS",
    "Entry",
    "StoredFile",
    "access_of",
    "clean",
    "entries",
    "entries_of",
    "metadata_of",
    "plugin_index",
    "stated_facts",
    "verify",
]

_LIBRARY = "brainscore_vision"
DATA_KINDS = (KINDS["data"], KINDS["stimulus_set"])
_DIGEST = re.compile("[0-9a-f]{40}")


@dataclass(frozen=True, kw_only=True)
class StoredFile:
    """A file in S3 and the path of its copy."""

    source: S3Object
    path: Path

    @property
    def is_cached(self) -> bool:
        """Whether it exists."""
        return self.path.is_file()

    @property
    def size_bytes(self) -> int:
        """Size on disk, with extracted files."""
        if not self.is_cached:
            return 0
        return self.path.stat().st_size + (
            _folder_bytes(self.path.with_suffix("")) if self.path.suffix == ".zip" else 0
        )


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An identifier that a data plugin registers.

    Attributes
    ----------
    files
        Files that the registration names; empty for generated data, or if only the running plugin knows them.
    stimulus_set
        Identifier of an assembly's stimuli, if the registration states it.
    """

    kind: str
    identifier: str
    plugin: Plugin
    files: tuple[StoredFile, ...] = ()
    stimulus_set: str | None = None

    @property
    def access(self) -> str | None:
        """See `access_of`."""
        return access_of(self.identifier, self.plugin.directory)

    @property
    def cached(self) -> str:
        """``'yes'``, ``'partly'``, ``'no'``, or ``'-'`` if no files are known."""
        n_cached = sum(file.is_cached for file in self.files)
        if not self.files:
            return "-"
        return "yes" if n_cached == len(self.files) else "partly" if n_cached else "no"

    @property
    def size_bytes(self) -> int:
        """Size of its copies on disk."""
        return sum(file.size_bytes for file in self.files)


def access_of(identifier: str, directory: Path) -> str | None:
    """Return ``'public'`` or ``'private'``, by the identifier or else ``access:`` in the plugin's ``metadata.yml``.

    None if neither says anything, as in a scaffold whose ``<public or private>`` is still there. Any other text
    counts as private.
    """
    name = identifier.lower()
    if "public" in name or "private" in name:
        return "private" if "private" in name else "public"
    access = metadata_of(directory).get("access")
    if access is None or (isinstance(access, str) and access.startswith("<")):
        return None
    return "public" if access == "public" else "private"


def plugin_index() -> PluginIndex:
    """Return the index of the library's plugins."""
    return PluginIndex(library_roots(_LIBRARY))


def entries(identifier: str | None = None) -> list[Entry]:
    """Return the data that plugins register, without importing these.

    `identifier` names an assembly, a stimulus set, or both; `UnknownIdentifierError` if no plugin registers it
    literally.
    """
    index = plugin_index()
    result = []
    for plugin in index.plugins("data"):
        registered = [(kind, name) for kind in DATA_KINDS for name in dict.fromkeys(plugin.identifiers(kind))]
        requested = [(kind, name) for kind, name in registered if identifier in (None, name)]
        if requested:
            source = read_plugin(plugin.directory, plugin.module)
        for kind, name in requested:
            references = find_references(source, kind.registry, name)
            stimulus_set = next((reference.stimulus_set for reference in references if reference.stimulus_set), None)
            files = _stored(plugin, references)
            result.append(Entry(kind=kind.name, identifier=name, plugin=plugin, files=files, stimulus_set=stimulus_set))
    if identifier is not None and not result:
        identifiers = [name for kind in DATA_KINDS for name in index.identifiers(kind)]
        raise unknown_identifier(DATA_KINDS[0], identifier, library=_LIBRARY, known=dict.fromkeys(identifiers))
    return sorted(result, key=lambda entry: (entry.identifier.casefold(), entry.identifier, entry.kind))


def entries_of(plugin: str) -> list[Entry]:
    """Return one plugin's data, without importing it; `UnknownIdentifierError` if absent."""
    plugins = [plugin.name for plugin in plugin_index().plugins("data")]
    if plugin not in plugins:
        raise UnknownIdentifierError(f"No data plugin is named {plugin!r}.{did_you_mean(plugin, plugins)}")
    return [entry for entry in entries() if entry.plugin.name == plugin]


def _stored(plugin: Plugin, references: Iterable[Reference]) -> tuple[StoredFile, ...]:
    try:
        return tuple(_locate(reference) for reference in references)
    except ConfigurationError as error:  # one wrong registration must not hide the others
        command_line.say(f"Warning: {plugin.init_file}: {error}")
        return ()


def _locate(reference: Reference) -> StoredFile:
    from brainscore_core.supported_data_standards.brainio import s3  # imports pandas

    location = reference.identifier, reference.file_type, reference.bucket, reference.version_id, reference.sha1
    source, path = s3.locate(*location, reference.filename_prefix)
    return StoredFile(source=source, path=path)


def stated_facts(identifier: str) -> Mapping[str, object]:
    """Return the facts that a library states about a network such as ``'timm:resnet18'``, see `Network.facts`.

    Empty for other models, unknown names, libraries not installed, and plugins of outside folders, whose code does not
    run to describe them. Nothing is downloaded.
    """
    from brainscore_core.plugin_management.import_plugin import import_plugin  # only needed for these

    found = plugin_index().find(KINDS["model"], identifier) if ":" in identifier else []
    if not found or any(plugin.root.rank for plugin, _ in found):
        return {}
    try:
        with installing_nothing():
            factory: Any = import_plugin(_LIBRARY, "model", identifier)  # of a library: a partial
        facts: Mapping[str, object] = factory.func.facts(*factory.args)
    except (BrainScoreError, AttributeError, TypeError):
        return {}
    return facts


def metadata_of(directory: Path) -> Mapping[str, object]:
    """Return a plugin's ``metadata.yml``; empty if absent, and ``access: private`` if unreadable."""
    for name in ("metadata.yml", "metadata.yaml"):
        if (directory / name).is_file():
            return _parse(directory / name, (directory / name).read_bytes())
    return {}


@cache  # by content: a file that changes is read again
def _parse(path: Path, content: bytes) -> Mapping[str, object]:
    import yaml  # only needed for metadata

    try:
        values = yaml.safe_load(content.decode())
    except (ValueError, yaml.YAMLError) as error:
        command_line.say(f"Warning: {path} cannot be read, so its data are treated as private: {error}")
        return {"access": "private"}
    return values if isinstance(values, dict) else {}


def _data_home() -> Path:
    from brainscore_core.supported_data_standards.brainio.fetch import get_local_data_path  # imports pandas

    return get_local_data_path()


def _folder_bytes(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else 0


def verify(found: Iterable[Entry] | None = None) -> tuple[int, list[str]]:
    """Hash cached files again, and compare extracted archives byte by byte.

    Return the number of verified files, and a line for each damaged one. None: every file with a known digest in the
    data home, registered or not.
    """
    if found is None:
        # The cache's folders are named after digests.
        digests = {
            path: folder.name
            for folder in _digest_folders(_data_home())
            for path in folder.iterdir()
            if path.is_file() and not path.name.startswith(".") and path.suffix != ".lock"
        }
    else:
        files = [file for entry in found for file in entry.files if file.is_cached]
        digests = {file.path: file.source.sha1.lower() for file in files if file.source.sha1}
    problems = [problem for path, sha1 in sorted(digests.items()) for problem in _problems(path, sha1)]
    return len(digests), problems


def _digest_folders(home: Path) -> list[Path]:
    if not home.is_dir():
        return []
    return sorted(
        path for path in home.iterdir() if _DIGEST.fullmatch(path.name) and path.is_dir() and not path.is_symlink()
    )


def _problems(path: Path, sha1: str) -> list[str]:
    from brainscore_core.identity.digest import file_digest  # imports NumPy
    from brainscore_core.supported_data_standards.brainio.fetch import check_extracted

    digest = file_digest(path)
    if digest != sha1:
        return [f"{path} is damaged: expected sha1 {sha1}, found {digest}"]
    try:
        return check_extracted(path) if path.suffix == ".zip" else []
    except CorruptFileError as error:
        return [str(error)]


def clean(found: Iterable[Entry] | None = None, *, dry_run: bool = False) -> list[tuple[Path, int]]:
    """Remove cached files and the files extracted from them; return folders and their sizes in bytes.

    None: every file cached by its digest, registered or not. Nothing outside the data home is removed.
    """
    home = _data_home()
    if found is None:
        folders = _digest_folders(home)
    else:
        folders = sorted({file.path.parent for entry in found for file in entry.files})
    removed = []
    for folder in folders:
        if not folder.is_dir() or not _is_below(folder, home):
            continue
        removed.append((folder, _folder_bytes(folder)))
        if not dry_run:
            # Concurrent processes see all of it or nothing.
            doomed = home / f".removed.{secrets.token_hex(8)}"
            folder.rename(doomed)
            shutil.rmtree(doomed)
    return removed


def _is_below(folder: Path, home: Path) -> bool:
    inside, root = folder.resolve(), home.resolve()
    return not folder.is_symlink() and inside != root and inside.is_relative_to(root)
