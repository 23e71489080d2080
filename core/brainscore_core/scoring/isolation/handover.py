"""Copy a stranger's files into a folder that only we write: no later box then gets a stranger's path.

Everything is opened relative to an open folder, without following links. Set-user-id bits do not arrive.
"""

from __future__ import annotations

import logging
import os
import posixpath
import shutil
import stat
import unicodedata
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_core.errors import IsolationError

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_FILES, _MOST_DEPTH, _MOST_LINKS = 200_000, 64, 40
_MOST_BYTES = 256 * 2**30
_CHUNK = 2**22
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_logger = logging.getLogger(__name__)


def take_over(source: Path, target: Path, *, most_bytes: int = _MOST_BYTES, most_files: int = _MOST_FILES) -> list[str]:
    """Copy the regular files below a folder that a stranger wrote, remove that folder, and return the entries left out.

    A link to a regular file within the folder becomes that file; other links and special files are left out and logged.
    Nothing may write to `source` any more, and only we to the parent of `target`, whose folders and programs get mode
    0700, files 0600. Raises `IsolationError` if files are too many, too large, too deep or have names that are not
    plain text.
    """
    target.mkdir(mode=0o700)
    try:
        with _opened(source) as theirs, _opened(target) as ours:
            copy = _Copy(most_bytes, most_files)
            copy.folder(theirs, ours, ())
            copy.make_links(ours)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    left_out = sorted(copy.left_out)
    if left_out:
        _logger.warning("Not taken over from a box: %s", ", ".join(map(ascii, left_out[:20])))
    shutil.rmtree(source, ignore_errors=True)
    return left_out


@contextmanager
def _opened(path: str | Path, folder: int | None = None) -> Iterator[int]:
    number = os.open(path, _FOLDER, dir_fd=folder)
    try:
        yield number
    finally:
        os.close(number)


class _Copy:
    """Copy folders between two open ones, counting their files and bytes."""

    def __init__(self, most_bytes: int, most_files: int) -> None:
        self._bytes_left, self._files_left = most_bytes, most_files
        self._files: set[str] = set()
        self._links: dict[str, str] = {}
        self.left_out: set[str] = set()

    def folder(self, theirs: int, ours: int, place: tuple[str, ...]) -> None:
        if len(place) > _MOST_DEPTH:
            raise IsolationError(f"A box left folders that are nested more than {_MOST_DEPTH} times.")
        for name in sorted(os.listdir(theirs)):
            if any(unicodedata.category(character) in ("Cc", "Cf", "Cs") for character in name):
                raise IsolationError(f"A box left a file whose name is not plain text: {ascii(name)[:200]}.")
            path = "/".join((*place, name))
            self._files_left -= 1
            if self._files_left < 0:
                raise IsolationError("A box left too many files to take over.")
            mode = os.stat(name, dir_fd=theirs, follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                os.mkdir(name, 0o700, dir_fd=ours)
                with _opened(name, theirs) as below, _opened(name, ours) as new:
                    self.folder(below, new, (*place, name))
            elif stat.S_ISREG(mode):
                self._file(name, theirs, ours)
                self._files.add(path)
            elif stat.S_ISLNK(mode):
                self._links[path] = os.readlink(name, dir_fd=theirs)
            else:
                self.left_out.add(path)

    def _file(self, name: str, theirs: int, ours: int) -> None:
        with os.fdopen(os.open(name, _FILE, dir_fd=theirs), "rb") as source:
            found = os.fstat(source.fileno())
            mode = found.st_mode
            if not stat.S_ISREG(mode):  # it was one a moment ago
                raise IsolationError(f"{name!a} was replaced while it was taken over.")
            if found.st_size > self._bytes_left:
                raise IsolationError("A box left files that are too large to take over.")
            is_program = bool(mode & stat.S_IXUSR)
            with os.fdopen(os.open(name, _NEW, 0o700 if is_program else 0o600, dir_fd=ours), "wb") as copy:
                while chunk := source.read(_CHUNK):
                    self._bytes_left -= len(chunk)
                    if self._bytes_left < 0:
                        raise IsolationError("A box left files that are too large to take over.")
                    if chunk.count(0) == len(chunk):  # a hole stays one: it must not fill the disk
                        copy.seek(len(chunk), os.SEEK_CUR)
                    else:
                        copy.write(chunk)
                copy.truncate()

    def make_links(self, ours: int) -> None:
        for path in self._links:
            end = self._end_of(path)
            if end in self._files:
                os.link(end, path, src_dir_fd=ours, dst_dir_fd=ours, follow_symlinks=False)
            else:
                self.left_out.add(path)

    def _end_of(self, path: str) -> str | None:
        """Return the path that a chain of links ends at; None if it leaves the folder or never ends."""
        for _ in range(_MOST_LINKS):
            if path not in self._links:
                return path
            goal = self._links[path]
            path = posixpath.normpath(posixpath.join(posixpath.dirname(path), goal))
            if goal.startswith("/") or path == ".." or path.startswith("../"):
                return None
        return None
