"""Send values between two processes that don't trust each other: typed, and bounded before anything is allocated.

A message may be stored in a file and is read back with no more trust than from a socket.

A message is one frame: eight bytes (a mark and the length of the header), the header as JSON, and the bytes of the
arrays that the header announces, little-endian, one after the other. `brainscore_core.scoring.isolation.values` defines
the values. Nothing is ever unpickled: received bytes become such a value or raise `ProtocolError`.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import socket
import struct
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import Field, Strict, TypeAdapter

from brainscore_core.errors import CorruptFileError, PeerClosedError, PeerTimeoutError, ProtocolError
from brainscore_core.scoring.isolation.values import DTYPES, longest_text, pack, unpack
from brainscore_core.untrusted import Name, Untrusted, at_most, checked, parse, shown

__all__ = ["Bounds", "Connection", "Message", "read_message", "write_message"]

_MARK = b"BSw1"
_PREFIX = struct.Struct("<4sI")
_MOST_DIMS, _MOST_SIZE = 8, 2**40
_CHUNK = 2**20
_SUM_BYTES = hashlib.sha256().digest_size
_SURROGATES = (0xD800, 0xDFFF)
_LAST_CHARACTER = 0x10FFFF


@dataclass(frozen=True)
class Message:
    """A message.

    Attributes
    ----------
    kind : str
        Such as the name of a question, or ``'answer'``.
    number : int
        Number of the question; an answer has that of its question.
    content : object
        See `brainscore_core.scoring.isolation.values`.
    """

    kind: str
    number: int = 0
    content: object = None


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Limits of one message.

    Attributes
    ----------
    header_bytes : int
        Size of the JSON: everything but arrays.
    arrays : int
        Number of arrays.
    array_bytes : int
        Size of all arrays together.
    memory_bytes : int
        Arrays beyond this size lie in files without a name instead of in memory.
    folder : Path, optional
        Folder of these files; None: that of temporary files.
    """

    header_bytes: int = 16 * 2**20
    arrays: int = 2_000
    array_bytes: int = 2**36
    memory_bytes: int = 2**62
    folder: Path | None = None


_Size = Annotated[int, Strict(), Field(ge=0, le=_MOST_SIZE)]


@dataclass(frozen=True)
class _Array(Untrusted):
    dtype: Name
    shape: Annotated[tuple[_Size, ...], at_most(_MOST_DIMS)]


@dataclass(frozen=True)
class _Header(Untrusted):
    kind: Name
    number: Annotated[int, Strict(), Field(ge=0, le=2**53)]
    content: object
    arrays: Annotated[tuple[_Array, ...], at_most(100_000)]


_HEADER = TypeAdapter(_Header)


