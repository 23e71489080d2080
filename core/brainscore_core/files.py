"""Write files and folders whole or not at all, and lock them between processes."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from brainscore_core.config import memory_budget, settings
from brainscore_core.errors import ConfigurationError

__all__ = ["DISK_FULL", "NOT_WRITABLE", "atomic_directory", "atomic_path", "check_writable", "locked", "nameless_file"]

DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
NOT_WRITABLE = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


@contextmanager
def locked(path: str | Path, *, timeout_s: float = -1) -> Iterator[None]:
    """Hold a lock between processes, the file ``<path>.lock``; its folder is made if absent.

    Raises `filelock.Timeout` after ``timeout_s`` seconds; -1 waits for ever.
    """
    from filelock import FileLock  # imported when needed: start-up stays fast

    lock_path = Path(f"{path}.lock")
    lock_path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(lock_path, timeout=timeout_s):
        yield


@contextmanager
def atomic_path(target: str | Path) -> Iterator[Path]:
    """Give a temporary path to write to; rename it to ``target`` unless the block raises.

    It is in the same folder, made if absent, with the same suffix.
    """
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary_name(target)
    temporary.touch(exist_ok=False)  # with the rights of any new file; those of `tempfile` would stay private
    try:
        yield temporary
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_writable(target: str | Path) -> None:
    """Raise `ConfigurationError` unless a file can be written there; make nothing."""
    path = Path(target).absolute()
    existing = next(folder for folder in path.parents if os.access(folder, os.F_OK))
    if not existing.is_dir():
        reason = f"{existing} is a file"
    elif not os.access(existing, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        reason = f"{existing} is read-only"
    elif path.is_dir():
        reason = "it is a folder"
    else:
        return
    raise ConfigurationError(f"{target} cannot be written: {reason}. Name another place.")


@contextmanager
def atomic_directory(target: str | Path) -> Iterator[Path]:
    """Give an empty folder to fill, beside ``target``; rename it unless the block raises. The target must not exist."""
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary_name(target)
    temporary.mkdir()
    try:
        yield temporary
        temporary.rename(target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def nameless_file(size_bytes: int) -> IO[bytes]:
    """Open a file for an array beyond the memory budget; it vanishes with the process, or with its last memory map.

    It lies in the cache of the Brain-Score home. Raises `OSError` with the remedy if that disk lacks room for
    `size_bytes`: running out later would end the process.
    """
    folder = settings().cache_home / "activations"
    folder.mkdir(parents=True, exist_ok=True)
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < size_bytes:
        raise OSError(
            errno.ENOSPC,
            f"The activations take {size_bytes / 1e9:.1f} GB, more than BRAINSCORE_MEMORY_GB allows in memory "
            f"({memory_budget() / 1e9:.1f}), and {folder} has {free_bytes / 1e9:.1f} GB free. Ask for fewer layers, "
            "make room, or set BRAINSCORE_HOME to a larger disk",
        )
    return tempfile.TemporaryFile(dir=folder)


def _temporary_name(target: Path) -> Path:
    return target.with_name(f".{target.stem[:60]}.{os.urandom(8).hex()}{target.suffix}")
