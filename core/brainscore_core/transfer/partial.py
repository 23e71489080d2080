"""Keep the parts of a file that have arrived, so a later attempt only fetches the rest."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from brainscore_core.errors import BrainScoreError, DownloadError
from brainscore_core.files import DISK_FULL, NOT_WRITABLE


class PartialFile:
    """A hidden file beside its locked target, with a list of the parts in it, each added after its last byte."""

    def __init__(self, target: Path) -> None:
        self.path = target.with_name(f".{target.name}.part")
        self.list_path = target.with_name(f".{target.name}.part.list")
        self._mutex = threading.Lock()  # parts arrive in several threads

    def start(self, identity: Mapping[str, object], size_bytes: int, part_bytes: int) -> list[tuple[int, int]]:
        """Continue an earlier download of the same object, or start again; return (first byte, end) of missing parts.

        The object is the same if its ``identity`` and sizes are.
        """
        header = json.dumps({**identity, "size_bytes": size_bytes, "part_bytes": part_bytes}, sort_keys=True)
        begins = range(0, size_bytes, part_bytes)
        arrived = self._listed(header, size_bytes)
        if arrived is None:
            self.discard()
            with self.path.open("wb") as stream:
                stream.truncate(size_bytes)
            self.list_path.write_text(f"{header}\n", encoding="utf-8")
            arrived = set()
        return [(begin, min(begin + part_bytes, size_bytes)) for begin in begins if begin not in arrived]

    def _listed(self, header: str, size_bytes: int) -> set[int] | None:
        try:
            first, *begins = self.list_path.read_bytes().decode("utf-8").split("\n")
            if first != header or self.path.stat().st_size != size_bytes:
                return None
            return {int(begin) for begin in begins[:-1]}  # the text after the last line end was cut off
        except (OSError, ValueError):  # absent or damaged: start again
            return None

    def opened(self, position: int) -> BinaryIO:
        """Open the file for writing at a position."""
        stream = self.path.open("r+b")
        stream.seek(position)
        return stream

    def add(self, begin: int) -> None:
        """List the part that starts at a byte."""
        with self._mutex, self.list_path.open("a", encoding="utf-8") as stream:
            stream.write(f"{begin}\n")

    def publish(self, target: Path) -> None:
        """Give the complete file, once on the disk, its name."""
        with self.path.open("rb") as stream:
            os.fsync(stream.fileno())
        self.path.replace(target)
        self.list_path.unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove file and list."""
        self.list_path.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)


@contextmanager
def storing(what: str, target: Path) -> Iterator[None]:
    """Turn the error of a full or read-only disk into a `DownloadError` that names the file and its target."""
    try:
        yield
    except BrainScoreError:
        raise
    except OSError as error:
        if error.errno in DISK_FULL:
            PartialFile(target).discard()  # a full disk hinders everybody
            raise DownloadError(
                f"The disk is full: {what} does not fit into {target.parent}. What had arrived was removed. Make "
                "room, or move the cache to another disk (BRAINIO_HOME for data, BRAINSCORE_HOME for weights)."
            ) from error
        if error.errno in NOT_WRITABLE:
            raise DownloadError(
                f"{what} is not at {target}, and cannot be put there ({error.strerror}). Ask whoever keeps that "
                "folder to fetch it, or set BRAINIO_HOME (data) or BRAINSCORE_HOME (weights) to a folder of your own."
            ) from error
        raise