class Connection:
    """One end of a pair of connected sockets.

    Parameters
    ----------
    sock : socket.socket
        Connected; closed with this.
    bounds : Bounds
        Limits of received messages.
    """

    def __init__(self, sock: socket.socket, bounds: Bounds = Bounds()) -> None:
        self._socket, self._bounds = sock, bounds

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def send(self, message: Message, timeout_s: float = math.inf) -> None:
        """Send a message.

        Raises
        ------
        ProtocolError
            If the content cannot be sent; none of it was.
        PeerClosedError, PeerTimeoutError
            If the other side has closed the connection or is too slow.
        """
        begin, arrays = _encoded(message)
        deadline = time.monotonic() + timeout_s
        self._send(memoryview(begin), deadline)
        for array in arrays:
            self._send(_bytes_of(array), deadline)

    def receive(self, timeout_s: float = math.inf) -> Message:
        """Wait for a message and return it.

        Raises
        ------
        ProtocolError
            If no message came, or too large a one. The connection is of no further use.
        PeerClosedError, PeerTimeoutError
            If the other side has closed the connection or is too slow.
        """
        deadline = time.monotonic() + timeout_s
        length = _header_length(self._take(_PREFIX.size, deadline), self._bounds)
        header = _read_header(self._take(length, deadline), self._bounds)
        dtypes = _dtypes_of(header.arrays, self._bounds)
        arrays: list[npt.NDArray[Any]] = []
        memory_left = self._bounds.memory_bytes
        for dtype, announced in zip(dtypes, header.arrays, strict=True):
            n_bytes = dtype.itemsize * math.prod(announced.shape)
            raw = self._room(n_bytes, in_memory=n_bytes <= memory_left)
            memory_left -= n_bytes if n_bytes <= memory_left else 0
            self._fill(_bytes_of(raw), deadline)
            whole = raw.view(dtype).reshape(announced.shape) if n_bytes else np.empty(announced.shape, dtype)
            arrays.append(_checked_values(whole))
        return Message(header.kind, header.number, unpack(header.content, arrays))

    def _room(self, n_bytes: int, *, in_memory: bool) -> npt.NDArray[np.uint8]:
        if in_memory:
            return np.empty(n_bytes, dtype=np.uint8)  # takes no pages before they are filled
        folder = self._bounds.folder or Path(tempfile.gettempdir())
        free = shutil.disk_usage(folder).free
        if n_bytes > free:
            raise ProtocolError(
                f"A message announces an array of {n_bytes / 2**20:,.0f} MiB, which fits neither the memory nor "
                f"{folder}, where {free / 2**20:,.0f} MiB are free. BRAINSCORE_MEMORY_GB says how much "
                "memory may be used."
            )
        with tempfile.TemporaryFile(dir=folder) as file:  # has no name and lives as long as the map
            return np.memmap(file, dtype=np.uint8, mode="w+", shape=(n_bytes,))

    def _take(self, length: int, deadline: float) -> bytes:
        data = bytearray(length)
        self._fill(memoryview(data), deadline)
        return bytes(data)

    def _fill(self, view: memoryview, deadline: float) -> None:
        filled = 0
        while filled < len(view):
            self._wait_until(deadline)
            try:
                received = self._socket.recv_into(view[filled : filled + _CHUNK])
            except (TimeoutError, BlockingIOError):
                raise PeerTimeoutError("The other side has not answered in time.") from None
            except OSError as error:
                raise PeerClosedError(f"The other side has gone ({error}).") from error
            if not received:
                raise PeerClosedError("The other side has closed the connection.")
            filled += received

    def _send(self, view: memoryview, deadline: float) -> None:
        sent = 0
        while sent < len(view):
            self._wait_until(deadline)
            try:
                sent += self._socket.send(view[sent : sent + _CHUNK])
            except (TimeoutError, BlockingIOError):
                raise PeerTimeoutError("The other side has not taken a message in time.") from None
            except OSError as error:
                raise PeerClosedError(f"The other side has gone ({error}).") from error

    def _wait_until(self, deadline: float) -> None:
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            raise PeerTimeoutError("The other side has not answered in time.")
        try:
            self._socket.settimeout(None if seconds == math.inf else seconds)
        except OSError as error:
            raise PeerClosedError(f"The connection is closed ({error}).") from error


def write_message(path: Path, message: Message, most_bytes: float = math.inf) -> None:
    """Write a message to a file: its frame and a checksum.

    Raises
    ------
    ProtocolError
        If the content cannot be sent or exceeds `most_bytes`; nothing was written.
    """
    begin, arrays = _encoded(message)
    size = len(begin) + sum(array.nbytes for array in arrays) + _SUM_BYTES
    if size > most_bytes:
        raise ProtocolError(f"A message takes {size / 1e9:.3g} GB; expected {most_bytes / 1e9:.3g} GB at the most.")
    parts: list[bytes | memoryview] = [begin, *map(_bytes_of, arrays)]
    digest = hashlib.sha256()
    with path.open("wb") as stream:
        for part in parts:
            digest.update(part)
            stream.write(part)
        stream.write(digest.digest())


