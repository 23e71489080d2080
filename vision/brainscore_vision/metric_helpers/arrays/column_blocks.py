"""Hold matrices larger than memory as a stream of blocks of columns."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, NDArray

__all__ = ["ColumnBlocks", "as_matrix", "centred", "is_mapped", "release_pages", "stack_rows"]

BLOCK_BYTES = 32 * 2**20  # size of a block in float64
_MAPPED_BYTES = 256 * 2**20  # memory maps up to this size may stay in memory after reading
_PIECE_BYTES = 64 * 2**20  # rows of larger ones are read in such pieces


class ColumnBlocks:
    """A matrix whose columns come in blocks, with only one block in memory at a time.

    Parameters
    ----------
    blocks
        ``blocks()`` returns an iterable of arrays of shape (n_stimuli, any width), from left to right.
    shape
        Numbers of stimuli and of all columns.
    width
        Most columns of a block in iteration; None: 32 MiB in float64.

    Examples
    --------
    >>> features = ColumnBlocks(lambda: (np.full((3, 2), i) for i in (1, 2)), shape=(3, 4))
    >>> features.rows([0, 1]).to_array()
    array([[1., 1., 2., 2.],
           [1., 1., 2., 2.]])
    """

    ndim = 2

    def __init__(
        self, blocks: Callable[[], Iterable[ArrayLike]], shape: tuple[int, int], *, width: int | None = None
    ) -> None:
        self.shape = (int(shape[0]), int(shape[1]))
        self._blocks = blocks
        self._width = width or _width(self.shape[0])

    @classmethod
    def of(cls, source: ArrayLike | ColumnBlocks) -> ColumnBlocks:
        """Slice an array or a memory map without copying; return `ColumnBlocks` unchanged."""
        if isinstance(source, ColumnBlocks):
            return source
        array = as_matrix(source)
        width = _width(len(array))

        def slices() -> Iterator[NDArray[Any]]:
            for first in range(0, array.shape[1], width):
                block = array[:, first : first + width]
                yield _read_in_pieces(block) if array.nbytes > _MAPPED_BYTES else block

        return cls(slices, (array.shape[0], array.shape[1]))

    def rows(self, order: ArrayLike) -> Self:
        """Return a view of stimuli at the given positions."""
        positions = np.asarray(order, dtype=np.intp)
        # The same width gives all views of a matrix the same blocks.
        return type(self)(
            lambda: (block[positions] for block in self), (len(positions), self.shape[1]), width=self._width
        )

    def keep(self, mask: ArrayLike) -> Self:
        """Return a view of the columns where a mask is True."""
        selected = np.asarray(mask, dtype=bool)
        if selected.shape != (self.shape[1],):
            raise ValueError(
                f"The mask has shape {selected.shape}; expected ({self.shape[1]},), one entry for each column."
            )

        def blocks() -> Iterator[ArrayLike]:
            for here, block in self.placed():
                yield block[:, selected[here]]

        return type(self)(blocks, (self.shape[0], int(selected.sum())), width=self._width)

    def checked(self, check: Callable[[NDArray[Any]], None]) -> Self:
        """Return a view that passes every block to a function, which may raise, before use."""

        def blocks() -> Iterator[ArrayLike]:
            for block in self:
                check(block)
                yield block

        return type(self)(blocks, self.shape, width=self._width)

    def columns(self, indices: ArrayLike) -> Floats:
        """Return columns at the given positions, in one pass."""
        positions = np.asarray(indices, dtype=np.intp)
        result = np.empty((self.shape[0], len(positions)))
        for columns, block in self.placed():
            here = np.flatnonzero((positions >= columns.start) & (positions < columns.stop))
            if len(here):
                result[:, here] = block[:, positions[here] - columns.start]
        return result

    def to_array(self) -> Floats:
        """Return the whole matrix in float64."""
        result = np.empty(self.shape)
        for here, block in self.placed():
            result[:, here] = block
        return result

    def placed(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield the column slice and the block, for each block."""
        first = 0
        for block in self:
            yield slice(first, first + block.shape[1]), block
            first += block.shape[1]

    def centred(self) -> Iterator[Floats]:
        """Yield blocks in float64 less their column means; callers may change them."""
        for block in self:
            centred = np.array(block, dtype=np.float64, order="C")
            with np.errstate(invalid="ignore"):
                centred -= centred.mean(axis=0)
            yield centred

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Yield arrays of shape (n_stimuli, width) in their own type."""
        width = self._width
        waiting: list[NDArray[Any]] = []
        total = 0
        for block in self._given():
            for first in range(0, block.shape[1], width):
                part = block[:, first : first + width]
                if waiting and sum(other.shape[1] for other in waiting) + part.shape[1] > width:
                    yield _joined(waiting)
                    waiting = []
                waiting.append(part)
            total += block.shape[1]
        if waiting:
            yield _joined(waiting)
        if total != self.shape[1]:
            raise ValueError(
                f"The blocks have {total} columns in total, but the shape states {self.shape[1]}. If the first pass "
                "was complete, the function returned the same exhausted iterator; it must return a new one."
            )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Refuse implicit conversion, which might exhaust the memory."""
        raise TypeError(
            f"ColumnBlocks of shape {self.shape} are not converted to an array implicitly: call to_array()."
        )

    def _given(self) -> Iterator[NDArray[Any]]:
        for block in self._blocks():
            array = np.asarray(block)
            if array.ndim != 2 or array.shape[0] != self.shape[0]:
                raise ValueError(f"A block of columns has shape {array.shape}; expected ({self.shape[0]}, any width).")
            yield array


