"""Keep the activations of layers on the disk: a plain array that is filled batch by batch, and what is known of it.

An entry holds layers that were recorded together. It is a folder with ``values.npy`` (NumPy's own format, which
`numpy.load` opens; stimulus x unit, layers one after the other, or stimulus x byte where layers differ in type) and one
of two indexes: ``progress.jsonl`` while it is being filled, with a line for each batch that is finished, and
``entry.json`` when it is whole. Both say where each layer lies, of every batch which stimuli it holds and the CRC-32 of
its bytes, and carry a checksum of their own.
"""

from __future__ import annotations

import hashlib
import json
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
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.files import atomic_path
from brainscore_core.identity.stamp import stamp_of
from brainscore_vision.model_helpers.activations.layout import Layout, pieces

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.packaging import Array

__all__ = [
    "FORMAT",
    "CacheTroubleError",
    "Entry",
    "Parts",
    "Recording",
    "Spans",
    "discard",
    "hold",
    "is_held",
    "read_record",
]

FORMAT = 3
"""Counted up whenever the meaning of an entry changes."""

Parts = Mapping[str, Any]  # what a key is made of, by name: plain values of JSON
Spans = list[tuple[int, int]]  # stimuli from start to before stop, sorted, apart from each other
Record = dict[str, Any]  # an index: plain values of JSON

_VALUES, _ENTRY, _PROGRESS = "values.npy", "entry.json", "progress.jsonl"
_CHUNK_BYTES = 16 * 2**20
_BUFFER_BYTES = 2**18
_BOOT = Path("/proc/sys/kernel/random/boot_id")


class CacheTroubleError(Exception):
    """The disk keeps an entry from being written; what computes it can go on without."""


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CacheTroubleError(str(error)) from error


@dataclass(frozen=True)
class Recording:
    """The activations of layers as they lie in a file.

    Attributes
    ----------
    rows : memory map (stimulus, byte)
        The entry counts as in use for as long as it, or an array that shows it, lives.
    """

    rows: Array
    layout: Layout

    def layer(self, name: str) -> Array:
        """Return the activations of a layer (stimulus, ...) without a copy."""
        return self.layout.layer(self.rows, name)


