"""Factorise the values of coordinates into the levels of an index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

Codes = npt.NDArray[np.signedinteger[Any]]

_WIDEST_HASHED = 64
_FEWEST_HASHED = 500
_BLOCK = 2**13
_FEWEST_PER_GROUP = 4
# Odd and large, so that different texts rarely have equal sums; fixed for reproducibility.
_FACTORS = np.random.default_rng(20240101).integers(2**32, 2**63, size=_WIDEST_HASHED, dtype=np.uint64) | np.uint64(1)


class Level(NamedTuple):
    """Distinct values of a coordinate and the position of each entry among them."""

    uniques: pd.Index[Any]
    """Sorted, unless they cannot be compared."""
    codes: Codes
    """(n,) positions; -1 for a missing value."""
    dtype: np.dtype[Any]
    """Of the values that users see."""


class _Groups(NamedTuple):
    """Entries with the same value of a coordinate: (n,) number of the group, and one position for each group."""

    codes: Codes
    positions: Codes


def make_levels(coordinates: Mapping[str, npt.NDArray[Any]]) -> dict[str, Level]:
    """Factorise coordinates (n,), most of the time of constructing an assembly.

    Most coordinates of presentations are constant for a stimulus, so only one value per stimulus needs factorising.
    """
    levels: dict[str, Level] = {}
    groups: _Groups | None = None
    for name, values in coordinates.items():
        if groups is not None and _is_constant_within(groups, values):
            few = make_level(values[groups.positions])
            levels[name] = few._replace(codes=few.codes.take(groups.codes))
            continue
        level = levels[name] = make_level(values)
        fewest = 0 if groups is None else len(groups.positions)
        if fewest < len(level.uniques) <= len(values) // _FEWEST_PER_GROUP and not (level.codes < 0).any():
            positions = np.empty(len(level.uniques), dtype=np.intp)
            positions[level.codes] = np.arange(len(values))
            groups = _Groups(level.codes.astype(np.intp), positions)
    return levels


def _is_constant_within(groups: _Groups, values: npt.NDArray[Any]) -> bool:
    """Return whether entries of one group have equal values; False also where only factorising compares."""
    if len(values) != len(groups.codes):
        return False
    if values.dtype.kind == "U":
        values = _letters(values, np.uint32) if values.dtype.itemsize and values.dtype.isnative else values
    elif values.dtype.kind == "O":
        if pd.api.types.infer_dtype(values[groups.positions], skipna=False) != "string":
            return False
    elif values.dtype.kind not in "biuf":
        return False
    try:
        return _is_taken(values, values[groups.positions], groups.codes)
    except (TypeError, ValueError):  # objects that do not compare with text
        return False


def _is_taken(values: npt.NDArray[Any], distinct: npt.NDArray[Any], codes: Codes) -> bool:
    """Return whether ``values == distinct[codes]``, in blocks that fit into the processor's cache."""
    blocks = (slice(start, start + _BLOCK) for start in range(0, len(values), _BLOCK))
    return all((distinct.take(codes[block], axis=0) == values[block]).all() for block in blocks)


def _letters(values: npt.NDArray[Any], dtype: type[np.unsignedinteger[Any]]) -> npt.NDArray[Any]:
    return np.ascontiguousarray(values).view(dtype).reshape(len(values), -1)


def make_level(values: npt.NDArray[Any]) -> Level:
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
    except TypeError:  # values of several types stay in order of appearance
        return Level(pd.Index(uniques, tupleize_cols=False), codes, dtype)
    ranks = np.empty(len(order) + 1, dtype=np.min_scalar_type(-len(order) - 2))  # as narrow as pandas stores codes
    ranks[order] = np.arange(len(order))
    ranks[-1] = -1  # missing values have the code -1, which is also the last position
    return Level(pd.Index(uniques[order], tupleize_cols=False), ranks.take(codes), dtype)


def _factorized(values: npt.NDArray[Any]) -> tuple[Codes, npt.NDArray[Any]]:
    codes, uniques = pd.factorize(values)
    return codes, np.asarray(uniques)


def _factorized_text(values: npt.NDArray[Any]) -> tuple[Codes, npt.NDArray[Any]]:
    """Factorise text by one number for each."""
    width = values.dtype.itemsize // 4
    if not 0 < width <= _WIDEST_HASHED or not values.dtype.isnative or len(values) < _FEWEST_HASHED:
        codes, uniques = _factorized(values.astype(object))
        return codes, uniques.astype(values.dtype)
    # Two letters are one number of 64 bits; the number of a text is the sum of these, each times a factor.
    even = values if width % 2 == 0 else values.astype(f"U{width + 1}")
    letters = _letters(even, np.uint64)
    sums = np.einsum("ij,j->i", letters, _FACTORS[: letters.shape[1]])
    codes, distinct = pd.factorize(sums)
    first = np.empty(len(distinct), dtype=np.intp)
    first[codes[::-1]] = np.arange(len(values) - 1, -1, -1)
    if not _is_taken(letters, letters[first], codes):  # two texts have the same number
        codes, uniques = _factorized(values.astype(object))
        return codes, uniques.astype(values.dtype)
    return codes, values[first]
