"""Give a folder for a while; where its owner is killed, whoever takes the next one removes it.

Beside the folder lies a file that its owner holds locked, which ends with the process, whatever ends it. So a folder is
removed only when no living process owns it, also where several containers share the folder of temporary files.
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

__all__ = ["work_folder"]

_LOCK = ".lock"


@contextmanager
def work_folder(prefix: str) -> Iterator[Path]:
    """Give an empty folder among the temporary files, which is removed after the block; see the module.

    Parameters
    ----------
    prefix : str
        Of its name; folders of this prefix, of this user, that no living process owns are removed first. Where there
        are no locks (Windows, some file systems of networks), those stay.
    """
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
        except OSError:  # no locks here: nobody else gets one either
            return Path(name), number
        os.close(number)  # somebody took it for left before it was locked


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
    """Tell whether an open file is still the one of this name."""
    try:
        return os.path.samestat(os.fstat(number), path.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False


def _locked(number: int) -> bool:
    """Lock an open file for as long as it is open; False if somebody else has."""
    if sys.platform == "win32":
        raise OSError("there are no such locks")
    import fcntl

    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
