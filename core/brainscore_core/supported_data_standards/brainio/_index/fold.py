"""Fold the coordinates of an assembly into multi-indexes, one per dimension, and change these.

Every one-dimensional coordinate of a dimension that has no index of its own becomes a level of one `pandas.MultiIndex`.
A dimension with an index of its own name (``choice`` along ``choice``) keeps it, and its other coordinates stay
ordinary. But if these are ``time_bin_start`` and ``time_bin_end`` or the like, its own index, which numbers the
intervals, becomes the level ``time_bin_level_0``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import xarray as xr
from xarray.indexes import Index, PandasMultiIndex

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio._index.coordinates import (
    codes_of,
    coordinates_of,
    level_names,
    levels_by_dim,
    multi_index,
    only_level,
    values_of,
)
from brainscore_core.supported_data_standards.brainio._index.levels import make_levels

Array = TypeVar("Array", bound=xr.DataArray)


def prepared(coords: Any, dims: Any = None) -> Any:
    """Return a constructor's coordinates in an equivalent form that is quick to read.

    Lists of text become arrays of objects. If an assembly's only coordinate along a dimension has another name, the
    dimension's coordinate brings that name. Levels of a multi-index, which ``assembly.coords`` also lists, are left out
    if the index is given or the new array lacks the dimension, as published code copies ``assembly.coords``.
    """
    if not isinstance(coords, Mapping) or isinstance(coords, xr.Coordinates):
        return coords
    ready: dict[Hashable, Any] = {}
    all_dims = {dims} if isinstance(dims, str) else set(dims) if dims is not None else None
    for name, value in coords.items():
        ready_value = value
        if isinstance(value, xr.DataArray):
            dim = value.dims[0] if value.ndim == 1 else None
            unindexed = dim in coords or (all_dims is not None and dim not in all_dims)
            if unindexed and name in level_names(value, dim):
                continue
            level = only_level(value, name)
            if level is not None:
                ready.setdefault(level, (name, values_of(value, level)))
                continue
        elif isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], list) and _is_text(value[1]):
            ready_value = (value[0], np.array(value[1], dtype=object))
        ready[name] = ready_value
    return ready


def _is_text(values: list[Any]) -> bool:
    return bool(values) and isinstance(values[0], str) and pd.api.types.infer_dtype(values, skipna=False) == "string"


def set_aside(data: Any, coords: Any, dims: Any) -> tuple[Any, dict[Hashable, tuple[Hashable, Any]]]:
    """Split a constructor's coordinates into those for xarray, which copies each, and (dim, values) of new levels."""
    is_array = hasattr(data, "shape") or isinstance(data, (list, tuple))
    if dims is None or not is_array or not isinstance(coords, Mapping) or isinstance(coords, xr.Coordinates):
        return coords, {}
    all_dims = {dims} if isinstance(dims, str) else set(dims)
    aside: dict[Hashable, tuple[Hashable, Any]] = {}
    rest: dict[Hashable, Any] = {}
    for name, value in coords.items():
        named = value[0] if isinstance(value, tuple) and len(value) == 2 else None
        dim = named[0] if isinstance(named, (list, tuple)) and len(named) == 1 else named
        if isinstance(dim, str) and dim in all_dims and dim not in coords and name not in all_dims:
            values = np.asarray(value[1]) if isinstance(value[1], list) else value[1]
            if type(values) is np.ndarray and values.ndim == 1 and values.dtype.kind in "biufUO":
                aside[name] = (dim, values)
                continue
            value = (value[0], values)
        rest[name] = value
    return rest, aside


def fits(array: xr.DataArray, aside: Mapping[Hashable, tuple[Hashable, Any]]) -> bool:
    """Return whether coordinates have the lengths of their dimensions."""
    return all(dim in array.sizes and len(values) == array.sizes[dim] for dim, values in aside.values())


def fold(
    array: xr.DataArray, aside: Mapping[Hashable, tuple[Hashable, Any]] | None = None, order: Iterable[Hashable] = ()
) -> xr.Coordinates | None:
    """Return the coordinates of an array with those along each dimension folded into one multi-index, or None.

    New levels, with those ``aside`` (name -> (dim, values)), are appended in an ``order``, by default the array's.
    """
    further = aside or {}
    rank = {name: position for position, name in enumerate(order)}
    folded: dict[Hashable, pd.MultiIndex] = {}
    dtypes: dict[Hashable, dict[Hashable, np.dtype[Any]]] = {}
    for dim in array.dims:
        index = multi_index(array, dim)
        if dim in folded:
            continue
        present = set() if index is None else set(index.names)
        new = {name: values for name, (own, values) in further.items() if own == dim}
        if index is None and dim in array.coords:
            if not {f"{dim}_start", f"{dim}_end"} <= set(coordinates_of(array, dim)):
                continue
            present.add(dim)
            new[f"{dim}_level_0"] = array.coords.variables[dim].values
        names = [*(name for name in coordinates_of(array, dim) if name not in present), *map(str, new)]
        if not names:
            continue
        names.sort(key=lambda name: rank.get(name, len(rank)))
        added = make_levels(
            {name: new[name] if name in new else np.asarray(array.coords.variables[name].values) for name in names}
        )
        old = ([], [], []) if index is None else (index.levels, index.codes, map(str, index.names))
        folded[dim] = _assembled(
            [*old[0], *(level.uniques for level in added.values())],
            [*old[1], *(level.codes for level in added.values())],
            [*old[2], *added],
        )
        dtypes[dim] = _level_dtypes(array, dim) | {name: level.dtype for name, level in added.items()}
    if not folded:
        return None
    return _replaced(array, folded, dtypes)


