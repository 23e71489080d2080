"""Notice which files the code of a model opens while it runs, to find those that no key of the cache knows."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import brainscore_core
from brainscore_vision.model_helpers.activations.sources import is_installed

__all__ = ["OpenedFiles"]

_CODE = frozenset({".py", ".pyc", ".pyi", ".so", ".pyd"})  # counts, or is installed
_SYSTEM = ("/proc", "/sys", "/dev", "/etc", "/usr", "/lib")


@dataclass
class OpenedFiles:
    """The files that somebody's code has read, as far as Python opens them.

    Attributes
    ----------
    read, written : set of str
        Absolute paths. What was written anew and read afterwards is only among the latter.
    """

    read: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)

    @contextmanager
    def noticing(self, besides: Collection[str] = ()) -> Iterator[None]:
        """Notice what is opened inside this block by this thread and task, besides some files, such as stimuli."""
        _install()
        token = _noticing.set((self, {*map(os.path.abspath, besides)}))
        try:
            yield
        finally:
            _noticing.reset(token)

    def unknown(self, counted: Collection[str]) -> list[str]:
        """Return the files that were read and are neither among those that count nor part of what is installed."""
        return sorted(path for path in self.read.difference(counted) if not _is_part_of_the_system(path))


_noticing: ContextVar[tuple[OpenedFiles, set[str]] | None] = ContextVar("brainscore_opened_files", default=None)


@lru_cache(maxsize=1)
def _install() -> None:
    sys.addaudithook(_audit)  # for good: Python has no way to take it back


def _audit(
    event: str,
    arguments: tuple[object, ...],
    noticing: ContextVar[tuple[OpenedFiles, set[str]] | None] = _noticing,  # globals are gone when Python ends
) -> None:
    if event != "open":
        return
    noticed = noticing.get()
    if noticed is not None:
        _note(*noticed, *arguments)


def _note(opened: OpenedFiles, besides: Collection[str], path: object, mode: object, flags: object) -> None:
    if not isinstance(path, (str, bytes, os.PathLike)):
        return  # a file that is open already
    name = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - as `besides`
    if _makes(mode, flags):
        opened.written.add(name)
    elif _reads(mode, flags) and name not in besides and name not in opened.written:
        opened.read.add(name)


def _makes(mode: object, flags: object) -> bool:
    """Whether nothing of what was in a file before is left."""
    if isinstance(mode, str):
        return "w" in mode or "x" in mode
    return isinstance(flags, int) and bool(flags & (os.O_TRUNC | os.O_EXCL))


def _reads(mode: object, flags: object) -> bool:
    if isinstance(mode, str):
        return "r" in mode or "+" in mode
    return isinstance(flags, int) and not flags & os.O_WRONLY


def _is_part_of_the_system(path: str) -> bool:
    if Path(path).suffix in _CODE or is_installed(path) or not os.path.isfile(path):  # noqa: PTH113 - as above
        return True
    places = [*_SYSTEM, sys.prefix, sys.base_prefix, str(Path(brainscore_core.__file__).parent)]
    return any(path.startswith(f"{place}{os.sep}") for place in places)
