"""Cache results in folders of bounded size, under keys that digest everything that changes the result.

Entries are absent or whole; a lock lets one process compute while others wait.

Three caches evict nothing: environments may be running, the plugin index has one file per plugin folder, and a mirror
belongs to the user.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from brainscore_core.config import settings
from brainscore_core.files import atomic_path, locked

__all__ = ["CacheEntry", "Store", "cache_limit_bytes", "cached_file"]

Result = TypeVar("Result")

_logger = logging.getLogger(__name__)

# Free bytes that this process has made in a cache with some limit and not used yet.
_reserved_bytes: dict[tuple[Path, int], int] = {}


def cache_limit_bytes() -> int:
    """Return the size limit of each cache: ``BRAINSCORE_CACHE_GB``, or a quarter of the disk."""
    current = settings()
    if current.cache_gb is not None:
        return int(current.cache_gb * 1e9)
    current.cache_home.mkdir(parents=True, exist_ok=True)
    return shutil.disk_usage(current.cache_home).total // 4


@dataclass(frozen=True, order=True)
class CacheEntry:
    """A file, or a folder of files, of a cache, ordered by the time of their last use (seconds since 1970)."""

    used: float
    size_bytes: int
    path: Path


class Store:
    """Cached results in a folder; the least recently used go beyond a size, by default `cache_limit_bytes`."""

    def __init__(self, folder: Path, limit_bytes: int | None = None, *, pattern: str = "*") -> None:
        self.folder = folder
        self._limit_bytes = limit_bytes
        self._pattern = pattern

    def entries(self) -> list[CacheEntry]:
        """Return all entries, the least recently used first."""
        return sorted(self._entries())

    def _entries(self) -> Iterator[CacheEntry]:
        for path in self.folder.glob(self._pattern):
            if path.name.startswith(".") or path.suffix == ".lock":
                continue
            files = []
            for file in path.iterdir() if path.is_dir() else [path]:
                with suppress(OSError):  # another process has removed it
                    files.append(file.stat())
            used = max((status.st_mtime for status in files), default=0.0)
            yield CacheEntry(used, sum(status.st_size for status in files), path)

    def size_bytes(self) -> int:
        """Return the size of all entries."""
        return sum(entry.size_bytes for entry in self._entries())

    def make_room(
        self, incoming_bytes: int = 0, *, remove: Callable[[Path], bool] = lambda path: _remove(path)
    ) -> list[CacheEntry]:
        """Remove the least recently used entries until the rest and `incoming_bytes` fit into the limit; return them.

        ``remove(path)`` returns False for one in use.
        """
        limit_bytes = cache_limit_bytes() if self._limit_bytes is None else self._limit_bytes
        entries = self.entries()
        total_bytes = incoming_bytes + sum(entry.size_bytes for entry in entries)
        removed = []
        for entry in entries:
            if total_bytes <= limit_bytes:
                break
            if remove(entry.path):
                removed.append(entry)
                total_bytes -= entry.size_bytes
        return removed

    def reserve(self, incoming_bytes: int) -> None:
        """Make room for a new entry plus a hundredth of the limit, to spare the next entries a scan of the folder.

        Each process counts its own entries, so several may exceed the limit.
        """
        limit_bytes = cache_limit_bytes() if self._limit_bytes is None else self._limit_bytes
        key = self.folder, limit_bytes
        if incoming_bytes > _reserved_bytes.get(key, 0):
            _reserved_bytes[key] = max(incoming_bytes, limit_bytes // 100)
            self.make_room(_reserved_bytes[key])
        _reserved_bytes[key] -= incoming_bytes

    def read_json(self, name: str) -> object:
        """Return an entry's content; None if it is absent or damaged, or caching is disabled."""
        if settings().caching_disabled:
            return None
        try:
            checksum, _, text = (self.folder / name).read_bytes().partition(b"\n")
            content: object = json.loads(text) if hashlib.sha256(text).hexdigest().encode() == checksum else None
        except (OSError, ValueError):
            return None
        return content

    def write_json(self, name: str, content: object) -> None:
        """Write an entry, below a line with its checksum, unless caching is disabled; warn if it fails."""
        if settings().caching_disabled:
            return
        path = self.folder / name
        text = json.dumps(content, separators=(",", ":")).encode("ascii")
        try:
            with atomic_path(path) as temporary:
                temporary.write_bytes(hashlib.sha256(text).hexdigest().encode() + b"\n" + text)
        except OSError as error:
            _logger.warning("%s cannot be written, so it is computed again each time: %s", path, error)


def _remove(path: Path) -> bool:
    path.unlink(missing_ok=True)
    return True


def cached_file(
    kind: str,
    key: str,
    suffix: str,
    *,
    write: Callable[[Result, Path], object],
    read: Callable[[Path], Result],
    compute: Callable[[], Result],
) -> Result:
    """Return a key's cached result; compute and store it the first time.

    A full or read-only disk only costs time and a warning.

    Parameters
    ----------
    kind
        Folder below the cache home, such as ``'activations'``.
    key
        A `content_digest`.
    suffix
        File name ending, such as ``'.nc'``.
    write, read
        ``write(result, path)`` and ``read(path)``; an entry that raises `OSError` or `ValueError` is computed again.
    compute
        Computes the result, in one process at a time for each key if the disk has locks.
    """
    current = settings()
    if current.caching_disabled:
        return compute()
    store = Store(current.cache_home / kind, pattern="*/*")
    path = store.folder / key[:2] / f"{key}{suffix}"
    entry = _read_entry(path, read)  # needs no lock: it is whole or absent
    if entry:
        return entry[0]
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(path))
        except (OSError, NotImplementedError) as error:  # the latter where the file system has no locks
            _logger.warning("%s is computed without the cache, which cannot be used: %s", kind, error)
            return compute()
        entry = _read_entry(path, read)  # another process may have computed it meanwhile
        if entry:
            return entry[0]
        result = compute()
        try:
            with atomic_path(path) as temporary:
                write(result, temporary)
                store.reserve(temporary.stat().st_size)
        except OSError as error:
            _logger.warning("%s is not cached, because %s cannot be written: %s", kind, path, error)
        return result


def _read_entry(path: Path, read: Callable[[Path], Result]) -> tuple[Result] | None:
    try:
        entry = (read(path),) if path.is_file() else None
    except (OSError, ValueError):
        return None
    if entry:
        with suppress(OSError):  # a cache on a read-only disk serves as well
            os.utime(path)
    return entry
