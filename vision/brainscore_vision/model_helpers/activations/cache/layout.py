"""Concatenate layers in one row for each stimulus, and index them in JSON lines with checksums.

An entry is a folder with ``values.npy`` (stimulus x unit, layers one after the other, or stimulus x byte if layers
differ in type) and an index: ``progress.jsonl``, with a line for each finished batch, or ``entry.json`` when it is
whole. Both hold each layer's position, and stimuli and CRC-32 of each batch.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from brainscore_core.config import memory_budget
from brainscore_core.errors import AssemblyError
from brainscore_core.files import nameless_file
from brainscore_core.identity.digest import stamp_of
from brainscore_vision.metric_helpers.arrays.column_blocks import release_pages

__all__ = [
    "ENTRY",
    "FORMAT",
    "PROGRESS",
    "VALUES",
    "Array",
    "Layout",
    "Parts",
    "Record",
    "Recorded",
    "SideBySide",
    "boot",
    "exceeds_budget",
    "in_blocks",
    "layout_of",
    "pieces",
    "place_of",
    "read_record",
    "read_text",
    "sealed",
    "signature",
    "size_bytes",
    "units_of",
    "unsealed",
]

Array = npt.NDArray[Any]  # of the dtype that the model gives


@dataclass(frozen=True)
class Layout:
    """Shape, for one stimulus, and type of each layer, in the order of a row."""

    shapes: Mapping[str, tuple[int, ...]]
    dtypes: Mapping[str, np.dtype[np.generic]]

    @classmethod
    def of(cls, batch: Mapping[str, Array]) -> Layout:
        """Return the layout of arrays (stimulus, ...) by layer."""
        return cls(
            {layer: values.shape[1:] for layer, values in batch.items()},
            {layer: values.dtype for layer, values in batch.items()},
        )

    @property
    def layers(self) -> list[str]:
        """The layers, in the order of a row."""
        return list(self.shapes)

    @property
    def row_bytes(self) -> int:
        """Bytes of one stimulus."""
        return sum(self._widths_bytes())

    @property
    def dtype(self) -> np.dtype[np.generic] | None:
        """The common type of all layers; None if they differ."""
        one, *others = set(self.dtypes.values())
        return None if others else one

    def together(self, layers: Sequence[str]) -> slice | None:
        """Return the bytes of a row that hold these layers; None unless they are adjacent, of one type and aligned."""
        places = self._places()
        if not set(layers) <= places.keys():
            return None
        follow = all(places[one].stop == places[after].start for one, after in itertools.pairwise(layers))
        first, *others = {self.dtypes[layer] for layer in layers}
        if others or not follow:
            return None
        place = slice(places[layers[0]].start, places[layers[-1]].stop)
        return place if place.start % first.alignment == 0 == self.row_bytes % first.alignment else None

    def matrix(self, rows: Array, place: slice, layers: Sequence[str]) -> Array:
        """Return a view (stimulus, unit) of the layers of `together` in `rows` (stimulus, byte)."""
        return rows[:, place].view(self.dtypes[layers[0]])

    def layer(self, rows: Array, layer: str) -> Array:
        """Return a view (stimulus, ...) of a layer in `rows` (stimulus, byte)."""
        flat = rows[:, self._places()[layer]].view(self.dtypes[layer])
        return flat.reshape(len(rows), *self.shapes[layer])

    def check(self, batch: Mapping[str, Array]) -> None:
        """Raise `AssemblyError` if a layer of a batch has another shape or type."""
        for layer, values in batch.items():
            shape, dtype = self.shapes[layer], self.dtypes[layer]
            if values.shape[1:] != shape or values.dtype != dtype:
                raise AssemblyError(
                    f"Layer {layer!r} gave {values.dtype} of shape {values.shape[1:]} for each stimulus of a batch, "
                    f"but {dtype} of shape {shape} before; expected the same for all stimuli. Resize the stimuli to "
                    "one size in the preprocessing."
                )

    def _widths_bytes(self) -> list[int]:
        return [units_of({layer: shape}) * self.dtypes[layer].itemsize for layer, shape in self.shapes.items()]

    def _places(self) -> dict[str, slice]:
        edges = [0, *itertools.accumulate(self._widths_bytes())]
        return {layer: slice(*edge) for layer, edge in zip(self.shapes, itertools.pairwise(edges), strict=True)}


def units_of(shapes: Mapping[str, tuple[int, ...]]) -> int:
    """Return the number of units of all layers."""
    return sum(int(np.prod(shape, dtype=np.int64)) for shape in shapes.values())


def pieces(arrays: Sequence[Array]) -> Iterator[memoryview]:
    """Yield the bytes of arrays (stimulus, ...), stimulus by stimulus, array by array."""
    flat = [np.ascontiguousarray(values).reshape(len(values), -1).view(np.uint8) for values in arrays]
    if len(flat) == 1:
        yield flat[0].reshape(-1).data
        return
    for row in zip(*flat, strict=True):
        yield from (part.data for part in row)


FORMAT = 3
"""Counted up whenever the meaning of an entry changes."""

Parts = Mapping[str, Any]  # parts of a key by name: plain values of JSON
Record = dict[str, Any]  # an index: plain values of JSON

VALUES, ENTRY, PROGRESS = "values.npy", "entry.json", "progress.jsonl"
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def read_record(folder: Path) -> tuple[str, Parts, int]:
    """Return state (see `entries.Stored`), index and number of stimuli of the entry in a folder."""
    whole = unsealed(read_text(folder / ENTRY))
    records = [whole] if whole else [unsealed(line) for line in read_text(folder / PROGRESS).splitlines() if line]
    if not records or records[0] is None:
        return "damaged", {}, 0
    if records[0].get("format") != FORMAT:
        return "outdated", {}, 0
    if whole is not None:
        return "whole", whole, whole["n_stimuli"]
    batches = {record["start"]: record["stop"] - record["start"] for record in records[1:] if record is not None}
    return "partial", records[0], sum(batches.values())


def read_text(path: Path) -> str:
    """Return a file's text; empty if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def sealed(record: Record) -> str:
    """Return a record as a line with its checksum."""
    text = json.dumps(record, sort_keys=True)
    return json.dumps({"record": record, "sha256": hashlib.sha256(text.encode()).hexdigest()}, sort_keys=True)


