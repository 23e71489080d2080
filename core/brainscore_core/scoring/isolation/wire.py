"""Send values between two processes that don't trust each other: typed, and bounded before anything is allocated.

A message is one frame: eight bytes (a mark and the header's length), the header as JSON, and the announced arrays,
little-endian. Received or stored bytes become a value (`brainscore_core.scoring.isolation.values`) or raise
`ProtocolError`.
"""

# Why a format for messages
#
# Problem. A judge asks a candidate for assemblies of up to gigabytes. The candidate may answer too early, too slowly,
# too much or with bytes that mean nothing, on purpose. The judge has the measurements: it must never run what arrives,
# never allocate more than it expects, and always end with a record.
#
# Sources. The warning at the top of the documentation of Python's `pickle`; NEP 1 (NumPy's .npy format), which also
# states type and shape before the raw values.
#
# What else was tried or considered, and why not.
# - Pickle, as `multiprocessing` uses it (considered): loading runs code that the sender chose.
# - netCDF or .npz files (considered): their readers allocate the sizes that a file states before a bound of ours
#   applies, and HDF5 would put a large parser in C between a stranger and the measurements.
# - Everything as JSON (considered): numbers as text take more bytes, and each has to be parsed.
# - The same bound for every message (tried): a small question could get a huge answer. Now the question sets the bound
#   (`Connection.receive`), the header is checked before the arrays arrive, and conversions count too.
#
# Cost. O(bytes). Arrays are sent from memory and received in place, without a copy. Checks are O(header), and O(bytes)
# for truth values and texts; other numbers need none.
#
# Where it breaks. Types besides those of `values` (dates, complex numbers) raise `ProtocolError` at the sender, as does
# a value nested more than twelve times. A valid message may still be a wrong answer, or have pictures hidden in its
# numbers: the caller has to compare it with the question.

from __future__ import annotations

import hashlib
import json
import math
import shutil
import socket
import struct
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import Field, Strict, TypeAdapter

from brainscore_core.errors import CorruptFileError, PeerClosedError, PeerTimeoutError, ProtocolError
from brainscore_core.scoring.isolation.values import DTYPES, Announced, Made, longest_text, pack, planned
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
    """A message: its kind, the number of its question, and its content."""

    kind: str
    number: int = 0
    content: object = None


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Limits of one message.

    Attributes
    ----------
    header_bytes
        Size of the JSON: everything but arrays.
    array_bytes
        Memory of all arrays and the values made of them.
    memory_bytes
        Arrays beyond this size lie in nameless files in `folder`.
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
    """One end of a pair of connected sockets; `bounds` limit received messages."""

    def __init__(self, sock: socket.socket, bounds: Bounds = Bounds()) -> None:
        self._socket, self.bounds = sock, bounds

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def send(self, message: Message, timeout_s: float = math.inf) -> None:
        """Send a message.

        Raises `ProtocolError` if the content cannot be sent, `PeerClosedError` or `PeerTimeoutError` if the other side
        has closed the connection or is too slow.
        """
        begin, arrays = _encoded(message)
        deadline = time.monotonic() + timeout_s
        self._send(memoryview(begin), deadline)
        for array in arrays:
            self._send(_bytes_of(array), deadline)

    def receive(self, timeout_s: float = math.inf, bounds: Bounds | None = None) -> Message:
        """Wait for a message within `bounds`; after a `ProtocolError` the connection is of no further use."""
        deadline = time.monotonic() + timeout_s
        bounds = bounds or self.bounds
        length = _header_length(self._take(_PREFIX.size, deadline), bounds)
        header, announced, make = _read_header(self._take(length, deadline), bounds)
        arrays: list[npt.NDArray[Any]] = []
        memory_left = bounds.memory_bytes
        for array in announced:
            n_bytes = array.n_bytes
            raw = _room(n_bytes, None if n_bytes <= memory_left else bounds.folder or Path(tempfile.gettempdir()))
            memory_left -= n_bytes if n_bytes <= memory_left else 0
            self._fill(_bytes_of(raw), deadline)
            arrays.append(_checked_values(raw, array))
        return Message(header.kind, header.number, make(arrays))

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
                raise PeerClosedError(f"The other side is gone ({error}).") from error
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
                raise PeerTimeoutError("The other side has not accepted a message in time.") from None
            except OSError as error:
                raise PeerClosedError(f"The other side is gone ({error}).") from error

    def _wait_until(self, deadline: float) -> None:
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            raise PeerTimeoutError("The other side has not answered in time.")
        try:
            self._socket.settimeout(None if seconds == math.inf else seconds)
        except OSError as error:
            raise PeerClosedError(f"The connection is closed ({error}).") from error


def _room(n_bytes: int, folder: Path | None) -> npt.NDArray[np.uint8]:
    if folder is None:
        return np.empty(n_bytes, dtype=np.uint8)  # takes no pages before they are filled
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise ProtocolError(
            f"A message announces an array of {n_bytes / 2**20:,.0f} MiB, which fits neither the memory nor {folder}, "
            f"where {free / 2**20:,.0f} MiB are free. BRAINSCORE_MEMORY_GB sets the memory limit."
        )
    with tempfile.TemporaryFile(dir=folder) as file:  # has no name and lives as long as the map
        return np.memmap(file, dtype=np.uint8, mode="w+", shape=(n_bytes,))


