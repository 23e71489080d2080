"""Correlate and rank columns, summarise values that may be NaN, and rescale extreme numbers before they are squared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices, NDArray, Splits

__all__ = [
    "ORDINARY",
    "Ranking",
    "constant_columns",
    "correlate_parts",
    "extreme_exponent",
    "hold_constants",
    "mean_known",
    "median_known",
    "ordinary",
    "ordinary_columns",
    "pearson_columns",
    "ranks",
    "sort_order",
    "spearman",
]

# Sort and rank millions of numbers exactly, faster than by sorting indices.


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


# A spread below this share of the mean's size is rounding of a constant.
ROUNDING = 1e-13
_SQUARES = 1e250  # columns are rescaled if sums of squares exceed this or are below its inverse


def constant_columns(values: ArrayLike) -> NDArray[np.bool_]:
    """Return which columns are equal up to rounding, shape (n_columns,); False for columns with NaN."""
    array = np.asarray(values, dtype=np.float64)
    if len(array) == 0:
        return np.ones(array.shape[1:], dtype=bool)
    mean = array.mean(axis=0)
    spread = np.abs(array - mean).max(axis=0)
    constant: NDArray[np.bool_] = spread <= ROUNDING * np.abs(mean)
    return constant


def hold_constants(prediction: Floats, responses: Floats, train: ArrayLike) -> Floats:
    """Predict neuroids whose training responses are equal, up to rounding, by this response; in place.

    A regression with an intercept predicts just that, apart from rounding, which correlates with anything by chance.
    Shapes are (n_test, n_neuroids) and (n_stimuli, n_neuroids); `train` holds positions of stimuli.

    Examples
    --------
    >>> responses = np.array([[0.1, 1.0], [0.1, 2.0], [5.0, 3.0]])
    >>> hold_constants(np.array([[0.1 + 1e-16, 2.5]]), responses, [0, 1])
    array([[0.1, 2.5]])
    """
    rows = np.asarray(train, dtype=np.intp)
    likely = np.flatnonzero(constant_columns(responses[rows[:50]]))  # spares reading all responses
    constant = likely[constant_columns(responses[np.ix_(rows, likely)])]
    prediction[:, constant] = responses[rows[0], constant]
    return prediction


def pearson_columns(first: ArrayLike, second: ArrayLike) -> Floats:
    """Correlate each column of one array, shape (n_stimuli, n_columns), with the same column of another.

    ``r = sum((x - mean x)(y - mean y)) / sqrt(sum((x - mean x)^2) sum((y - mean y)^2))`` (Pearson 1895,
    doi:10.1098/rspl.1895.0041), in [-1, 1]; NaN where either column is constant or holds NaN. Invariant to shifts and
    positive scaling of a column.

    Examples
    --------
    >>> pearson_columns([[1., 0.], [2., 5.], [3., 0.]], [[2., 1.], [4., 1.], [6., 1.]])
    array([ 1., nan])
    """
    x = np.asarray(first, dtype=np.float64)
    y = np.asarray(second, dtype=np.float64)
    if x.shape != y.shape:
        raise ValueError(f"Arrays to correlate must have equal shapes, got {x.shape} and {y.shape}.")
    if len(x) == 0:
        return np.full(x.shape[1:], np.nan)
    undefined = constant_columns(x) | constant_columns(y)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Normalise first: products of two small sums of squares would underflow.
        x, y = _of_length_one(x - x.mean(axis=0)), _of_length_one(y - y.mean(axis=0))
        r = np.clip(np.einsum("ij,ij->j", x, y), -1.0, 1.0)
    r[undefined] = np.nan
    return cast("Floats", r)


def _of_length_one(centred: Floats) -> Floats:
    squares = np.einsum("ij,ij->j", centred, centred)
    extreme = (squares < 1 / _SQUARES) | (squares > _SQUARES)
    if extreme.any():  # some or all digits are lost
        centred[:, extreme] = ordinary_columns(centred[:, extreme])
        squares = np.einsum("ij,ij->j", centred, centred)
    centred /= np.sqrt(squares)
    return centred


def ranks(values: ArrayLike) -> Floats:
    """Rank numbers without NaN from 1, shape (n,); equal ones share the mean of their ranks."""
    return Ranking.of(values).ranks()


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    """Correlate the ranks of two lists of numbers (Spearman 1904, doi:10.2307/1412159).

    In [-1, 1]; NaN if either list is constant or holds NaN. Invariant to increasing transformations.
    """
    x = np.asarray(first, dtype=np.float64)
    y = np.asarray(second, dtype=np.float64)
    if np.isnan(x).any() or np.isnan(y).any():
        return float("nan")
    return float(pearson_columns(ranks(x)[:, None], ranks(y)[:, None])[0])


def correlate_parts(
    parts: Iterable[tuple[int, slice, Floats]], target: ArrayLike | ColumnBlocks, splits: Splits
) -> Floats:
    """Correlate predictions that arrive in parts with the responses, shape (n_splits, n_neuroids).

    Parts come from a `BlockPredictor`; `target` is read once if they come block by block, otherwise once per split. NaN
    where a neuroid is constant in training (see `hold_constants`) or test.
    """
    blocks = ColumnBlocks.of(target)
    rows = [[np.asarray(part, dtype=np.intp) for part in split] for split in splits]
    r = np.full((len(rows), blocks.shape[1]), np.nan)
    passing = blocks.placed()
    here, block = next(passing)
    for index, columns, prediction in parts:
        if columns.start < here.start:
            passing = blocks.placed()
            here, block = next(passing)
        while here.start < columns.start:
            here, block = next(passing)
        train, test = rows[index]
        r[index, columns] = pearson_columns(block[test], hold_constants(prediction, block, train))
    return r


# Summarise values that may be NaN.


def mean_known(values: ArrayLike, axis: int | None = None) -> Floats:
    """Average the values that are not NaN, along an axis or over all; NaN if there are none."""
    array = np.asarray(values, dtype=np.float64)
    defined = ~np.isnan(array)
    total, number = np.where(defined, array, 0.0).sum(axis=axis), defined.sum(axis=axis)
    means: Floats = np.divide(total, number, out=np.full(np.shape(total), np.nan), where=number > 0)
    return means


def median_known(values: Floats) -> Floats:
    """Take the median of the values that are not NaN over the last axis; NaN if there are none."""
    rows = (row[~np.isnan(row)] for row in values.reshape(-1, values.shape[-1]))
    medians = [np.median(row) if len(row) else np.nan for row in rows]
    return np.array(medians).reshape(values.shape[:-1])


# Rescale numbers of extreme size, to keep their squares from overflowing or vanishing.
#
# Dividing by a power of two changes no digits; ordinary responses are not rescaled.


ORDINARY = 64
"""Numbers between ``2**-64`` and ``2**64`` (1.8e19) are ordinary: their eighth powers are finite."""


def extreme_exponent(*values: NDArray[Any]) -> int:
    """Return the exponent of the largest number in the arrays, ``2**(e - 1) <= largest < 2**e``; 0 if it is ordinary.

    NaN does not count; infinite arrays and arrays of zeros are ordinary.
    """
    largest = 0.0
    for array in values:
        if array.size:
            ends = float(array.max()), float(array.min())
            if np.isnan(ends).any():
                ends = float(np.fmax.reduce(array, axis=None)), float(np.fmin.reduce(array, axis=None))
            largest = max(largest, *(abs(end) for end in ends if not np.isnan(end)), 0.0)
    exponent = int(np.frexp(largest)[1]) if np.isfinite(largest) else 0
    return exponent if abs(exponent) > ORDINARY else 0


def ordinary(*values: NDArray[Any]) -> list[NDArray[Any]]:
    """Divide arrays of one unit by the power of two that brings their largest number between .5 and 1.

    Examples
    --------
    >>> ordinary(np.array([3e200, 6e200]))[0] * [1, 0.5]
    array([0.48990757, 0.48990757])
    """
    exponent = extreme_exponent(*values)
    return [np.ldexp(array.astype(np.float64), -exponent) for array in values] if exponent else list(values)


def ordinary_columns(values: Floats) -> Floats:
    """Divide each finite column by the power of two that brings its largest number between .5 and 1."""
    scaled: Floats = np.ldexp(values, -np.frexp(np.abs(values).max(axis=0))[1])
    return scaled
