"""Show which data are registered, cached and sound, and manage the cache: ``python -m brainscore_vision data ...``."""

from __future__ import annotations

import argparse
import re
import secrets
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brainscore_core import command_line
from brainscore_core.errors import ConfigurationError, CorruptFileError
from brainscore_core.plugin_management.index import Plugin, PluginIndex, library_roots
from brainscore_core.plugin_management.registry import KINDS, unknown_identifier
from brainscore_core.supported_data_standards.brainio.access import public_variant
from brainscore_vision._references import Reference, constant, find_references

__all__ = ["Entry", "StoredFile", "add_commands", "clean", "entries", "verify"]

_LIBRARY = "brainscore_vision"
_DATA_KINDS = (KINDS["data"], KINDS["stimulus_set"])
_DIGEST = re.compile("[0-9a-f]{40}")
DAMAGED = 1
"""Exit code if a cached file is damaged."""


@dataclass(frozen=True, kw_only=True)
class StoredFile:
    """A file in S3 and where its copy is kept.

    Attributes
    ----------
    source : S3Object
        Bucket, key, version and digest.
    path : Path
        Of the copy, whether it exists or not.
    """

    source: Any  # S3Object: its module is only imported when there are files
    path: Path

    @property
    def is_cached(self) -> bool:
        """Whether there is a copy."""
        return self.path.is_file()

    @property
    def size_bytes(self) -> int:
        """What the copy takes on the disk, with what was extracted from it."""
        if not self.is_cached:
            return 0
        return self.path.stat().st_size + (_folder_bytes(self.path.with_suffix("")) if _is_archive(self.path) else 0)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Something that a data plugin registers.

    Attributes
    ----------
    kind : {'data', 'stimulus_set'}
        Which registry.
    identifier : str
        Key in it.
    plugin : Plugin
        Who registers it.
    files : tuple of StoredFile
        What the registration names; empty for data that are generated or whose files only the running plugin knows.
    """

    kind: str
    identifier: str
    plugin: Plugin
    files: tuple[StoredFile, ...] = ()

    @property
    def cached(self) -> str:
        """``'yes'``, ``'partly'``, ``'no'``, or ``'-'`` if no files are known."""
        there = sum(file.is_cached for file in self.files)
        if not self.files:
            return "-"
        return "yes" if there == len(self.files) else "partly" if there else "no"

    @property
    def size_bytes(self) -> int:
        """What its copies take on the disk."""
        return sum(file.size_bytes for file in self.files)


def entries(identifier: str | None = None, *, index: PluginIndex | None = None) -> list[Entry]:
    """Return what data plugins register; none of them is imported.

    Parameters
    ----------
    identifier : str, optional
        Only what is registered under it: an assembly, a stimulus set, or both. None is everything.
    index : PluginIndex, optional
        Which plugins there are; None stands for those of the library.

    Raises
    ------
    UnknownIdentifierError
        No plugin registers the identifier literally.
    """
    index = index or PluginIndex(library_roots(_LIBRARY))
    found = [
        Entry(kind=kind.name, identifier=name, plugin=plugin, files=_stored(plugin, kind.registry, name))
        for plugin in index.plugins("data")
        for kind in _DATA_KINDS
        for name in dict.fromkeys(plugin.identifiers(kind))
        if identifier in (None, name)
    ]
    if identifier is not None and not found:
        known = [name for kind in _DATA_KINDS for name in index.identifiers(kind)]
        raise unknown_identifier(_DATA_KINDS[0], identifier, library=_LIBRARY, known=dict.fromkeys(known))
    return sorted(found, key=lambda entry: (entry.identifier.casefold(), entry.identifier, entry.kind))


def _stored(plugin: Plugin, registry: str, identifier: str) -> tuple[StoredFile, ...]:
    references = find_references(plugin.directory, registry, identifier)
    try:
        return tuple(_locate(reference) for reference in references)
    except ConfigurationError as error:  # one wrong registration does not keep the others from being listed
        command_line.say(f"Warning: {plugin.init_file}: {error}")
        return ()


def _locate(reference: Reference) -> StoredFile:
    from brainscore_core.supported_data_standards.brainio import s3  # imports pandas

    source, path = s3.locate(
        reference.identifier,
        reference.file_type,
        reference.bucket,
        reference.version_id,
        reference.sha1,
        reference.filename_prefix,
    )
    return StoredFile(source=source, path=path)


def _data_home() -> Path:
    from brainscore_core.supported_data_standards.brainio.fetch import get_local_data_path  # imports pandas

    return get_local_data_path()


def _is_archive(path: Path) -> bool:
    return path.suffix == ".zip"


def _folder_bytes(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else 0


def verify(found: Iterable[Entry] | None = None) -> tuple[int, list[str]]:
    """Hash cached files again, whatever was noted about them, and compare extracted archives byte by byte.

    Parameters
    ----------
    found : iterable of Entry, optional
        Whose files; None is every file in the data home whose digest is known, registered or not.

    Returns
    -------
    int
        How many files were verified.
    list of str
        What is damaged, a line for each.
    """
    if found is None:
        wanted = _digests_by_path()
    else:
        files = [file for entry in found for file in entry.files if file.is_cached]
        wanted = {file.path: file.source.sha1.lower() for file in files if file.source.sha1}
    problems = [problem for path, sha1 in sorted(wanted.items()) for problem in _problems(path, sha1)]
    return len(wanted), problems


def _digests_by_path() -> dict[Path, str]:
    # The cache keeps a file in a folder that is called after its digest.
    return {
        path: folder.name
        for folder in _digest_folders(_data_home())
        for path in folder.iterdir()
        if path.is_file() and not path.name.startswith(".") and path.suffix != ".lock"
    }


def _digest_folders(home: Path) -> list[Path]:
    if not home.is_dir():
        return []
    return sorted(
        path for path in home.iterdir() if _DIGEST.fullmatch(path.name) and path.is_dir() and not path.is_symlink()
    )


def _problems(path: Path, sha1: str) -> list[str]:
    from brainscore_core.caching import file_digest  # imports NumPy
    from brainscore_core.supported_data_standards.brainio.fetch import check_extracted

    digest = file_digest(path)
    if digest != sha1:
        return [f"{path} is damaged: expected sha1 {sha1}, found {digest}"]
    try:
        return check_extracted(path) if _is_archive(path) else []
    except CorruptFileError as error:
        return [str(error)]


def clean(found: Iterable[Entry] | None = None, *, dry_run: bool = False) -> list[tuple[Path, int]]:
    """Remove cached files, with what was extracted from them; nothing outside of the data home.

    Parameters
    ----------
    found : iterable of Entry, optional
        Whose files; None is everything that was cached by its digest, registered or not.
    dry_run : bool
        Only say what would be removed.

    Returns
    -------
    list of (Path, int)
        Each folder and how many bytes were in it.
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
            # A process that looks while we remove sees all of it or nothing.
            doomed = home / f".removed.{secrets.token_hex(8)}"
            folder.rename(doomed)
            shutil.rmtree(doomed)
    return removed


