"""Write files and folders whole or not at all, and lock them between processes."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from brainscore_core.config import memory_budget, settings
from brainscore_core.errors import ConfigurationError, LockTimeoutError

__all__ = [
    "DISK_FULL", "LOCKS", "NOT_WRITABLE",
    "atomic_directory", "atomic_path", "check_writable", "locked", "nameless_file",
]  # fmt: skip

DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
NOT_WRITABLE = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
LOCKS = ".locks"
"""Subfolder for locks in each folder that boxes may read; boxes see it empty."""
_WARNING_AFTER_S = 10.0
_logger = logging.getLogger(__name__)


@contextmanager
def locked(path: str | Path, *, timeout_s: float | None = None) -> Iterator[None]:
    """Hold a lock between processes, the file ``<path>.lock``; make the folder of `path` if absent.

    Read-only files can be locked too: the locks of weights and data, which boxes read, are in `LOCKS` of their home.
    This folder moves with the home, so everyone who shares a home through links shares its locks. After 10 s a warning
    says which process holds the lock.

    Raises `LockTimeoutError`, which says the same, after ``timeout_s`` seconds; None: ``BRAINSCORE_LOCK_S``.
    """
    from filelock import FileLock, Timeout  # imported when needed: start-up stays fast

    lock_path = _lock_path(Path(path).absolute())
    for folder in (lock_path.parent, Path(path).absolute().parent):
        folder.mkdir(parents=True, exist_ok=True)
    limit_s = settings().lock_s if timeout_s is None else timeout_s
    lock = FileLock(lock_path)
    for wait_s in (min(limit_s, _WARNING_AFTER_S), max(0, limit_s - _WARNING_AFTER_S)):
        with suppress(Timeout):
            lock.acquire(timeout=wait_s)
            break
        if wait_s == _WARNING_AFTER_S < limit_s:
            _logger.warning("Waiting for %s, which %s holds ...", lock_path, _holder(lock_path))
    else:
        raise LockTimeoutError(
            f"{lock_path} was locked by {_holder(lock_path)} for {limit_s:g} s. Wait for it to finish, stop it, or "
            "wait longer (BRAINSCORE_LOCK_S, seconds)."
        )
    try:
        yield
    finally:
        lock.release()


def _lock_path(path: Path) -> Path:
    for home in (settings().home / "weights", settings().data_home):
        if path != home and path.is_relative_to(home):
            return home / LOCKS / path.relative_to(home).with_name(f".{path.name}.lock")
    return Path(f"{path}.lock")


def _holder(lock_path: Path) -> str:
    with suppress(OSError):  # not on Linux, or the holder has removed it
        inode = f":{lock_path.stat().st_ino}"  # devices of layered file systems have other numbers there
        for fields in map(str.split, Path("/proc/locks").read_text(encoding="ascii").splitlines()):
            if fields[1] == "FLOCK" and fields[5].endswith(inode):
                return f"process {fields[4]}"
    return "another process"


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
    raise ConfigurationError(f"{target} cannot be written: {reason}. Choose another path.")


@contextmanager
def atomic_directory(target: str | Path) -> Iterator[Path]:
    """Yield an empty folder next to ``target``; rename it unless the block raises. The target must not exist."""
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
