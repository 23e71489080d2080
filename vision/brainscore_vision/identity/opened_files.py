"""Watch which files a model's code opens, to find those missing from the cache key."""

import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import brainscore_core
from brainscore_vision.identity.sources import is_installed

__all__ = ["OpenedFiles"]

_CODE = frozenset({".py", ".pyc", ".pyi", ".so", ".pyd"})  # digested or installed
_SYSTEM = ("/proc", "/sys", "/dev", "/etc", "/usr", "/lib")


@dataclass
class OpenedFiles:
    """The absolute paths of files that a model's code opened through Python.

    A file that was created before it was read is only in `written`.
    """

    read: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)

    @contextmanager
    def noticing(self, besides: Collection[str] = ()) -> Iterator[None]:
        """Watch the files that this thread and task open in the block, except `besides`, such as stimuli."""
        _install()
        token = _noticing.set((self, {*map(os.path.abspath, besides)}))
        try:
            yield
        finally:
            _noticing.reset(token)

    def unknown(self, counted: Collection[str]) -> list[str]:
        """Return the files that were read and are neither in `counted` nor installed."""
        return sorted(path for path in self.read.difference(counted) if not _is_part_of_the_system(path))


_noticing: ContextVar[tuple[OpenedFiles, set[str]] | None] = ContextVar("brainscore_opened_files", default=None)


@lru_cache(maxsize=1)
def _install() -> None:
    sys.addaudithook(_audit)  # Python cannot remove it again


def _audit(
    event: str,
    arguments: tuple[object, ...],
    noticing: ContextVar[tuple[OpenedFiles, set[str]] | None] = _noticing,  # globals are gone when Python ends
) -> None:
    if event != "open":
        return
    watch = noticing.get()
    if watch is not None:
        _note(*watch, *arguments)


def _note(opened: OpenedFiles, besides: Collection[str], path: object, mode: object, flags: object) -> None:
    if not isinstance(path, (str, bytes, os.PathLike)):
        return  # a file descriptor
    name = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - as `besides`
    if isinstance(mode, str):
        replaces, reads = "w" in mode or "x" in mode, "r" in mode or "+" in mode
    else:
        bits = flags if isinstance(flags, int) else os.O_WRONLY
        replaces, reads = bool(bits & (os.O_TRUNC | os.O_EXCL)), not bits & os.O_WRONLY
    if replaces:
        opened.written.add(name)
    elif reads and name not in besides and name not in opened.written:
        opened.read.add(name)


def _is_part_of_the_system(path: str) -> bool:
    if Path(path).suffix in _CODE or is_installed(path) or not os.path.isfile(path):  # noqa: PTH113 - as above
        return True
    places = [*_SYSTEM, sys.prefix, sys.base_prefix, str(Path(brainscore_core.__file__).parent)]
    return any(path.startswith(f"{place}{os.sep}") for place in places)
