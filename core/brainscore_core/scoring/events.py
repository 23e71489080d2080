"""Tell, line by line in a file, which pair of a batch has begun and which has ended.

The process that scores a batch writes, the one that has started it reads meanwhile. Whoever runs in the writing process
may write anything: what is no event is passed over, and no more is read than events can take.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

from pydantic import TypeAdapter

from brainscore_core.errors import CorruptFileError
from brainscore_core.untrusted import Line, Name, Untrusted, checked, parse

__all__ = ["Event", "EventReader", "append_event"]

_MOST_BYTES = 8 * 2**10  # of a line
_MOST_AT_A_TIME = 2**16


@dataclass(frozen=True, kw_only=True)
class Event(Untrusted):
    """What happened to a pair.

    Attributes
    ----------
    event : 'started' or 'ended'
        A pair that has ended has a record.
    benchmark : str
        Identifier.
    status : str
        Of the record of a pair that has ended.
    """

    event: Literal["started", "ended"]
    benchmark: Name
    status: Line = ""


_EVENT = TypeAdapter(Event)


def append_event(file: Path, event: Literal["started", "ended"], benchmark: str, status: str = "") -> None:
    """Write an event at the end of a file, in one piece."""
    line = json.dumps({"event": event, "benchmark": benchmark, "status": status}) + "\n"
    with file.open("ab", buffering=0) as stream:
        stream.write(line.encode())


class EventReader:
    """Reads the events of a file that grows; use it in `with`.

    Parameters
    ----------
    file : Path
        It is made, and this very file is read whatever somebody puts in its place.
    n_pairs : int
        How many pairs there are: of more than three events each nothing is read.
    """

    def __init__(self, file: Path, n_pairs: int) -> None:
        self._stream = file.open("x+b", buffering=0)
        self._left = 3 * n_pairs * _MOST_BYTES
        self._begun = b""

    def new(self) -> Iterator[Event]:
        """Yield the events that have been written, whole, since this was last asked."""
        chunk = os.read(self._stream.fileno(), min(self._left, _MOST_AT_A_TIME))
        self._left -= len(chunk)
        *lines, self._begun = (self._begun + chunk).split(b"\n")
        for line in lines:
            try:
                yield checked(_EVENT, parse(line, "event", _MOST_BYTES), "wrong at event")
            except CorruptFileError:
                continue

    def __enter__(self) -> EventReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()
