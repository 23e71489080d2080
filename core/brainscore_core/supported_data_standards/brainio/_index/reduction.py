"""Reduce groups of an assembly's entries, or an array's rows, to one each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import xarray as xr

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio._index import coordinates, fold

Array = TypeVar("Array", bound=xr.DataArray)
Reduction = Literal["mean", "sum", "min", "max", "prod", "var", "std", "count", "median"]

_BLOCK_BYTES = 8 * 2**20
"""Size of the part of an array that is rearranged at a time."""


def reduce_groups(
    array: Array,
    names: Sequence[str],
    how: Reduction | Callable[..., Any],
    *,
    skipna: bool = True,
    every_dim: bool = False,
) -> Array:
    """Reduce entries of a dimension that agree in some coordinates to one each; its other coordinates are dropped.

    The result has the same class and dims (one with `every_dim`), no attrs, and groups in lexicographic order.

    Parameters
    ----------
    how : str or callable
        A `Reduction`, or ``how(values, axis=0)``, which treats NaN itself.
    every_dim
        Whether all values of a group become one.
    """
    dims = {array.coords[name].dims for name in names}
    dim = next(iter(dims))[0]
    axis = array.get_axis_num(dim)
    groups, first = coordinates.group_codes(array, names)
    rows = np.moveaxis(array.values, axis, 0)
    if every_dim and array.ndim > 1:
        values = rows.reshape(-1)
        groups = np.repeat(groups, values.size // len(groups))
        rows = values
        array = array.isel({other: 0 for other in array.dims if other != dim}, drop=True)
        axis = 0
    reduced = np.moveaxis(reduce_rows(rows, groups, len(first), how, skipna=skipna), 0, axis)
    # Labels without values, which would take as much memory as the result.
    template = array.copy(data=np.broadcast_to(np.int8(0), array.shape)).isel({dim: first})
    doomed = [name for name in coordinates.coordinates_of(array, dim) if name not in names]
    template = fold.drop_coordinates(template, doomed)
    result = template.copy(data=reduced)
    result.attrs = {}
    return result


def reduce_rows(
    rows: npt.NDArray[Any],
    groups: npt.NDArray[np.intp],
    n_groups: int,
    how: Reduction | Callable[..., Any],
    *,
    skipna: bool = True,
) -> npt.NDArray[Any]:
    """Reduce the rows (n, ...) of each group to one; see `reduce_groups`.

    ``groups`` are 0 .. n_groups - 1, each with a row. Sums are in double precision; floats come back in that of
    ``rows``.
    """
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(n_groups))
    if callable(how) or how == "median":
        function = how if callable(how) else (np.nanmedian if skipna else np.median)
        parts = np.split(order, starts[1:])
        return np.stack([np.asarray(function(rows[part], axis=0)) for part in parts])
    if rows.dtype.kind not in "biufc" and how != "count":
        raise AssemblyError(f"The {how} needs numbers; the values are {rows.dtype}, such as {rows.flat[0]!r}.")
    bounds = np.append(starts, len(order))
    table = rows if rows.ndim > 1 else rows[:, np.newaxis]
    result: npt.NDArray[Any] | None = None
    for first, last in _group_blocks(bounds, table):
        members = order[bounds[first] : bounds[last]]
        part = _reduce_columns(table, members, starts[first:last] - starts[first], how, skipna=skipna)
        if result is None:
            result = np.empty((n_groups, *table.shape[1:]), dtype=part.dtype)
        result[first:last] = part
    return np.empty((n_groups, *rows.shape[1:])) if result is None else result.reshape(n_groups, *rows.shape[1:])


def _group_blocks(bounds: npt.NDArray[np.intp], rows: npt.NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Yield (first, last) of groups whose rows fill a block; a larger group is its own.

    Values on the disk are thus read once, in their order if that is the order of the groups.
    """
    most = max(1, _BLOCK_BYTES * len(rows) // max(1, rows.nbytes))
    first = 0
    while first < len(bounds) - 1:
        last = max(first + 1, int(np.searchsorted(bounds, bounds[first] + most, side="right")) - 1)
        yield first, last
        first = last


def _reduce_columns(
    rows: npt.NDArray[Any], members: npt.NDArray[np.intp], starts: npt.NDArray[np.intp], how: str, *, skipna: bool
) -> npt.NDArray[Any]:
    """Reduce rows sorted by group, some columns at a time, since a group may be large."""
    row_bytes = 8 * max(1, len(members) * int(np.prod(rows.shape[2:])))
    wide = max(1, _BLOCK_BYTES // row_bytes)
    blocks = []
    for start in range(0, max(1, rows.shape[1]), wide):
        block = rows[members, start : start + wide]
        reduced = _reduce_block(block.reshape(len(members), -1), starts, how, skipna=skipna)
        blocks.append(reduced.reshape(len(starts), *block.shape[1:]))
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)


def _reduce_block(block: npt.NDArray[Any], starts: npt.NDArray[np.intp], how: str, *, skipna: bool) -> npt.NDArray[Any]:
    sizes = np.diff(np.append(starts, len(block)))[:, np.newaxis]
    missing = np.isnan(block) if block.dtype.kind in "fc" else None
    if missing is not None and not (missing.any() and (skipna or how == "count")):
        missing = None
    count: npt.NDArray[Any] = sizes + np.zeros((1, block.shape[1]), dtype=np.int64)
    if missing is not None:
        count = count - np.add.reduceat(missing.astype(np.int64), starts, axis=0)
    if how == "count":
        return count
    precision = block.dtype if block.dtype.kind in "fc" else np.dtype(float)
    if how in ("min", "max"):
        return _extreme(block, missing, count, starts, how)
    if how in ("sum", "prod"):
        neutral = 0 if how == "sum" else 1
        function = np.add if how == "sum" else np.multiply
        filled = block if missing is None else np.where(missing, neutral, block)
        total = function.reduceat(filled if block.dtype.kind != "b" else filled.astype(np.int64), starts, axis=0)
        return np.asarray(total, dtype=block.dtype if block.dtype.kind in "fc" else total.dtype)
    accumulator = np.result_type(block.dtype, float)
    filled = (block if missing is None else np.where(missing, 0, block)).astype(accumulator, copy=False)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.add.reduceat(filled, starts, axis=0) / count
        if how == "mean":
            return np.asarray(mean, dtype=precision)
        deviation = filled - np.repeat(mean, sizes[:, 0], axis=0)
        if missing is not None:
            deviation[missing] = 0
        variance = np.add.reduceat(np.abs(deviation) ** 2, starts, axis=0) / count
    return np.asarray(np.sqrt(variance) if how == "std" else variance, dtype=variance.dtype)


def _extreme(
    block: npt.NDArray[Any],
    missing: npt.NDArray[np.bool_] | None,
    count: npt.NDArray[Any],
    starts: npt.NDArray[np.intp],
    how: str,
) -> npt.NDArray[Any]:
    function = np.minimum if how == "min" else np.maximum
    if missing is None:
        return np.asarray(function.reduceat(block, starts, axis=0))
    filled = np.where(missing, np.inf if how == "min" else -np.inf, block)
    return np.where(count == 0, np.nan, function.reduceat(filled, starts, axis=0)).astype(block.dtype)