def with_index(array: Array, dim: Hashable, index: pd.MultiIndex | None, dtypes: Mapping[Hashable, Any]) -> Array:
    """Return the array with another multi-index along a dimension; None removes it."""
    coords = _replaced(array, {dim: index}, {dim: dict(dtypes)})
    return rebuilt(type(array), array, coords)


def rebuilt(cls: type[Array], array: xr.DataArray, coords: xr.Coordinates) -> Array:
    """Return an array of a class with the values, name and attrs of another and unchecked coordinates."""
    return cls(array.variable, dict(coords.variables), name=array.name, indexes=dict(coords.xindexes), fastpath=True)


def gather_indexes(xr_data: Array) -> Array:
    """Return the assembly with its coordinates folded into one index per dimension."""
    folded = fold(xr_data)
    return xr_data if folded is None else rebuilt(type(xr_data), xr_data, folded)


def reorder_levels(array: Array, order: Sequence[Hashable]) -> Array:
    """Return the array with the levels of each index in a given order, others last, as joined indexes must agree."""
    rank = {name: position for position, name in enumerate(order)}
    for dim, names in levels_by_dim(array).items():
        ordered = sorted(names, key=lambda name: rank.get(name, len(rank)))
        if ordered != names:
            index = _levels_subset(multi_index(array, dim), ordered)
            array = with_index(array, dim, index, _level_dtypes(array, dim))
    return array


def detached(assembly: xr.DataArray, name: Hashable, value: Any) -> Any:
    """Return a coordinate's values without labels, which must agree with the assembly."""
    if callable(value):
        value = value(assembly)
    if not isinstance(value, xr.DataArray):
        return value
    for dim in value.dims:
        if dim not in assembly.dims:
            continue
        shared = set(coordinates_of(value, dim)) & set(coordinates_of(assembly, dim)) - {name}
        for coord in shared:
            if not np.array_equal(codes_of(value, coord)[0], codes_of(assembly, coord)[0]):
                raise AssemblyError(
                    f"The values for the coordinate {name!r} come in another order of {coord!r} than the assembly has. "
                    "Sort both alike first, or pass plain values: (dimension, values)."
                )
    return value.dims, value.values


def drop_coordinates(array: Array, names: Iterable[Hashable]) -> Array:
    """Return the array without some one-dimensional coordinates, levels or not."""
    doomed = set(names)
    for dim, levels in levels_by_dim(array).items():
        remaining = [name for name in levels if name not in doomed]
        if len(remaining) < len(levels):
            array = with_index(
                array, dim, _levels_subset(multi_index(array, dim), remaining), _level_dtypes(array, dim)
            )
    rest = [name for name in array.coords if name in doomed]
    return xr.DataArray.drop_vars(array, rest) if rest else array


def _levels_subset(index: pd.MultiIndex | None, kept: Sequence[Hashable]) -> pd.MultiIndex | None:
    if index is None or not kept:
        return None
    numbers = [list(index.names).index(name) for name in kept]
    return _assembled([index.levels[number] for number in numbers], [index.codes[number] for number in numbers], kept)


def _assembled(levels: Sequence[Any], codes: Sequence[Any], names: Sequence[Hashable]) -> pd.MultiIndex:
    # The parts come from valid indexes.
    return pd.MultiIndex(levels=levels, codes=codes, names=list(names), verify_integrity=False)


def _level_dtypes(array: xr.DataArray, dim: Hashable) -> dict[Hashable, np.dtype[Any]]:
    return {name: array.coords.variables[name].dtype for name in level_names(array, dim)}


def _replaced(
    array: xr.DataArray,
    indexes: Mapping[Hashable, pd.MultiIndex | None],
    dtypes: Mapping[Hashable, Mapping[Hashable, Any]],
) -> xr.Coordinates:
    variables: dict[Hashable, xr.Variable] = {}
    xindexes: dict[Hashable, Index] = {}
    present = array.xindexes
    for name, variable in array.coords.variables.items():
        if not (variable.ndim == 1 and variable.dims[0] in indexes):
            variables[name] = variable
            if name in present:
                xindexes[name] = present[name]
    for dim, index in indexes.items():
        if index is None:
            continue
        level_dtypes = {name: dtypes[dim][name] for name in index.names}
        wrapped = PandasMultiIndex(index, dim, level_coords_dtype=level_dtypes)
        for name, variable in wrapped.create_variables().items():
            variables[name] = variable
            xindexes[name] = wrapped
    return xr.Coordinates(variables, indexes=xindexes)