def write_message(path: Path, message: Message, most_bytes: float = math.inf) -> None:
    """Write a message to a file, with a checksum, unless it exceeds `most_bytes` (`ProtocolError`)."""
    begin, arrays = _encoded(message)
    size = len(begin) + sum(array.nbytes for array in arrays) + _SUM_BYTES
    if size > most_bytes:
        raise ProtocolError(f"A message has {size / 1e9:.3g} GB; expected at most {most_bytes / 1e9:.3g} GB.")
    parts: list[bytes | memoryview] = [begin, *map(_bytes_of, arrays)]
    digest = hashlib.sha256()
    with path.open("wb") as stream:
        for part in parts:
            digest.update(part)
            stream.write(part)
        stream.write(digest.digest())


def read_message(path: Path, bounds: Bounds = Bounds()) -> Message:
    """Read what `write_message` wrote; arrays beyond `bounds.memory_bytes` stay in the file, read-only.

    Raises `ProtocolError` if the file holds no message, one that is too large, or bytes other than those written.
    """
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        prefix = stream.read(_PREFIX.size)
        encoded = stream.read(_header_length(prefix, bounds))
        digest.update(prefix + encoded)
        header, announced, make = _read_header(encoded, bounds)
        if path.stat().st_size != stream.tell() + sum(array.n_bytes for array in announced) + _SUM_BYTES:
            raise ProtocolError(f"{path} does not have the length of the message that it starts with.")
        arrays: list[npt.NDArray[Any]] = []
        memory_left = bounds.memory_bytes
        for array in announced:
            n_bytes = array.n_bytes
            if n_bytes <= memory_left:
                raw = np.fromfile(stream, dtype=np.uint8, count=n_bytes)
                memory_left -= n_bytes
            else:
                start = stream.tell()
                raw = np.memmap(stream, dtype=np.uint8, mode="r", offset=start, shape=(n_bytes,))
                stream.seek(start + n_bytes)
            digest.update(_bytes_of(raw))
            arrays.append(_checked_values(raw, array))
        if stream.read(_SUM_BYTES) != digest.digest():
            raise ProtocolError(f"{path} does not contain the data that were written.")
    return Message(header.kind, header.number, make(arrays))


def _encoded(message: Message) -> tuple[bytes, list[npt.NDArray[Any]]]:
    arrays: list[npt.NDArray[Any]] = []
    content = pack(message.content, arrays)
    announced = [{"dtype": array.dtype.str, "shape": list(array.shape)} for array in arrays]
    header = {"kind": message.kind, "number": message.number, "content": content, "arrays": announced}
    encoded = json.dumps(header, separators=(",", ":")).encode("ascii")
    if len(encoded) >= 2**32:
        raise ProtocolError(
            f"A message has {len(encoded) / 2**20:.0f} MiB in addition to its arrays, which is too much."
        )
    return _PREFIX.pack(_MARK, len(encoded)) + encoded, arrays


def _header_length(prefix: bytes, bounds: Bounds) -> int:
    mark, length = _PREFIX.unpack(prefix) if len(prefix) == _PREFIX.size else (prefix, 0)
    if mark != _MARK:
        raise ProtocolError(f"Received data that are not a message: they begin with {shown(mark)}; expected {_MARK!r}.")
    if length > bounds.header_bytes:
        raise ProtocolError(f"A message announces a header of {length} bytes; expected at most {bounds.header_bytes}.")
    return int(length)


def _read_header(data: bytes, bounds: Bounds) -> tuple[_Header, list[Announced], Made]:
    """Return the header, its arrays, and the maker of its content, all within the bounds."""
    try:
        header = checked(_HEADER, parse(data, "message", bounds.header_bytes), "message")
    except CorruptFileError as error:
        raise ProtocolError(str(error)) from None
    if len(header.arrays) > bounds.arrays:
        raise ProtocolError(f"A message announces {len(header.arrays)} arrays; expected at most {bounds.arrays}.")
    for array in header.arrays:
        if array.dtype not in DTYPES and not longest_text(array.dtype):
            raise ProtocolError(
                f"A message announces an array of type {shown(array.dtype)}; expected numbers, truth values or texts."
            )
    announced = [Announced(np.dtype(array.dtype), array.shape) for array in header.arrays]
    return header, announced, planned(header.content, announced, bounds.array_bytes)


def _checked_values(raw: npt.NDArray[np.uint8], announced: Announced) -> npt.NDArray[Any]:
    """Return an array if its bytes are valid: truth values 0 or 1, texts of existing characters."""
    if not raw.size:
        return np.empty(announced.shape, announced.dtype)
    array = raw.view(announced.dtype).reshape(announced.shape)
    if array.dtype.kind == "b" and raw.max() > 1:
        raise ProtocolError("A message has truth values that are neither 0 nor 1.")
    if array.dtype.kind == "U":
        points = raw.view(np.uint32)
        low, high = _SURROGATES
        if points.max() > _LAST_CHARACTER or ((points >= low) & (points <= high)).any():
            raise ProtocolError("A message has a text with invalid characters.")
    return array


def _bytes_of(array: npt.NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data if array.nbytes else memoryview(b"")
