"""Cache results by their content.

A key is the digest of everything that changes the result. An entry is written under a temporary name in the same
folder and renamed, so that it is either absent or whole; a file lock lets one process compute while others wait.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from brainscore_core.config import settings
from brainscore_core.files import atomic_path, locked

__all__ = ["cached_file"]

Result = TypeVar("Result")

_logger = logging.getLogger(__name__)


def cached_file(
    kind: str,
    key: str,
    suffix: str,
    *,
    write: Callable[[Result, Path], object],
    read: Callable[[Path], Result],
    compute: Callable[[], Result],
) -> Result:
    """Return the cached result under a content key, computing and storing it the first time.

    Parameters
    ----------
    kind : str
        Folder below the cache home, such as ``'activations'``.
    key : str
        A `content_digest` of everything that changes the result.
    suffix : str
        File name ending, such as ``'.nc'``.
    write : callable
        ``write(result, path)`` stores a result.
    read : callable
        ``read(path)`` restores it; an entry that cannot be read (`OSError`, `ValueError`) is computed anew.
    compute : callable
        Makes the result. Runs in one process at a time for one key, where the disk has locks.

    Notes
    -----
    A disk that is full, or may only be read, costs time and a warning, never the result.
    """
    current = settings()
    if current.caching_disabled:
        return compute()
    path = current.cache_home / kind / key[:2] / f"{key}{suffix}"
    found = _read_entry(path, read)  # whole or absent, so that no lock is needed
    if found:
        return found[0]
    with ExitStack() as held:
        try:
            held.enter_context(locked(path))
        except (OSError, NotImplementedError) as error:  # the latter where the file system has no locks
            _logger.warning("%s is computed without the cache, which cannot be used: %s", kind, error)
            return compute()
        found = _read_entry(path, read)  # somebody else may have computed it by now
        if found:
            return found[0]
        result = compute()
        try:
            with atomic_path(path) as temporary:
                write(result, temporary)
        except OSError as error:
            _logger.warning("%s is not cached, because %s cannot be written: %s", kind, path, error)
        return result


def _read_entry(path: Path, read: Callable[[Path], Result]) -> tuple[Result] | None:
    try:
        return (read(path),) if path.is_file() else None
    except (OSError, ValueError):
        return None
