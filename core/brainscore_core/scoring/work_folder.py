"""Give a temporary folder; if its owner is killed, the next owner of one removes it.

The owner's lock on a file beside it ends with its process, even if containers share the temporary folder.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_LOCK = ".lock"


@contextmanager
def work_folder(prefix: str) -> Iterator[Path]:
    """Give an empty temporary folder; remove it, and abandoned ones of this user and prefix."""
    parent = Path(tempfile.gettempdir())
    for lock in parent.glob(f"{prefix}*{_LOCK}"):
        with suppress(OSError):
            _remove_if_left(lock)
    lock, number = _new_lock(prefix)
    folder = lock.with_suffix("")
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.unlink(missing_ok=True)
        os.close(number)


def _new_lock(prefix: str) -> tuple[Path, int]:
    while True:
        number, name = tempfile.mkstemp(prefix=prefix, suffix=_LOCK)
        try:
            if _locked(number) and _is_at(number, Path(name)):
                return Path(name), number
        except OSError:  # no locks here, for any process
            return Path(name), number
        os.close(number)  # removed as abandoned before it was locked


def _remove_if_left(lock: Path) -> None:
    number = os.open(lock, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        status = os.fstat(number)
        is_mine = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if is_mine and _locked(number) and _is_at(number, lock):
            shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
            lock.unlink()
    finally:
        os.close(number)


def _is_at(number: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(number), path.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False


def _locked(number: int) -> bool:
    """Lock an open file until it is closed; False if another process holds the lock."""
    if sys.platform == "win32":
        raise OSError("there are no such locks")
    import fcntl  # not on Windows

    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
