"""Stamp files: a stamp differs after each change of the file, which need not be read."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from brainscore_core.files import DISK_FULL, NOT_WRITABLE, atomic_path

__all__ = ["Stamp", "file_stamp", "folder_stamps", "note", "recall", "remember", "stamp_of"]

_logger = logging.getLogger(__name__)


class Stamp(NamedTuple):
    """Size in bytes, times of the last change of content and of status (ns since 1970), and inode of a file.

    No program can set ``changed_ns``, so restoring times changes the stamp.
    """

    size_bytes: int
    modified_ns: int
    changed_ns: int
    inode: int


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the stamp from the result of `os.stat`."""
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def file_stamp(path: str | Path) -> Stamp | None:
    """Return the stamp of a file or folder, None if it cannot be reached."""
    try:
        return stamp_of(os.stat(path))  # noqa: PTH116 - thousands at a time: a Path each would double the time
    except OSError:
        return None


def folder_stamps(folder: Path, pattern: str = "*") -> Iterator[tuple[str, Stamp]]:
    """Yield path and stamp of each matching file below a folder, sorted, without byte code."""
    for file in sorted(folder.rglob(pattern)):
        if "__pycache__" not in file.parts and file.is_file() and (stamp := file_stamp(file)):
            yield str(file), stamp


# -- facts about a file, kept beside it --------------------------------------------------------------------------------


def recall(file: Path) -> dict[str, Any]:
    """Return the facts that `remember` stored about a file that has not changed since."""
    try:
        memo = json.loads(_memo_path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # absent or not ours
        return {}
    stamp = file_stamp(file)
    return memo if isinstance(memo, dict) and stamp and memo.get("stamp") == list(stamp) else {}


def remember(file: Path, facts: Mapping[str, str | None]) -> None:
    """Store facts about a file, such as its digest, until it changes."""
    note(_memo_path(file), json.dumps({"stamp": file_stamp(file), **facts}))


def note(path: Path, text: str) -> None:
    """Write a small file, unless the disk is full or read-only, which only costs hashing again."""
    try:
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        if error.errno not in DISK_FULL | NOT_WRITABLE:
            raise
        _logger.debug("Cannot write %s: %s", path, error)


def _memo_path(file: Path) -> Path:
    return file.with_name(f".{file.name}.fetched.json")