@dataclass
class Entry:
    """The activations of some layers for the stimuli of one call.

    `read` may be called at any time; `missing`, `put`, `finish` and `discard` by one process at a time.

    Attributes
    ----------
    folder : Path
        Its place; the name is a digest of `parts` and `layers`.
    layers : sequence of str
        In the order in which they lie.
    n_stimuli : int
        Length of the first axis.
    parts : mapping of str to value
        What the key is made of, kept to be read by people.
    about : mapping of str to value
        What does not change the values but helps to recognise them, such as the name of the model.
    """

    folder: Path
    layers: Sequence[str]
    n_stimuli: int
    parts: Parts
    about: Parts = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._head: Record | None = None  # what is known once the first batch has come
        self._batches: dict[int, tuple[int, int]] = {}  # start -> stop, CRC-32

    # --- whole entries -------------------------------------------------------------------------------------------

    def read(
        self,
        *,
        writable: Callable[[Layout], bool] = lambda _layout: False,
        mend: bool = False,
    ) -> Recording | None:
        """Return the activations as a memory map, or None if there is no entry that is whole and undamaged.

        The size of the file and the times that the system keeps of it are compared with those when it was last known
        to be right; where they differ, and after a restart of the machine, all of it is compared with its checksums.

        Parameters
        ----------
        writable : callable
            Says whether the arrays can be written to, which changes the memory and never the file.
        mend : bool
            Remove an entry that is damaged; by one process at a time.
        """
        record = self._whole()
        if record is None:
            return None
        try:
            with (self.folder / _VALUES).open("rb") as stream:
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
        """Return the activations of an entry that is filled but shall not become whole."""
        if self._head is None:
            raise RuntimeError(f"{self.folder} has not been filled.")
        with _writing(), (self.folder / _VALUES).open("rb") as stream:
            hold(stream)
            return _mapped(stream, self._head, writable=writable)

    def read_batches(self, rows: Array) -> None:
        """Copy the batches that are finished into an array (stimulus, byte), after comparing them with their checksums.

        Raises
        ------
        CacheTroubleError
            They cannot be read as they were written.
        """
        if self._head is None or not self._batches:
            return
        with _writing(), (self.folder / _VALUES).open("rb") as stream:
            for start, (stop, crc) in self._batches.items():
                offset, count = _place(self._head, start, stop)
                if _crc(stream, offset, count) != crc:
                    raise CacheTroubleError(f"{self.folder} does not hold what was written to it")
                stream.seek(offset)
                rows[start:stop] = np.frombuffer(stream.read(count), np.uint8).reshape(stop - start, -1)

    def notes(self) -> Mapping[str, Parts]:
        """Return what was noted of each layer when the entry became whole; empty if it is not."""
        record = self._whole()
        return {} if record is None else record["notes"]

    def is_intact(self) -> bool:
        """Compare all of a whole entry with its checksums."""
        record = self._whole()
        if record is None:
            return False
        try:
            with (self.folder / _VALUES).open("rb") as stream:
                return _is_intact(stream, record)
        except OSError:
            return False

    def _whole(self) -> Record | None:
        record = _unsealed(_text(self.folder / _ENTRY))
        return record if record is not None and self._is_mine(record) else None

    def _is_mine(self, record: Record) -> bool:
        return all(record.get(name) == value for name, value in self._identity().items())

    def _trusted(self, record: Record, stream: IO[bytes]) -> bool:
        status = os.fstat(stream.fileno())
        if status.st_size != _size_bytes(record):
            return False
        seen = _signature(status)
        if seen == record["signature"]:
            return True
        if not _is_intact(stream, record):
            return False
        with _ignoring_read_only():
            self._write_entry({**record, "signature": seen})
        return True

    def _mark_used(self) -> None:
        with _ignoring_read_only():
            os.utime(self.folder / _ENTRY)

    # --- filling -------------------------------------------------------------------------------------------------

    def missing(self) -> Spans:
        """Return which stimuli are still to come, after what an interrupted process left has been verified."""
        self._head, self._batches = None, {}
        with _writing():
            found = self._progress()
            if found is None:
                self.discard()
                return [(0, self.n_stimuli)]
            self._head, batches = found
            with (self.folder / _VALUES).open("rb") as stream:
                for start, stop, crc in batches:
                    if _crc(stream, *_place(self._head, start, stop)) == crc:
                        self._batches[start] = (stop, crc)
        if not self._gaps():
            # Whoever was stopped here had not seen yet whether the model had changed: running it once more tells.
            del self._batches[max(self._batches)]
        return self._gaps()

    def _progress(self) -> tuple[Record, list[tuple[int, int, int]]] | None:
        """Read which batches were finished; a line that is cut or damaged is as if it were not there."""
        lines = _text(self.folder / _PROGRESS).splitlines()
        head = _unsealed(lines[0]) if lines else None
        if head is None or not self._is_mine(head):
            return None
        begun = bytes.fromhex(head["header"])
        try:
            with (self.folder / _VALUES).open("rb") as stream:
                if stream.read(len(begun)) != begun:
                    return None
        except FileNotFoundError:
            return None
        sealed = [record for record in map(_unsealed, lines[1:]) if record is not None]
        return head, [(record["start"], record["stop"], record["crc32"]) for record in sealed]

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
        """Add the activations, arrays (stimulus, ...) by layer, of a batch that begins with the stimulus `start`.

        Raises
        ------
        AssemblyError
            They are no numbers, or of another shape or type than those of the batches before.
        CacheTroubleError
            The disk is full or cannot be written to.
        """
        values = {layer: batch[layer] for layer in self.layers}
        head = self._head or self._begin(Layout.of(values))
        _layout(head).check(values)
        stop = start + len(values[self.layers[0]])
        arrays = list(values.values())
        with _writing():
            file = (self.folder / _VALUES).open("r+b", buffering=_BUFFER_BYTES)
            with ThreadPoolExecutor(max_workers=1) as beside, file as stream:  # the checksum takes as long as writing
                summed = beside.submit(_crc_of, arrays)
                stream.seek(_place(head, start, stop)[0])
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
        whole_bytes = _size_bytes(head)
        if shutil.disk_usage(self.folder).free < whole_bytes:
            raise OSError(f"{whole_bytes} bytes are needed in {self.folder}, which has less room")
        (self.folder / _VALUES).write_bytes(header)

    def _identity(self) -> Record:
        return {"format": FORMAT, "key": self.folder.name, "layers": list(self.layers), "n_stimuli": self.n_stimuli}

    def _note(self, record: Record) -> None:
        with (self.folder / _PROGRESS).open("ab", buffering=0) as stream:
            # Begins a line of its own also where the process before was stopped inside of one.
            stream.write(f"\n{_sealed(record)}\n".encode() if stream.tell() else f"{_sealed(record)}\n".encode())

    def finish(self, notes: Mapping[str, Parts] | None = None) -> None:
        """Declare the entry whole.

        Parameters
        ----------
        notes : mapping of str to mapping, optional
            By layer, plain values that are kept beside the activations; see the method `notes`.

        Raises
        ------
        RuntimeError
            Stimuli are missing.
        """
        gaps = self._gaps()
        if gaps or self._head is None:
            raise RuntimeError(f"{self.folder} lacks the stimuli {gaps} of {self.n_stimuli}.")
        with _writing():
            with (self.folder / _VALUES).open("r+b") as stream:
                if not _boot():  # no restart of the machine would be noticed
                    os.fsync(stream.fileno())
                status = os.fstat(stream.fileno())
            batches = [[start, stop, crc] for start, (stop, crc) in sorted(self._batches.items())]
            extent = {"batches": batches, "notes": dict(notes or {}), "signature": _signature(status)}
            self._write_entry({**self._head, **extent})
            (self.folder / _PROGRESS).unlink(missing_ok=True)

    def _write_entry(self, record: Record) -> None:
        with atomic_path(self.folder / _ENTRY) as temporary:
            temporary.write_text(_sealed(record) + "\n", encoding="utf-8")

    def discard(self) -> None:
        """Remove the entry, whole or not; arrays that were read from it stay as they are."""
        self._head, self._batches = None, {}
        discard(self.folder)