def unsealed(line: str) -> Record | None:
    """Return a line's record; None if damaged."""
    try:
        outer = json.loads(line)
        record: Record = outer["record"]
        text = json.dumps(record, sort_keys=True)
        intact = outer["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    except (ValueError, KeyError, TypeError):
        return None
    return record if intact else None


def signature(status: os.stat_result) -> list[int | str]:
    """Return a value that differs after a file was changed or the machine was restarted."""
    return [*stamp_of(status), boot()]  # a power cut may lose data that was still in memory


def boot() -> str:
    """Return an identifier of the machine's last start; empty if unknown."""
    return read_text(_BOOT).strip()


def layout_of(record: Record) -> Layout:
    """Return the layout of an entry's values."""
    layers = record["layers"]
    shapes = dict(zip(layers, map(tuple, record["shapes"]), strict=True))
    return Layout(shapes, dict(zip(layers, map(np.dtype, record["dtypes"]), strict=True)))


def place_of(record: Record, start: int, stop: int) -> tuple[int, int]:
    """Return offset and number of some stimuli's bytes."""
    row_bytes = layout_of(record).row_bytes
    return len(record["header"]) // 2 + start * row_bytes, (stop - start) * row_bytes


def size_bytes(record: Record) -> int:
    """Return the due size of the file of values."""
    return sum(place_of(record, 0, record["n_stimuli"]))


# -- layers side by side in one matrix ---------------------------------------------------------------------------------
# Put layers side by side in one matrix: in memory, or in a file beyond the budget.

_BLOCK_BYTES = 32 * 2**20


@dataclass(frozen=True)
class Recorded:
    """The activations of layers.

    Attributes
    ----------
    matrix : array (stimulus, unit)
        Units in C order, layers one after the other. A read-only memory map if it exceeds the budget.
    shapes
        Shape of each layer for one stimulus, in order.
    """

    matrix: Array
    shapes: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, layers: Mapping[str, Array], rows: Sequence[int] | None = None) -> Recorded:
        """Put arrays (stimulus, ...) side by side; `rows` are positions of stimuli, None is all."""
        first = next(iter(layers.values()))
        if rows is None and len(layers) == 1:
            shapes = Layout.of(layers).shapes
            return cls(first.reshape(len(first), units_of(shapes)), shapes)
        order = np.arange(len(first)) if rows is None else np.asarray(rows, dtype=np.intp)
        result = SideBySide(len(order), Layout.of(layers))
        for start, stop in in_blocks(len(order), sum(values[:1].nbytes for values in layers.values())):
            rows_here = order[start:stop]
            adjacent = len(rows_here) > 0 and bool((np.diff(rows_here) == 1).all())
            # A slice needs no copy.
            index = slice(int(rows_here[0]), int(rows_here[-1]) + 1) if adjacent else rows_here
            result.put(start, {layer: values[index] for layer, values in layers.items()})
            for values in layers.values():
                release_pages(values)
        return result.finish()


def in_blocks(n_stimuli: int, row_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield start and stop of blocks of about 32 MiB."""
    step = max(1, _BLOCK_BYTES // max(1, row_bytes))
    for start in range(0, n_stimuli, step):
        yield start, min(start + step, n_stimuli)


def exceeds_budget(size_bytes: int) -> bool:
    """Tell whether an array exceeds `brainscore_core.config.memory_budget`."""
    return size_bytes > memory_budget()


class SideBySide:
    """A matrix (stimulus, unit), of a type that fits all layers, to be filled batch by batch.

    Beyond the budget it is in a nameless file, which vanishes with the process or its last array.
    """

    def __init__(self, n_stimuli: int, layout: Layout) -> None:
        self._layout = layout
        self._dtype = np.result_type(*layout.dtypes.values())
        self._shape = (n_stimuli, units_of(layout.shapes))
        size_bytes = n_stimuli * self._shape[1] * self._dtype.itemsize
        self._place: Array | IO[bytes]
        if exceeds_budget(size_bytes):
            self._place = nameless_file(size_bytes)
        else:
            self._place = np.empty(self._shape, self._dtype)

    def put(self, start: int, batch: Mapping[str, Array]) -> None:
        """Add arrays (stimulus, ...) by layer from stimulus `start` on; `AssemblyError` if shape or type differ."""
        self._layout.check(batch)
        parts = [batch[layer].reshape(len(batch[layer]), -1) for layer in self._layout.shapes]
        if isinstance(self._place, np.ndarray):
            first = 0
            for part in parts:
                self._place[start : start + len(part), first : first + part.shape[1]] = part
                first += part.shape[1]
            return
        # The pages of a map would count as memory of this process.
        self._place.seek(start * self._shape[1] * self._dtype.itemsize)
        for piece in pieces([part.astype(self._dtype, copy=False) for part in parts]):
            self._place.write(piece)

    def finish(self) -> Recorded:
        """Return the matrix."""
        if isinstance(self._place, np.ndarray):
            return Recorded(self._place, self._layout.shapes)
        with self._place as stream:
            stream.flush()
            return Recorded(np.memmap(stream, self._dtype, "r", 0, self._shape), self._layout.shapes)
