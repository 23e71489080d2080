"""Put layers side by side in one matrix: in memory, or in a file beyond the budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np

from brainscore_core.config import memory_budget
from brainscore_core.files import nameless_file
from brainscore_vision.metric_helpers.arrays.column_blocks import release_pages
from brainscore_vision.model_helpers.activations.cache.layout import Array, Layout, pieces, units_of

__all__ = ["Recorded", "SideBySide", "exceeds_budget", "in_blocks"]

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
    """A matrix (stimulus, unit), of a type that holds those of all layers, to be filled batch by batch.

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
