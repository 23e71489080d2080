"""Turn assemblies into other assemblies: average repetitions, reduce groups, pick the part that another one has."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import xarray as xr

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio._index import coordinates, fold
from brainscore_core.validation.standards import PRESENTATION, REPETITION, STIMULUS_ID

__all__ = ["Reduction", "average_repetition", "index_efficient", "reduce_groups", "reduce_rows", "subset"]

Array = TypeVar("Array", bound=xr.DataArray)
Reduction = Literal["mean", "sum", "min", "max", "prod", "var", "std", "count", "median"]

_BLOCK_BYTES = 8 * 2**20
"""How much of an array is rearranged at a time: grouping needs little more memory than its result."""


def average_repetition(assembly: Array) -> Array:
    """Average over the repetitions of each stimulus.

    For each distinct combination g of all presentation coordinates but ``repetition``, the result holds
    ``mean_{i in g} assembly[i]``, skipping NaN.

    Parameters
    ----------
    assembly : xr.DataArray
        Dims must include ``presentation``; numbers. Left alone.

    Returns
    -------
    xr.DataArray
        Same class, dims and attrs; presentations sorted by their coordinates (in the order of the coordinates),
        without ``repetition``. Integers become floats. All-NaN groups stay NaN.

    Warns
    -----
    UserWarning
        If another coordinate differs between the repetitions, so that nothing was averaged.

    Raises
    ------
    AssemblyError
        If there is no presentation dimension, no coordinate to group by, or the values are not numbers.
    """
    if PRESENTATION not in assembly.dims:
        raise AssemblyError(
            f"Averaging repetitions needs the dimension {PRESENTATION!r}; this assembly has {assembly.dims}."
        )
    names = [name for name in coordinates.coordinates_of(assembly, PRESENTATION) if name != REPETITION]
    if not names:
        raise AssemblyError(
            "Averaging repetitions needs a presentation coordinate such as 'stimulus_id' that says which "
            "presentations belong together."
        )
    result = reduce_groups(assembly, names, "mean")
    culprits = _differing(assembly, names) if result.sizes[PRESENTATION] == assembly.sizes[PRESENTATION] else []
    if culprits:
        warnings.warn(
            f"No repetition was averaged: repetitions of one stimulus differ in {', '.join(culprits)}. Leave that out "
            f"first: assembly.drop_vars({culprits}).",
            UserWarning,
            stacklevel=2,
        )
    result.attrs = dict(assembly.attrs)
    return result


def _differing(assembly: xr.DataArray, names: Sequence[str]) -> list[str]:
    """Return the coordinates that differ between the repetitions of one stimulus, if there are repetitions."""
    if STIMULUS_ID not in names or REPETITION not in assembly.coords:
        return []
    n_stimuli = len(coordinates.group_codes(assembly, [STIMULUS_ID])[1])
    if n_stimuli == assembly.sizes[PRESENTATION]:
        return []
    return [name for name in names if len(coordinates.group_codes(assembly, [STIMULUS_ID, name])[1]) > n_stimuli]


def reduce_groups(
    array: Array, names: Sequence[str], how: Reduction | Callable[..., Any], *, skipna: bool = True
) -> Array:
    """Reduce the entries of one dimension that agree in some coordinates to one entry each.

    Parameters
    ----------
    array : xr.DataArray
        Left alone.
    names : sequence of str
        Coordinates along one dimension. The other coordinates of that dimension are dropped.
    how : str or callable
        A `Reduction`, or ``how(values, axis=0)`` that reduces an array of shape (entries of the group, ...).
    skipna : bool
        Whether NaN is left out. Callables decide for themselves.

    Returns
    -------
    xr.DataArray
        Same class and dims, without attrs; groups in lexicographic order of the coordinates' values.
    """
    dims = {array.coords[name].dims for name in names}
    dim = next(iter(dims))[0]
    axis = array.get_axis_num(dim)
    groups, first = coordinates.group_codes(array, names)
    rows = np.moveaxis(array.values, axis, 0)
    reduced = np.moveaxis(reduce_rows(rows, groups, len(first), how, skipna=skipna), 0, axis)
    kept = array.isel({dim: first})
    doomed = [name for name in coordinates.coordinates_of(array, dim) if name not in names]
    kept = fold.drop_coordinates(kept, doomed)
    result = kept.copy(data=reduced)
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
    """Reduce the rows of each group to one.

    Parameters
    ----------
    rows : (n, ...) array
    groups : (n,) int array
        Number of each row's group, 0 .. n_groups - 1; every group has a row.
    n_groups : int
    how : str or callable
        See `reduce_groups`.
    skipna : bool
        Whether NaN is left out.

    Returns
    -------
    (n_groups, ...) array
        Sums are taken in double precision; floats come back in the precision of ``rows``.

    Raises
    ------
    AssemblyError
        If the values are not numbers.
    """
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(n_groups))
    if callable(how) or how == "median":
        function = how if callable(how) else (np.nanmedian if skipna else np.median)
        parts = np.split(order, starts[1:])
        return np.stack([np.asarray(function(rows[part], axis=0)) for part in parts])
    if rows.dtype.kind not in "biufc" and how != "count":
        raise AssemblyError(f"The {how} needs numbers; the values are {rows.dtype}, such as {rows.flat[0]!r}.")
    flat = rows.reshape(len(rows), -1)
    wide = max(1, _BLOCK_BYTES // (8 * max(1, len(rows))))
    blocks = [
        _reduce_block(flat[:, start : start + wide], order, starts, how, skipna=skipna)
        for start in range(0, flat.shape[1], wide)
    ]
    result = np.concatenate(blocks, axis=1) if blocks else np.empty((n_groups, 0))
    return result.reshape(n_groups, *rows.shape[1:])


def _reduce_block(
    block: npt.NDArray[Any], order: npt.NDArray[np.intp], starts: npt.NDArray[np.intp], how: str, *, skipna: bool
) -> npt.NDArray[Any]:
    block = block[order]
    sizes = np.diff(np.append(starts, len(order)))[:, np.newaxis]
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


def subset(
    source_assembly: Array,
    target_assembly: xr.DataArray,
    subset_dims: Sequence[str] | None = None,
    dims_must_match: bool = True,
    repeat: bool = False,
) -> Array:
    """Pick the part of an assembly whose coordinate values another assembly has.

    Parameters
    ----------
    source_assembly : xr.DataArray
        What to pick from; a dimension may occur twice, as in a matrix of dissimilarities. Left alone.
    target_assembly : xr.DataArray
        Whose coordinate values are wanted.
    subset_dims : sequence of str, optional
        Dimensions or coordinates of the target to match on; None takes all dimensions of the target. For a
        dimension, all coordinates along it that both have are matched.
    dims_must_match : bool
        Raise unless the result has as many entries along the dimension as the target.
    repeat : bool
        Repeat entries of the source as often as the target has their values, in the target's order. Otherwise the
        result has each matching entry of the source once, in the order of the source.

    Returns
    -------
    xr.DataArray
        Same class, name and attrs as the source.

    Raises
    ------
    AssemblyError
        If there is nothing to match on, or the numbers of entries differ although they must match.
    """
    for name in target_assembly.dims if subset_dims is None else subset_dims:
        dim, coords = _shared_coordinates(source_assembly, target_assembly, name)
        have = [coordinates.values_of(source_assembly, coord) for coord in coords]
        want = [np.atleast_1d(coordinates.values_of(target_assembly, coord)) for coord in coords]
        if repeat:
            positions = index_efficient(*_joint_codes(have, want))
        else:
            matches = [np.isin(ours, theirs) for ours, theirs in zip(have, want, strict=True)]
            positions = np.flatnonzero(np.logical_and.reduce(matches))
        if dims_must_match and len(positions) != len(want[0]):
            raise AssemblyError(_mismatch(name, coords, have, want, len(positions)))
        source_assembly = _take(source_assembly, dim, positions)
    return source_assembly


def _shared_coordinates(source: xr.DataArray, target: xr.DataArray, name: Hashable) -> tuple[Hashable, list[Any]]:
    """Return the source's dimension and the coordinates to match on for the name of a dimension or coordinate."""
    if (name in target.dims and coordinates.multi_index(target, name) is not None) or name not in target.coords:
        theirs = coordinates.coordinates_of(target, name)
    else:
        theirs = [str(name)]
    shared = [coord for coord in theirs if coord in source.coords and source.coords[coord].ndim == 1]
    if not shared:
        raise AssemblyError(
            f"There is nothing to match {name!r} on: the target has {theirs or 'no coordinate'} there, the source has "
            f"{[str(coord) for coord in source.coords]}. Name other subset_dims."
        )
    return source.coords[shared[0]].dims[0], shared


