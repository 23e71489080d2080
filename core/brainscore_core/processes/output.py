"""Collect and forward a program's output: bounded, line by line, without secrets."""

from __future__ import annotations

import codecs
import io
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import IO

MOST_SHOWN_BYTES = 4 * 2**20
"""Output that is passed on by default."""

_MOST_KEPT = 2**18  # characters of the output
_LONGEST_LINE = 2**16  # longer lines are forwarded in parts
_LARGEST_SECRET = 8192  # characters, encoded


def scrub(text: str, secrets: Iterable[str]) -> str:
    """Return the text with every secret replaced by ``***``."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


def _read(stream: IO[bytes] | None, takers: list[Callable[[bytes], object]], errors: list[Exception]) -> None:
    """Read to the end even if a consumer fails, as an unread program blocks."""
    chunk = b"-"
    while chunk and stream is not None:
        chunk = os.read(stream.fileno(), 2**16)
        for take in list(takers):
            try:
                take(chunk)
            except Exception as error:  # noqa: BLE001 - raised where it can be handled, in the thread that waits
                errors.append(error)
                takers.remove(take)
    if stream is not None:
        stream.close()


class Listener:
    """Collects the start and end of a program's output, and forwards its lines until that raises one of `errors`."""

    def __init__(self, secrets: Sequence[str], show: Callable[[str], object] | None, most_shown: float) -> None:
        self.errors: list[Exception] = []
        self._secrets = secrets
        self._kept = _Output(_MOST_KEPT)
        self._turn = threading.Lock()
        self._takers: list[Callable[[bytes], object]] = [self._keep]
        if show:
            self._takers.append(_Lines(show, most_shown).take)

    def listen(self, stream: IO[bytes] | None) -> None:
        """Read the output until every writer has closed it."""
        _read(stream, self._takers, self.errors)

    def take(self) -> str:
        """Return the output since the last call, without secrets."""
        with self._turn:
            output, self._kept = self._kept, _Output(_MOST_KEPT)
        return output.text(self._secrets)

    def _keep(self, chunk: bytes) -> None:
        with self._turn:
            self._kept.take(chunk)


class _Output:
    def __init__(self, most: int) -> None:
        self.half = most // 2
        self.head = bytearray()
        self.tail: deque[bytes] = deque()
        self.in_tail = 0
        self.left_out = 0

    def take(self, chunk: bytes) -> None:
        margin = self.half + _LARGEST_SECRET
        room = margin - len(self.head)
        self.head += chunk[: max(0, room)]
        rest = chunk[max(0, room) :]
        if rest:
            self.tail.append(rest)
            self.in_tail += len(rest)
        while self.tail and self.in_tail - len(self.tail[0]) >= margin:
            self.left_out += len(self.tail[0])
            self.in_tail -= len(self.tail.popleft())

    def text(self, secrets: Sequence[str]) -> str:
        if not self.left_out:
            whole = scrub((bytes(self.head) + b"".join(self.tail)).decode("utf-8", "replace"), secrets)
            if len(whole) <= 2 * self.half:
                return whole
            left_out = f"\n[... {len(whole) - 2 * self.half} characters left out ...]\n"
            return whole[: self.half] + left_out + whole[-self.half :]
        # A truncated secret is hidden, as both parts are longer than shown.
        head = scrub(bytes(self.head).decode("utf-8", "replace"), secrets)
        tail = scrub(b"".join(self.tail).decode("utf-8", "replace"), secrets)
        keep = max(0, min(self.half, len(head) - _LARGEST_SECRET))
        start = max(_LARGEST_SECRET, len(tail) - self.half)
        return f"{head[:keep]}\n[... more than {self.left_out} characters left out ...]\n{tail[start:]}"


class _Lines:
    """Forwards output line by line up to a number of bytes."""

    def __init__(self, show: Callable[[str], object], most: float) -> None:
        self.show, self.left = show, most
        self.begun = ""
        self.decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("replace"), translate=True)

    def take(self, chunk: bytes) -> None:
        *lines, self.begun = (self.begun + self.decoder.decode(chunk, final=not chunk)).split("\n")
        if self.begun and (not chunk or len(self.begun) > _LONGEST_LINE):
            lines.append(self.begun)
            self.begun = ""
        for line in lines:
            if self.left < 0:
                return
            self.left -= len(line.encode()) + 1
            self.show(line if self.left >= 0 else "[there is more output, which is not shown]")