def discard(folder: Path) -> None:
    """Remove the folder of an entry."""
    (folder / _ENTRY).unlink(missing_ok=True)  # first, so that what is left is never taken for whole
    shutil.rmtree(folder, ignore_errors=True)


def read_record(folder: Path) -> tuple[str, Parts, int]:
    """Return what the folder of an entry holds: its state, its index, and how many stimuli.

    The state is ``whole``, ``partial``, ``damaged``, or ``outdated`` for one of another `FORMAT`.
    """
    whole = _unsealed(_text(folder / _ENTRY))
    records = [whole] if whole else [_unsealed(line) for line in _text(folder / _PROGRESS).splitlines() if line]
    if not records or records[0] is None:
        return "damaged", {}, 0
    if records[0].get("format") != FORMAT:
        return "outdated", {}, 0
    if whole is not None:
        return "whole", whole, whole["n_stimuli"]
    batches = {record["start"]: record["stop"] - record["start"] for record in records[1:] if record is not None}
    return "partial", records[0], sum(batches.values())


# --- files in use ------------------------------------------------------------------------------------------------


def hold(stream: IO[bytes]) -> None:
    """Mark an open file as in use, until it and all memory maps of it are closed."""
    if sys.platform == "win32":
        return  # an open file cannot be removed there
    import fcntl

    with _ignoring_read_only():  # file systems without locks
        fcntl.flock(stream.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)


def is_held(path: Path) -> bool:
    """Tell whether any process has marked a file as in use."""
    if sys.platform == "win32":
        return False
    import fcntl

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
        return  # a cache that may only be read serves all the same


# --- bytes and checksums -----------------------------------------------------------------------------------------


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _sealed(record: Record) -> str:
    text = json.dumps(record, sort_keys=True)
    return json.dumps({"record": record, "sha256": hashlib.sha256(text.encode()).hexdigest()}, sort_keys=True)


def _unsealed(line: str) -> Record | None:
    """Return the record of a line, or None if the line is not what was written."""
    try:
        sealed = json.loads(line)
        record: Record = sealed["record"]
        text = json.dumps(record, sort_keys=True)
        right = sealed["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    except (ValueError, KeyError, TypeError):
        return None
    return record if right else None


def _signature(status: os.stat_result) -> list[int | str]:
    # What was in memory may be lost when a machine loses power.
    return [*stamp_of(status), _boot()]


def _boot() -> str:
    """Return what differs after each start of the machine; empty where the system does not say."""
    return _text(_BOOT).strip()


def _layout(record: Record) -> Layout:
    layers = record["layers"]
    shapes = dict(zip(layers, map(tuple, record["shapes"]), strict=True))
    return Layout(shapes, dict(zip(layers, map(np.dtype, record["dtypes"]), strict=True)))


def _place(record: Record, start: int, stop: int) -> tuple[int, int]:
    """Return where the bytes of some stimuli begin and how many they are."""
    row_bytes = _layout(record).row_bytes
    return len(record["header"]) // 2 + start * row_bytes, (stop - start) * row_bytes


def _size_bytes(record: Record) -> int:
    return sum(_place(record, 0, record["n_stimuli"]))


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
    return all(_crc(stream, *_place(record, start, stop)) == crc for start, stop, crc in record["batches"])


def _mapped(stream: IO[bytes], record: Record, *, writable: Callable[[Layout], bool]) -> Recording:
    layout = _layout(record)
    mode: Literal["r", "c"] = "c" if writable(layout) else "r"
    shape = record["n_stimuli"], layout.row_bytes
    if 0 in shape:
        return Recording(np.empty(shape, np.uint8), layout)
    return Recording(np.memmap(stream, np.uint8, mode, len(record["header"]) // 2, shape), layout)
