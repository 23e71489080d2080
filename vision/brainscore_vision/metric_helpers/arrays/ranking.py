"""Sort and rank millions of numbers exactly, faster than by sorting indices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices

__all__ = ["Ranking", "sort_order"]

_SMALL = 2**14  # below this, sorting indices is fast enough
_RADIX = 2**20  # above this, counting misses the cache
_REPAIRABLE = 8  # sort again if more than one in this number is out of order
_SIGN = np.uint64(1 << 63)


def sort_order(values: ArrayLike) -> Indices:
    """Return the positions of numbers, shape (n,) without NaN, from the smallest to the largest, exactly.

    Up to a million numbers are sorted by their leading 32 bits, 16 at a time; more by 64-bit keys that hold leading
    bits and position. Numbers with equal leading bits are then put right. Equal numbers have a reproducible order.
    """
    array = np.ascontiguousarray(values, dtype=np.float64)
    if len(array) < _SMALL:
        return np.argsort(array, kind="stable")
    bits = (array + 0.0).view(np.int64)  # -0.0 becomes 0.0
    negative = bits >> 63  # all ones or all zeros
    sortable = bits.view(np.uint64) ^ (negative.view(np.uint64) | _SIGN)  # in the order of the numbers
    sortable -= sortable.min()
    if len(array) <= _RADIX:
        cut = max(0, int(sortable.max()).bit_length() - 32)
        leading = (sortable >> np.uint64(cut)).astype(np.uint32)
        low, high = leading.astype(np.uint16), (leading >> np.uint32(16)).astype(np.uint16)
        order = np.argsort(low, kind="stable")  # of 16 bits: by counting
        order = order[np.argsort(high[order], kind="stable")]
        keys = leading[order]
    else:
        position_bits = (len(array) - 1).bit_length()
        cut = max(0, int(sortable.max()).bit_length() + position_bits - 64)
        both = ((sortable >> np.uint64(cut)) << np.uint64(position_bits)) | np.arange(len(array), dtype=np.uint64)
        both.sort()
        order = (both & np.uint64((1 << position_bits) - 1)).astype(np.intp)
        keys = both >> np.uint64(position_bits)
    if not cut:
        return order
    ordered = array[order]
    if not (ordered[1:] < ordered[:-1]).any():
        return order
    alike = keys[1:] == keys[:-1]
    doubtful = np.flatnonzero(np.append(alike, False) | np.append(False, alike))
    if len(doubtful) * _REPAIRABLE > len(array):
        return np.argsort(array, kind="stable")
    order[doubtful] = order[doubtful][np.lexsort((ordered[doubtful], keys[doubtful]))]
    return order


@dataclass(frozen=True)
class Ranking:
    """The order of numbers; ranks for any repetition counts follow without sorting again.

    `starts` holds the start of each distinct number in `order`; None if all are distinct.
    """

    order: Indices
    starts: Indices | None

    @classmethod
    def of(cls, values: ArrayLike, *, tolerance: float = 0.0) -> Ranking:
        """Rank numbers, shape (n,), without NaN.

        Neighbours that differ by at most the share `tolerance` of the largest size are equal, unless a number is
        infinite.
        """
        array = np.asarray(values, dtype=np.float64)
        order = sort_order(array)
        ordered = array[order]
        if tolerance and len(ordered) and np.isfinite(ordered[[0, -1]]).all():
            differs = np.diff(ordered) > tolerance * np.abs(ordered[[0, -1]]).max()
        else:
            differs = ordered[1:] != ordered[:-1]
        starts = None if differs.all() else np.flatnonzero(np.concatenate(([True], differs)))
        return cls(order=order, starts=starts)

    def ranks(self) -> Floats:
        """Return ranks from 1, shape (n,); equal numbers share the mean of their ranks."""
        n = len(self.order)
        result = np.empty(n)
        if self.starts is None:
            result[self.order] = np.arange(1.0, n + 1.0)
        else:
            ends = np.append(self.starts[1:], n)
            result[self.order] = np.repeat(0.5 * (self.starts + ends + 1), ends - self.starts)
        return result

    def weighted_ranks(self, counts: Floats) -> Floats:
        """Return the ranks when each number occurs `counts` times; meaningless for numbers that do not occur."""
        ordered = counts[self.order]
        if self.starts is None:
            ends = np.cumsum(ordered)
            middle = ends - 0.5 * (ordered - 1.0)
        else:
            sizes = np.add.reduceat(ordered, self.starts)
            lengths = np.diff(np.append(self.starts, len(ordered)))
            middle = np.repeat(np.cumsum(sizes) - 0.5 * (sizes - 1.0), lengths)
        result = np.empty(len(ordered))
        result[self.order] = middle
        return result
