"""Transform assemblies: average repetitions, reduce groups, join, align to another assembly."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import xarray as xr

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio import _coordinates
from brainscore_core.supported_data_standards.brainio._selection import reduce_groups
from brainscore_core.validation.standards import PRESENTATION, REPETITION, STIMULUS_ID

__all__ = ["average_repetition", "index_efficient", "merge_data_arrays", "reduce_groups", "subset"]

Array = TypeVar("Array", bound=xr.DataArray)


def average_repetition(assembly: Array) -> Array:
    """Average over repetitions: entries that agree in all presentation coordinates but ``repetition``.

    Same class, dims and attrs; presentations are sorted by their coordinates. NaN is skipped, all-NaN groups stay NaN,
    integers become floats.

    Warns
    -----
    UserWarning
        If another coordinate differs between repetitions, so nothing was averaged.

    Raises
    ------
    AssemblyError
        If there is no presentation dimension, no coordinate to group by, or the values are not numbers.
    """
    if PRESENTATION not in assembly.dims:
        raise AssemblyError(
            f"Averaging repetitions needs the dimension {PRESENTATION!r}; this assembly has {assembly.dims}."
        )
    names = [name for name in _coordinates.coordinates_of(assembly, PRESENTATION) if name != REPETITION]
    if not names:
        raise AssemblyError(
            "Averaging repetitions needs a presentation coordinate such as 'stimulus_id' to group presentations by."
        )
    result = reduce_groups(assembly, names, "mean")
    if result.sizes[PRESENTATION] == assembly.sizes[PRESENTATION]:
        _warn_about_differing(assembly, names)
    result.attrs = dict(assembly.attrs)
    return result


def _warn_about_differing(assembly: xr.DataArray, names: Sequence[str]) -> None:
    """Warn if there are repetitions of one stimulus that differ in other coordinates."""
    if STIMULUS_ID not in names or REPETITION not in assembly.coords:
        return
    n_stimuli = len(_coordinates.group_codes(assembly, [STIMULUS_ID])[1])
    if n_stimuli == assembly.sizes[PRESENTATION]:
        return
    culprits = [name for name in names if len(_coordinates.group_codes(assembly, [STIMULUS_ID, name])[1]) > n_stimuli]
    if culprits:
        warnings.warn(
            f"No repetition was averaged: repetitions of one stimulus differ in {', '.join(culprits)}. Drop them "
            f"first: assembly.drop_vars({culprits}).",
            UserWarning,
            stacklevel=3,
        )


def merge_data_arrays(data_arrays: Sequence[xr.DataArray]) -> Any:
    """Join assemblies into one that has all their entries.

    Where they overlap, they must agree or one must be NaN. The result has class and attrs of the first, no name, and
    NaN where none has a value.
    """
    if not data_arrays:
        raise AssemblyError("There is nothing to merge; pass at least one assembly.")
    first = data_arrays[0]
    ordered = [_coordinates.reorder_levels(array, _coordinates.all_levels(first)) for array in data_arrays]
    named = [xr.DataArray(array).rename("values") for array in ordered]
    merged = xr.merge(named, join="outer", compat="no_conflicts", combine_attrs="override")["values"]
    merged.attrs = dict(first.attrs)
    return type(first)(merged.rename(None))


def subset(
    source_assembly: Array,
    target_assembly: xr.DataArray,
    subset_dims: Sequence[str] | None = None,
    dims_must_match: bool = True,
    repeat: bool = False,
) -> Array:
    """Select the entries of an assembly whose coordinate values occur in another; keep class, name and attrs.

    Parameters
    ----------
    source_assembly : xr.DataArray
        A dimension may occur twice, as in a dissimilarity matrix.
    subset_dims
        Dimensions (all coordinates along them that both have) or coordinates of the target to match on; None takes all
        its dimensions.
    dims_must_match
        Raise unless the result has as many entries along the dimension as the target.
    repeat
        Repeat source entries as often as the target has their values, in the target's order; otherwise each once, in
        source order.
    """
    for name in target_assembly.dims if subset_dims is None else subset_dims:
        dim, coords = _shared_coordinates(source_assembly, target_assembly, name)
        have = [_coordinates.values_of(source_assembly, coord) for coord in coords]
        want = [np.atleast_1d(_coordinates.values_of(target_assembly, coord)) for coord in coords]
        if repeat:
            positions = _positions(*_joint_codes(have, want))
        else:
            matches = [np.isin(ours, theirs) for ours, theirs in zip(have, want, strict=True)]
            positions = np.flatnonzero(np.logical_and.reduce(matches))
        if dims_must_match and len(positions) != len(want[0]):
            raise AssemblyError(_mismatch(name, coords, have, want, len(positions)))
        source_assembly = _take(source_assembly, dim, positions)
    return source_assembly


def _shared_coordinates(source: xr.DataArray, target: xr.DataArray, name: Hashable) -> tuple[Hashable, list[Any]]:
    """Return the source's dimension and the coordinates to match on."""
    if (name in target.dims and _coordinates.multi_index(target, name) is not None) or name not in target.coords:
        theirs = _coordinates.coordinates_of(target, name)
    else:
        theirs = [str(name)]
    shared = [coord for coord in theirs if coord in source.coords and source.coords[coord].ndim == 1]
    if not shared:
        raise AssemblyError(
            f"There is no coordinate to match {name!r} by: the target has {theirs or 'no coordinate'} there, the "
            f"source has {[str(coord) for coord in source.coords]}. Choose other subset_dims."
        )
    return source.coords[shared[0]].dims[0], shared


def _joint_codes(
    have: Sequence[npt.NDArray[Any]], want: Sequence[npt.NDArray[Any]]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return numbers of the combinations of several coordinates, the same in both assemblies."""
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
    for name, (dims, values) in _coordinates.plain_coordinates(array).items():
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
        "dims_must_match=False to use the entries that match."
    )


def index_efficient(source_values: npt.ArrayLike, target_values: npt.ArrayLike) -> list[int]:
    """Return the positions (in order) in a source (n,) of every value of a target (m,), in the target's order.

    Values may repeat on both sides; those that the source lacks are left out.

    Examples
    --------
    >>> index_efficient(['b', 'a'], ['a', 'b', 'a', 'c'])
    [1, 0, 1]
    """
    positions: list[int] = _positions(np.asarray(source_values), np.asarray(target_values)).tolist()
    return positions


def _positions(source: npt.NDArray[Any], target: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    order = np.argsort(source, kind="stable")
    ordered = source[order]
    first = np.searchsorted(ordered, target, side="left")
    counts = np.searchsorted(ordered, target, side="right") - first
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    positions: npt.NDArray[np.intp] = order[np.repeat(first, counts) + offsets].astype(np.intp)
    return positions