def read_message(path: Path, bounds: Bounds = Bounds()) -> Message:
    """Read what `write_message` wrote; arrays beyond `bounds.memory_bytes` stay in the file, read-only.

    Raises
    ------
    ProtocolError
        If the file holds no message, too large a one, or other bytes than were written.
    OSError
        If it cannot be read.
    """
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        prefix = stream.read(_PREFIX.size)
        encoded = stream.read(_header_length(prefix, bounds))
        digest.update(prefix + encoded)
        header = _read_header(encoded, bounds)
        dtypes = _dtypes_of(header.arrays, bounds)
        shapes = [announced.shape for announced in header.arrays]
        sizes = [dtype.itemsize * math.prod(shape) for dtype, shape in zip(dtypes, shapes, strict=True)]
        if path.stat().st_size != stream.tell() + sum(sizes) + _SUM_BYTES:
            raise ProtocolError(f"{path} is not as long as the message that it begins with.")
        arrays: list[npt.NDArray[Any]] = []
        memory_left = bounds.memory_bytes
        for dtype, announced, n_bytes in zip(dtypes, header.arrays, sizes, strict=True):
            if n_bytes <= memory_left:
                raw = np.fromfile(stream, dtype=np.uint8, count=n_bytes)
                memory_left -= n_bytes
            else:
                start = stream.tell()
                raw = np.memmap(stream, dtype=np.uint8, mode="r", offset=start, shape=(n_bytes,))
                stream.seek(start + n_bytes)
            digest.update(_bytes_of(raw))
            arrays.append(
                _checked_values(
                    raw.view(dtype).reshape(announced.shape) if n_bytes else np.empty(announced.shape, dtype)
                )
            )
        if stream.read(_SUM_BYTES) != digest.digest():
            raise ProtocolError(f"{path} does not hold what was written.")
    return Message(header.kind, header.number, unpack(header.content, arrays))


def _encoded(message: Message) -> tuple[bytes, list[npt.NDArray[Any]]]:
    """Return the start of the frame of a message, and the arrays whose bytes follow."""
    arrays: list[npt.NDArray[Any]] = []
    content = pack(message.content, arrays)
    announced = [{"dtype": array.dtype.str, "shape": list(array.shape)} for array in arrays]
    header = {"kind": message.kind, "number": message.number, "content": content, "arrays": announced}
    encoded = json.dumps(header, separators=(",", ":")).encode("ascii")
    if len(encoded) >= 2**32:
        raise ProtocolError(f"A message has {len(encoded) / 2**20:.0f} MiB beside its arrays, which is too much.")
    return _PREFIX.pack(_MARK, len(encoded)) + encoded, arrays


def _header_length(prefix: bytes, bounds: Bounds) -> int:
    mark, length = _PREFIX.unpack(prefix) if len(prefix) == _PREFIX.size else (prefix, 0)
    if mark != _MARK:
        raise ProtocolError(f"What came is no message: it begins with {shown(mark)}; expected {_MARK!r}.")
    if length > bounds.header_bytes:
        raise ProtocolError(
            f"A message announces a header of {length} bytes; expected {bounds.header_bytes} at the most."
        )
    return int(length)


def _read_header(data: bytes, bounds: Bounds) -> _Header:
    try:
        return checked(_HEADER, parse(data, "message", bounds.header_bytes), "message")
    except CorruptFileError as error:
        raise ProtocolError(str(error)) from None


def _dtypes_of(arrays: Sequence[_Array], bounds: Bounds) -> list[np.dtype[Any]]:
    """Return the types of the announced arrays, if all are permitted."""
    if len(arrays) > bounds.arrays:
        raise ProtocolError(f"A message announces {len(arrays)} arrays; expected {bounds.arrays} at the most.")
    dtypes: list[np.dtype[Any]] = []
    total = 0
    for array in arrays:
        if array.dtype not in DTYPES and not longest_text(array.dtype):
            raise ProtocolError(
                f"A message announces an array of type {shown(array.dtype)}; expected numbers, truth values or texts."
            )
        dtypes.append(np.dtype(array.dtype))
        total += dtypes[-1].itemsize * math.prod(array.shape)
    if total > bounds.array_bytes:
        raise ProtocolError(
            f"A message announces {total / 2**20:,.0f} MiB of arrays; expected "
            f"{bounds.array_bytes / 2**20:,.0f} MiB at the most."
        )
    return dtypes


def _checked_values(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array if its bytes are valid: truth values 0 or 1, texts of existing characters."""
    if not array.size:
        return array
    if array.dtype.kind == "b" and array.view(np.uint8).max() > 1:
        raise ProtocolError("A message has truth values that are neither 0 nor 1.")
    if array.dtype.kind == "U":
        points = array.reshape(-1).view(np.uint32)
        low, high = _SURROGATES
        if points.max() > _LAST_CHARACTER or ((points >= low) & (points <= high)).any():
            raise ProtocolError("A message has a text with characters that do not exist.")
    return array


def _bytes_of(array: npt.NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data if array.nbytes else memoryview(b"")
