"""Keep activations on disk, filled batch by batch."""

import os
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import IO, Literal

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.files import atomic_path
from brainscore_vision.model_helpers.activations.cache.layout import (
    ENTRY,
    FORMAT,
    PROGRESS,
    VALUES,
    Array,
    Layout,
    Parts,
    Record,
    boot,
    layout_of,
    pieces,
    place_of,
    read_text,
    sealed,
    signature,
    size_bytes,
    unsealed,
)

__all__ = ["ActivationEntry", "CacheTroubleError", "Recording", "Spans", "discard", "hold", "is_held"]

Spans = list[tuple[int, int]]  # ranges of stimuli, from start to before stop, sorted and disjoint

_CHUNK_BYTES = 16 * 2**20
_BUFFER_BYTES = 2**18


class CacheTroubleError(Exception):
    """An entry cannot be written or read; computation can go on."""


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CacheTroubleError(str(error)) from error


@dataclass(frozen=True)
class Recording:
    """Activations in a file, in use as long as `rows` (stimulus, byte) or a view of it exists."""

    rows: Array
    layout: Layout

    def layer(self, name: str) -> Array:
        """Return the activations of a layer (stimulus, ...), without a copy."""
        return self.layout.layer(self.rows, name)


@dataclass
class ActivationEntry:
    """The activations of some layers for the stimuli of one call.

    `read` may be called at any time; `missing`, `put`, `finish` and `discard` by one process at a time.

    Attributes
    ----------
    folder
        Its name is a digest of `parts` and `layers`.
    layers
        In the order of the file.
    parts
        Parts of the key, stored for explanations.
    about
        Description outside the key, such as the model's name.
    """

    folder: Path
    layers: Sequence[str]
    n_stimuli: int
    parts: Parts
    about: Parts = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._head: Record | None = None  # set with the first batch
        self._batches: dict[int, tuple[int, int]] = {}  # start -> stop, CRC-32

    def read(
        self, *, writable: Callable[[Layout], bool] = lambda _layout: False, mend: bool = False
    ) -> Recording | None:
        """Return a memory map; None unless the entry is whole and undamaged.

        If size or times of the file changed, or the machine was restarted, checksums are compared.

        Parameters
        ----------
        writable
            ``writable(layout)`` returns whether the arrays can be written to, which never changes the file.
        mend
            Whether to remove a damaged entry; for one process at a time.
        """
        record = self._whole()
        if record is None:
            return None
        try:
            with (self.folder / VALUES).open("rb") as stream:
                hold(stream)
                if os.fstat(stream.fileno()).st_nlink == 0:  # removed since it was opened
                    return None
                trusted = self._trusted(record, stream)
                recording = _mapped(stream, record, writable=writable) if trusted else None
        except FileNotFoundError:
            recording = None
        except OSError:
            return None
        if recording is not None:
            self._mark_used()
        elif mend:
            with _writing():
                self.discard()
        return recording

    def read_unfinished(self, *, writable: Callable[[Layout], bool]) -> Recording:
        """Return activations of a filled entry that will not be declared whole."""
        if self._head is None:
            raise RuntimeError(f"{self.folder} has not been filled.")
        with _writing(), (self.folder / VALUES).open("rb") as stream:
            hold(stream)
            return _mapped(stream, self._head, writable=writable)

    def read_batches(self, rows: Array) -> None:
        """Copy the finished batches into an array (stimulus, byte); `CacheTroubleError` if a checksum differs."""
        if self._head is None or not self._batches:
            return
        with _writing(), (self.folder / VALUES).open("rb") as stream:
            for start, (stop, crc) in self._batches.items():
                offset, count = place_of(self._head, start, stop)
                if _crc(stream, offset, count) != crc:
                    raise CacheTroubleError(f"{self.folder} differs from the data written to it")
                stream.seek(offset)
                rows[start:stop] = np.frombuffer(stream.read(count), np.uint8).reshape(stop - start, -1)

    def notes(self) -> Mapping[str, Parts]:
        """Return the notes on each layer; empty unless the entry is whole."""
        record = self._whole()
        return {} if record is None else record["notes"]

    def is_intact(self) -> bool:
        """Compare all bytes of a whole entry with their checksums."""
        record = self._whole()
        if record is None:
            return False
        try:
            with (self.folder / VALUES).open("rb") as stream:
                return _is_intact(stream, record)
        except OSError:
            return False

    def _whole(self) -> Record | None:
        record = unsealed(read_text(self.folder / ENTRY))
        return record if record is not None and self._is_mine(record) else None

    def _is_mine(self, record: Record) -> bool:
        return all(record.get(name) == value for name, value in self._identity().items())

    def _trusted(self, record: Record, stream: IO[bytes]) -> bool:
        status = os.fstat(stream.fileno())
        if status.st_size != size_bytes(record):
            return False
        seen = signature(status)
        if seen == record["signature"]:
            return True
        if not _is_intact(stream, record):
            return False
        with _ignoring_read_only():
            self._write_entry({**record, "signature": seen})
        return True

    def _mark_used(self) -> None:
        with _ignoring_read_only():
            os.utime(self.folder / ENTRY)

    def missing(self) -> Spans:
        """Return the missing stimuli, after verifying an interrupted process's batches."""
        self._head, self._batches = None, {}
        with _writing():
            progress = self._progress()
            if progress is None:
                self.discard()
                return [(0, self.n_stimuli)]
            self._head, batches = progress
            with (self.folder / VALUES).open("rb") as stream:
                for start, stop, crc in batches:
                    if _crc(stream, *place_of(self._head, start, stop)) == crc:
                        self._batches[start] = (stop, crc)
        if not self._gaps():
            # The interrupted process had not checked for changes of the model: one more run does.
            del self._batches[max(self._batches)]
        return self._gaps()

    def _progress(self) -> tuple[Record, list[tuple[int, int, int]]] | None:
        lines = read_text(self.folder / PROGRESS).splitlines()
        head = unsealed(lines[0]) if lines else None
        if head is None or not self._is_mine(head):
            return None
        header = bytes.fromhex(head["header"])
        try:
            with (self.folder / VALUES).open("rb") as stream:
                if stream.read(len(header)) != header:
                    return None
        except FileNotFoundError:
            return None
        batches = [record for record in map(unsealed, lines[1:]) if record is not None]
        return head, [(record["start"], record["stop"], record["crc32"]) for record in batches]

    def _gaps(self) -> Spans:
        gaps, reached = [], 0
        for start, (stop, _) in sorted(self._batches.items()):
            if start > reached:
                gaps.append((reached, start))
            reached = max(reached, stop)
        if reached < self.n_stimuli:
            gaps.append((reached, self.n_stimuli))
        return gaps

    def put(self, start: int, batch: Mapping[str, Array]) -> None:
        """Add a batch, arrays (stimulus, ...) by layer, whose first stimulus is `start`.

        Raises
        ------
        AssemblyError
            They are not numbers, or differ from earlier batches in shape or type.
        CacheTroubleError
            The disk is full or read-only.
        """
        values = {layer: batch[layer] for layer in self.layers}
        head = self._head or self._begin(Layout.of(values))
        layout_of(head).check(values)
        stop = start + len(values[self.layers[0]])
        arrays = list(values.values())
        with _writing():
            file = (self.folder / VALUES).open("r+b", buffering=_BUFFER_BYTES)
            with ThreadPoolExecutor(max_workers=1) as beside, file as stream:  # a checksum takes as long as writing
                summed = beside.submit(_crc_of, arrays)
                stream.seek(place_of(head, start, stop)[0])
                for piece in pieces(arrays):
                    stream.write(piece)
                crc = summed.result()
            self._note({"start": start, "stop": stop, "crc32": crc})
        self._batches[start] = (stop, crc)

    def _begin(self, layout: Layout) -> Record:
        for layer, dtype in layout.dtypes.items():
            if dtype.hasobject or dtype.kind == "V":
                raise AssemblyError(f"Layer {layer!r} gave values of type {dtype}; expected numbers.")
        kind = layout.dtype or np.dtype(np.uint8)
        header = BytesIO()
        fields = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False}
        shape = (self.n_stimuli, layout.row_bytes // kind.itemsize)
        np.lib.format.write_array_header_1_0(header, {**fields, "shape": shape})
        self._head = {
            **self._identity(),
            "parts": dict(self.parts),
            "about": dict(self.about),
            "shapes": [list(shape) for shape in layout.shapes.values()],
            "dtypes": [dtype.str for dtype in layout.dtypes.values()],
            "header": header.getvalue().hex(),
        }
        with _writing():
            self._make_file(self._head, header.getvalue())
            self._note(self._head)
        return self._head

    def _make_file(self, head: Record, header: bytes) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        whole_bytes = size_bytes(head)
        if shutil.disk_usage(self.folder).free < whole_bytes:
            raise OSError(f"{whole_bytes} bytes are needed in {self.folder}, which has less room")
        (self.folder / VALUES).write_bytes(header)

    def _identity(self) -> Record:
        return {"format": FORMAT, "key": self.folder.name, "layers": list(self.layers), "n_stimuli": self.n_stimuli}

    def _note(self, record: Record) -> None:
        with (self.folder / PROGRESS).open("ab", buffering=0) as stream:
            # Starts a new line even if an earlier process was stopped within one.
            stream.write(f"\n{sealed(record)}\n".encode() if stream.tell() else f"{sealed(record)}\n".encode())

    def finish(self, notes: Mapping[str, Parts] | None = None) -> None:
        """Declare the entry whole, with notes by layer; `RuntimeError` if stimuli are missing."""
        gaps = self._gaps()
        if gaps or self._head is None:
            raise RuntimeError(f"{self.folder} lacks the stimuli {gaps} of {self.n_stimuli}.")
        with _writing():
            with (self.folder / VALUES).open("r+b") as stream:
                if not boot():  # a restart of the machine would go unnoticed
                    os.fsync(stream.fileno())
                status = os.fstat(stream.fileno())
            batches = [[start, stop, crc] for start, (stop, crc) in sorted(self._batches.items())]
            extent = {"batches": batches, "notes": dict(notes or {}), "signature": signature(status)}
            self._write_entry({**self._head, **extent})
            (self.folder / PROGRESS).unlink(missing_ok=True)

    def _write_entry(self, record: Record) -> None:
        with atomic_path(self.folder / ENTRY) as temporary:
            temporary.write_text(sealed(record) + "\n", encoding="utf-8")

    def discard(self) -> None:
        """Remove the entry; arrays that were read from it stay valid."""
        self._head, self._batches = None, {}
        discard(self.folder)


def discard(folder: Path) -> None:
    """Remove an entry."""
    (folder / ENTRY).unlink(missing_ok=True)  # first: the rest is then never taken for whole
    shutil.rmtree(folder, ignore_errors=True)


def hold(stream: IO[bytes]) -> None:
    """Mark an open file as in use until it and all its memory maps are closed."""
    if sys.platform == "win32":
        return  # an open file cannot be removed there
    import fcntl  # absent on Windows

    with _ignoring_read_only():  # file systems without locks
        fcntl.flock(stream.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)


def is_held(path: Path) -> bool:
    """Tell whether a process has marked a file as in use."""
    if sys.platform == "win32":
        return False
    import fcntl  # absent on Windows

    try:
        with path.open("rb") as stream:
            fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


@contextmanager
def _ignoring_read_only() -> Iterator[None]:
    try:
        yield
    except OSError:
        return  # a read-only cache can still be read


def _crc(stream: IO[bytes], offset: int, count: int) -> int:
    stream.seek(offset)
    crc = 0
    while count:
        chunk = stream.read(min(count, _CHUNK_BYTES))
        if not chunk:
            return -1  # the file ends too early
        crc = zlib.crc32(chunk, crc)
        count -= len(chunk)
    return crc


def _crc_of(arrays: Sequence[Array]) -> int:
    crc = 0
    for piece in pieces(arrays):
        crc = zlib.crc32(piece, crc)
    return crc


def _is_intact(stream: IO[bytes], record: Record) -> bool:
    header = bytes.fromhex(record["header"])
    stream.seek(0)
    if stream.read(len(header)) != header:
        return False
    return all(_crc(stream, *place_of(record, start, stop)) == crc for start, stop, crc in record["batches"])


def _mapped(stream: IO[bytes], record: Record, *, writable: Callable[[Layout], bool]) -> Recording:
    layout = layout_of(record)
    mode: Literal["r", "c"] = "c" if writable(layout) else "r"
    shape = record["n_stimuli"], layout.row_bytes
    if 0 in shape:
        return Recording(np.empty(shape, np.uint8), layout)
    return Recording(np.memmap(stream, np.uint8, mode, len(record["header"]) // 2, shape), layout)