def _read_in_pieces(block: NDArray[Any]) -> NDArray[Any]:
    """Copy columns of a read-only memory map some rows at a time; return other blocks unchanged.

    The system maps up to 2 MiB around each read: for all rows perhaps the whole file.
    """
    if not _can_be_released(block):
        return block
    result = np.empty(block.shape, block.dtype)
    step = max(1, _PIECE_BYTES // max(1, abs(block.strides[0])))
    for start in range(0, len(block), step):
        result[start : start + step] = block[start : start + step]
        release_pages(block)
    return result


def is_mapped(array: object) -> bool:
    """Return whether an array lies in a file."""
    return _memory_map(array) is not None


def release_pages(array: NDArray[Any]) -> None:
    """Release the memory of a read-only memory map; do nothing for other arrays.

    Pages that were read count as memory of the process until the system needs them.
    """
    base = _memory_map(array)
    if base is not None and _can_be_released(array):
        pages = base.base  # the outermost map holds the file
        if isinstance(pages, mmap.mmap):
            pages.madvise(mmap.MADV_DONTNEED)


def _can_be_released(array: NDArray[Any]) -> bool:
    base = _memory_map(array)
    return base is not None and base.mode == "r" and hasattr(mmap, "MADV_DONTNEED")


def _memory_map(array: object) -> np.memmap[Any, Any] | None:
    outermost = None
    while isinstance(array, np.ndarray):
        # Slices of a memory map are memory maps too, but only the first holds the file.
        outermost = array if isinstance(array, np.memmap) else outermost
        array = array.base
    return outermost


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def stack_rows(*sources: ArrayLike | ColumnBlocks) -> ColumnBlocks:
    """Stack the stimuli of several matrices with the same columns, without copying them whole.

    ValueError if the numbers of columns differ.
    """
    parts = [ColumnBlocks.of(source) for source in sources]
    widths = {part.shape[1] for part in parts}
    if len(widths) != 1:
        raise ValueError(
            f"Matrices with {sorted(widths)} columns cannot be stacked; all must have the same number of columns."
        )
    height = sum(len(part) for part in parts)
    width = _width(height)

    def blocks() -> Iterator[NDArray[Any]]:
        for group in zip(*(_of_width(part, width) for part in parts), strict=True):
            yield np.concatenate(group, axis=0)

    return ColumnBlocks(blocks, (height, widths.pop()))


def as_matrix(values: ArrayLike) -> NDArray[Any]:
    """Return an array of its own type; raise ValueError unless it has two axes."""
    array = np.asarray(values)
    if array.ndim != 2:
        raise ValueError(f"Expected an array of shape (n_stimuli, n_columns), got shape {array.shape}.")
    return array


def _of_width(source: ColumnBlocks, width: int) -> Iterator[NDArray[Any]]:
    rest: NDArray[Any] | None = None
    for block in source:
        whole = block if rest is None else np.concatenate([rest, block], axis=1)
        complete = whole.shape[1] - whole.shape[1] % width
        for first in range(0, complete, width):
            yield whole[:, first : first + width]
        rest = whole[:, complete:] if complete < whole.shape[1] else None
    if rest is not None:
        yield rest


def _width(n_stimuli: int) -> int:
    return max(1, BLOCK_BYTES // (8 * max(1, n_stimuli)))


def centred(values: ArrayLike) -> tuple[Floats, Floats]:
    """Return a copy less its column means, in float64, and the means."""
    result = np.array(values, dtype=np.float64)
    if result.ndim != 2:
        raise ValueError(f"Expected an array of shape (n_stimuli, n_columns), got shape {result.shape}.")
    mean = result.mean(axis=0)
    result -= mean
    return result, mean