def _is_below(folder: Path, home: Path) -> bool:
    inside, root = folder.resolve(), home.resolve()
    return not folder.is_symlink() and inside != root and inside.is_relative_to(root)


# --- Command line -----------------------------------------------------------------------------------------------------


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command ``data`` to a command line; each parser sets ``command``, a function of the parsed options.

    Parameters
    ----------
    commands : argparse subparsers
        As returned by ``ArgumentParser.add_subparsers``.
    """
    data = commands.add_parser("data", help="list, describe, fetch, verify or remove data")
    actions = data.add_subparsers(required=True, metavar="ACTION")

    def add(name: str, command: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        parser = actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        parser.add_argument("--traceback", action="store_true", help="show the Python traceback of an error")
        parser.set_defaults(command=command)
        return parser

    listing = add("list", _list, "list what is registered, whether it is cached, and its size on the disk")
    listing.add_argument("--cached", action="store_true", help="only what is cached")
    add("info", _info, "describe data: plugin, files, licence, citation").add_argument("identifier")
    add("fetch", _fetch, "fetch data and load them once").add_argument("identifier", nargs="+")
    verifying = add("verify", _verify, "hash cached files again and report the damaged ones (exit code 1)")
    verifying.add_argument("identifier", nargs="*", help="default: everything that is cached")
    cleaning = add("clean", _clean, "remove cached files")
    what = cleaning.add_mutually_exclusive_group(required=True)
    what.add_argument("identifier", nargs="?", help="whose files")
    what.add_argument("--all", action="store_true", help="everything that is cached")
    cleaning.add_argument("--dry-run", action="store_true", help="only say what would be removed")


def _list(options: argparse.Namespace) -> int:
    shown = [entry for entry in entries() if not options.cached or entry.cached in {"yes", "partly"}]
    rows = [("IDENTIFIER", "KIND", "CACHED", "SIZE", "PLUGIN")] + [
        (entry.identifier, entry.kind, entry.cached, _size(entry.size_bytes), entry.plugin.name) for entry in shown
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        _print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0


def _info(options: argparse.Namespace) -> int:
    found = entries(options.identifier)
    for entry in found:
        _print(f"{entry.identifier} ({entry.kind})")
        _print(f"  plugin    {entry.plugin.directory}")
        _print(f"  cached    {entry.cached}, {_size(entry.size_bytes)}")
        for file in entry.files:
            _print(f"  bucket    {file.source.bucket}")
            _print(f"    key     {file.source.key}")
            _print(f"    version {file.source.version_id or 'newest'}")
            _print(f"    sha1    {file.source.sha1 or 'not given'}")
            _print(f"    file    {file.path}{'' if file.is_cached else ' (absent)'}")
        if not entry.files:
            _print("  files     none that are known without running the plugin")
    directory = found[0].plugin.directory
    index = PluginIndex(library_roots(_LIBRARY))
    variant = public_variant(options.identifier, [name for kind in _DATA_KINDS for name in index.identifiers(kind)])
    if variant is not None:
        _print(f"  public    {variant}")
    _print(f"  licence   {_licence(directory) or 'not stated by the plugin'}")
    _print(f"  citation  {constant(directory, 'BIBTEX') or 'not stated by the plugin'}")
    return 0


def _licence(directory: Path) -> str | None:
    stated = constant(directory, "LICENSE", "LICENCE")
    if stated is not None:
        return stated
    for path in sorted(directory.glob("LICEN[SC]E*")):
        lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return f"{lines[0] if lines else ''} ({path})"
    return None


def _fetch(options: argparse.Namespace) -> int:
    from brainscore_vision.loading import load_dataset, load_stimulus_set

    load = {"data": load_dataset, "stimulus_set": load_stimulus_set}
    wanted = [entry for identifier in options.identifier for entry in entries(identifier)]  # all known, or none
    for entry in wanted:
        command_line.say(f"Fetching {entry.identifier} ({entry.kind}) ...")
        loaded: Any = load[entry.kind](entry.identifier)
        shape = getattr(loaded, "sizes", None) or {"stimuli": len(loaded)}
        described = ", ".join(f"{size} {name}" for name, size in shape.items())
        _print(f"{entry.identifier} ({entry.kind}): {type(loaded).__name__}, {described}, {_size(entry.size_bytes)}")
    return 0


def _verify(options: argparse.Namespace) -> int:
    wanted = [entry for identifier in options.identifier for entry in entries(identifier)]
    count, problems = verify(wanted if options.identifier else None)
    for problem in problems:
        _print(problem)
    _print(f"{count} files verified, {len(problems)} problems.")
    if problems:
        command_line.say("Remove what is damaged (data clean IDENTIFIER) and fetch it again.")
    return DAMAGED if problems else 0


def _clean(options: argparse.Namespace) -> int:
    removed = clean(None if options.all else entries(options.identifier), dry_run=options.dry_run)
    for folder, size_bytes in removed:
        _print(f"{'Would remove' if options.dry_run else 'Removed'} {folder} ({_size(size_bytes)})")
    _print(f"{_size(sum(size_bytes for _, size_bytes in removed))} in {len(removed)} folders.")
    return 0


def _size(size_bytes: int) -> str:
    size = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def _print(line: str) -> None:
    print(line)  # noqa: T201 - a command line talks
