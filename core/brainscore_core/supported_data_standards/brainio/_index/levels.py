"""Factorise the values of coordinates into the levels of an index, quickly."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

__all__ = ["Codes", "Level", "make_level"]

Codes = npt.NDArray[np.intp]

_WIDEST_HASHED = 64
_FEWEST_HASHED = 500
# Odd and large, so that different texts have different sums but for chance; fixed, so that chance does not vary.
_FACTORS = np.random.default_rng(20240101).integers(2**32, 2**63, size=_WIDEST_HASHED, dtype=np.uint64) | np.uint64(1)


class Level(NamedTuple):
    """The values of one coordinate as an index holds them: distinct values and the place of each entry among them."""

    uniques: pd.Index[Any]
    """Sorted, unless they cannot be compared."""
    codes: Codes
    """(n,) places; -1 where a value is missing."""
    dtype: np.dtype[Any]
    """The dtype in which the values are shown."""


def make_level(values: npt.NDArray[Any]) -> Level:
    """Factorise the values of a coordinate. This takes most of the time of making an assembly, so each is read once."""
    if values.dtype == np.float16:
        values = values.astype(np.float32)  # pandas has no index of half precision
    codes, uniques = _factorized_text(values) if values.dtype.kind == "U" else _factorized(values)
    dtype = values.dtype
    if dtype.kind == "O" and uniques.size:
        if pd.api.types.infer_dtype(uniques, skipna=False) == "string":
            uniques = uniques.astype(str)
            dtype = dtype if (codes < 0).any() else uniques.dtype
        else:
            uniques = np.asarray(xr.Variable("unique", uniques).values)  # finds times among objects
            dtype = uniques.dtype
    try:
        order = np.argsort(uniques, kind="stable")
    except TypeError:  # values of several types have no order: that of appearance stays
        return Level(pd.Index(uniques, tupleize_cols=False), codes, dtype)
    ranks = np.empty(len(order) + 1, dtype=np.intp)
    ranks[order] = np.arange(len(order))
    ranks[-1] = -1  # the code of missing values, -1, is the last place too
    return Level(pd.Index(uniques[order], tupleize_cols=False), ranks.take(codes), dtype)


def _factorized(values: npt.NDArray[Any]) -> tuple[Codes, npt.NDArray[Any]]:
    codes, uniques = pd.factorize(values)
    return codes, np.asarray(uniques)


def _factorized_text(values: npt.NDArray[Any]) -> tuple[Codes, npt.NDArray[Any]]:
    """Factorise text without making an object of every value: compare numbers that stand for the texts."""
    width = values.dtype.itemsize // 4
    if not 0 < width <= _WIDEST_HASHED or not values.dtype.isnative or len(values) < _FEWEST_HASHED:
        codes, uniques = _factorized(values.astype(object))
        return codes, uniques.astype(values.dtype)
    # Two letters are one number of 64 bits; a number for the whole text is a sum of these, each times a factor.
    even = values if width % 2 == 0 else values.astype(f"U{width + 1}")
    letters = np.ascontiguousarray(even).view(np.uint64).reshape(len(values), -1)
    sums = np.einsum("ij,j->i", letters, _FACTORS[: letters.shape[1]])
    codes, distinct = pd.factorize(sums)
    first = np.empty(len(distinct), dtype=np.intp)
    first[codes[::-1]] = np.arange(len(values) - 1, -1, -1)
    if not np.array_equal(letters[first].take(codes, axis=0), letters):  # two texts with one number
        codes, uniques = _factorized(values.astype(object))
        return codes, uniques.astype(values.dtype)
    return codes, values[first]