def _joint_codes(
    have: Sequence[npt.NDArray[Any]], want: Sequence[npt.NDArray[Any]]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Give the combinations of several coordinates numbers, the same ones in both assemblies."""
    both = [np.concatenate([np.asarray(ours), np.asarray(theirs)]) for ours, theirs in zip(have, want, strict=True)]
    joint = np.zeros(len(both[0]), dtype=np.intp)
    for values in both:
        codes = np.unique(values, return_inverse=True)[1]
        joint = np.unique(joint * (codes.max(initial=0) + 1) + codes, return_inverse=True)[1]
    return joint[: len(have[0])], joint[len(have[0]) :]


def _take(array: Array, dim: Hashable, positions: npt.NDArray[np.intp]) -> Array:
    if len(set(array.dims)) == len(array.dims):
        return array.isel({dim: positions})
    # xarray cannot index a dimension that occurs twice.
    axes = [positions if own == dim else np.arange(size) for own, size in zip(array.dims, array.shape, strict=True)]
    coords = {}
    for name, (dims, values) in coordinates.plain_coordinates(array).items():
        along = [positions if own == dim else np.arange(size) for own, size in zip(dims, values.shape, strict=True)]
        coords[name] = (dims, values[np.ix_(*along)] if dims else values)
    return type(array)(array.values[np.ix_(*axes)], coords, array.dims, name=array.name, attrs=array.attrs)


def _mismatch(
    name: Hashable,
    coords: Sequence[str],
    have: Sequence[npt.NDArray[Any]],
    want: Sequence[npt.NDArray[Any]],
    found: int,
) -> str:
    lacking = [
        f"{coord} {', '.join(map(repr, absent[:5].tolist()))}"
        for coord, ours, theirs in zip(coords, have, want, strict=True)
        if (absent := np.unique(theirs[~np.isin(theirs, ours)])).size
    ]
    why = f"the source lacks {'; '.join(lacking)}" if lacking else "values repeat differently in the two"
    return (
        f"{found} entries of the source match the {len(want[0])} of the target in {name!r}: {why}. Pass "
        "dims_must_match=False to take what there is."
    )


def index_efficient(source_values: npt.ArrayLike, target_values: npt.ArrayLike) -> npt.NDArray[np.intp]:
    """Return where in a source the values of a target are.

    Parameters
    ----------
    source_values : (n,) array-like
        Values may repeat.
    target_values : (m,) array-like
        Values may repeat; those that the source lacks are left out.

    Returns
    -------
    (k,) int array
        For every value of the target, in the target's order, all positions of the source with that value (in the
        source's order).
    """
    source = np.asarray(source_values)
    target = np.asarray(target_values)
    order = np.argsort(source, kind="stable")
    ordered = source[order]
    left = np.searchsorted(ordered, target, side="left")
    counts = np.searchsorted(ordered, target, side="right") - left
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    positions: npt.NDArray[np.intp] = order[np.repeat(left, counts) + offsets].astype(np.intp)
    return positions
