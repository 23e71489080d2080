"""Report the start and end of each pair of a batch, line by line in a file.

The scoring process appends; its parent reads within bounds, since a model there may write anything.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Literal

from pydantic import TypeAdapter

from brainscore_core.errors import CorruptFileError
from brainscore_core.untrusted import Name, checked, parse

__all__ = ["EventReader", "Step", "append_event"]

_MOST_BYTES = 8 * 2**10  # of a line
_MOST_AT_A_TIME = 2**16

Step = Literal["started", "ended"]
"""A pair that has ended has a record."""

_LINE: TypeAdapter[tuple[Step, str]] = TypeAdapter(tuple[Step, Name])


def append_event(file: Path, step: Step, benchmark: str) -> None:
    """Append a line to a file in a single write."""
    with file.open("ab", buffering=0) as stream:
        stream.write(f"{json.dumps([step, benchmark])}\n".encode())


class EventReader:
    """Read the events of a growing file, at most three for each pair; a context manager.

    The file is created, and read even if another takes its place.
    """

    def __init__(self, file: Path, n_pairs: int) -> None:
        self._stream = file.open("x+b", buffering=0)
        self._unread = 3 * n_pairs * _MOST_BYTES
        self._line_start = b""

    def new(self) -> Iterator[tuple[Step, str]]:
        """Yield step and benchmark of each whole line written since the last call."""
        chunk = os.read(self._stream.fileno(), min(self._unread, _MOST_AT_A_TIME))
        self._unread -= len(chunk)
        *lines, self._line_start = (self._line_start + chunk).split(b"\n")
        for line in lines:
            try:
                yield checked(_LINE, parse(line, "event", _MOST_BYTES), "event")
            except CorruptFileError:
                continue

    def __enter__(self) -> EventReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()
