"""Concatenate the activations of layers in one row for each stimulus."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from brainscore_core.errors import AssemblyError

__all__ = ["Array", "Layout", "pieces", "units_of"]

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
