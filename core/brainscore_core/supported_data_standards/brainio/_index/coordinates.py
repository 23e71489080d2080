"""Read an assembly's coordinates, in an index or not, and number their values."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from xarray.indexes import PandasMultiIndex

if TYPE_CHECKING:
    import xarray as xr

    from brainscore_core.supported_data_standards.brainio._index.levels import Codes


def multi_index(array: xr.DataArray, dim: Hashable) -> pd.MultiIndex | None:
    index = array.xindexes.get(dim)
    return index.index if isinstance(index, PandasMultiIndex) else None


def level_names(array: xr.DataArray, dim: Hashable) -> list[str]:
    """Return the names of the levels along a dimension; empty without a multi-index."""
    index = multi_index(array, dim)
    return [] if index is None else [str(name) for name in index.names]


def levels_by_dim(array: xr.DataArray) -> dict[Hashable, list[str]]:
    """Return dimension -> names of its levels, for the dimensions with a multi-index."""
    return {dim: names for dim in array.dims if (names := level_names(array, dim))}


def coordinates_of(array: xr.DataArray, dim: Hashable) -> list[str]:
    """Return the one-dimensional coordinates along a dimension except the one named like it."""
    variables = array.coords.variables
    return [str(name) for name, variable in variables.items() if variable.dims == (dim,) and name != dim]


def values_of(array: xr.DataArray, name: Hashable) -> npt.NDArray[Any]:
    """Return the values of a coordinate as a NumPy array; text has a ``<U`` dtype."""
    return _variable_values(array, name, array.coords.variables[name])


def _variable_values(array: xr.DataArray, name: Hashable, variable: xr.Variable) -> npt.NDArray[Any]:
    index = multi_index(array, variable.dims[0]) if variable.ndim == 1 else None
    if index is None or name not in index.names:
        return np.asarray(variable.values)
    number = list(index.names).index(name)
    codes = np.asarray(index.codes[number])
    if codes.size == 0 or (codes < 0).any():
        return np.asarray(variable.values)
    # Taking from the few distinct values is faster than converting every one.
    return np.asarray(index.levels[number], dtype=variable.dtype).take(codes)


def walk_coords(assembly: xr.DataArray) -> Iterator[tuple[str, tuple[Hashable, ...], npt.NDArray[Any]]]:
    """Yield (name, dims, values) of every coordinate and level."""
    indexed = levels_by_dim(assembly)
    for name, variable in assembly.coords.variables.items():
        if name not in indexed:
            yield str(name), variable.dims, _variable_values(assembly, name, variable)


def get_levels(assembly: xr.DataArray) -> list[str]:
    """Return the names of the levels of all multi-indexes of two or more levels, dimension by dimension."""
    return [name for names in levels_by_dim(assembly).values() if len(names) > 1 for name in names]


def all_levels(assembly: xr.DataArray) -> list[str]:
    """Return the names of the coordinates in all multi-indexes."""
    return [name for names in levels_by_dim(assembly).values() for name in names]


def coords_for_dim(assembly: xr.DataArray, dim: Hashable) -> dict[str, tuple[tuple[Hashable, ...], npt.NDArray[Any]]]:
    """Return name -> (dims, values) of the coordinates along exactly one dimension."""
    return {name: (dims, values) for name, dims, values in walk_coords(assembly) if dims == (dim,)}


def plain_coordinates(array: xr.DataArray) -> dict[Hashable, tuple[tuple[Hashable, ...], npt.NDArray[Any]]]:
    """Return name -> (dims, values) for every coordinate, without indexes."""
    return {name: (dims, values) for name, dims, values in walk_coords(array)}


def only_level(array: xr.DataArray, dim: Hashable) -> Hashable | None:
    """Return the name of the only coordinate in the index of a dimension; None if there are more or none."""
    index = multi_index(array, dim) if dim in array.dims else None
    return index.names[0] if index is not None and index.nlevels == 1 else None


def get_metadata(
    assembly: xr.DataArray,
    dims: Sequence[Hashable] | Sequence[tuple[Hashable, ...]] | None = None,
    names_only: bool = False,
    include_coords: bool = True,
    include_indexes: bool = True,
    include_multi_indexes: bool = False,
    include_levels: bool = True,
) -> Iterator[Any]:
    """Yield an assembly's coordinates, chosen by kind.

    Parameters
    ----------
    dims : tuple of str, or sequence of such tuples, optional
        Only coordinates with (one of) these dimensions.
    names_only
        Yield names instead of (name, dims, values).
    include_coords, include_indexes, include_multi_indexes, include_levels
        Ordinary coordinates; ordinary indexes, and coordinates that are alone along their dimension; multi-indexes as a
        whole; their levels.
    """
    asked = None if dims is None else [dims] if all(isinstance(dim, str) for dim in dims) else list(dims)
    levels = set(get_levels(assembly))
    alone = {dim for dim in assembly.dims if only_level(assembly, dim) is not None}
    multi = set(levels_by_dim(assembly)) - alone
    for name, coord in assembly.coords.items():
        if name in alone:
            continue  # its one coordinate stands for it
        if name in levels:
            included = include_levels
        elif name in multi:
            included = include_multi_indexes
        elif name in assembly.xindexes:
            included = include_indexes
        else:
            included = include_coords
        if included and (asked is None or coord.dims in asked):
            yield name if names_only else (name, coord.dims, coord.values)


def codes_of(array: xr.DataArray, name: Hashable) -> tuple[Codes, npt.NDArray[Any]]:
    """Factorise the values of a one-dimensional coordinate in sorted order.

    Returns
    -------
    codes : (n,) int array
        Position of every value in ``uniques``; missing values come last, all with one code.
    uniques : (k,) array
        Sorted values (in order of appearance where they cannot be compared).
    """
    variable = array.coords.variables[name]
    index = multi_index(array, variable.dims[0])
    if index is not None and name in index.names:
        number = index.names.index(name)
        return _sorted_codes(np.asarray(index.codes[number]), index.levels[number])
    codes, uniques = pd.factorize(_plain(variable.values))
    return _sorted_codes(codes, pd.Index(uniques))


def group_codes(array: xr.DataArray, names: Sequence[Hashable]) -> tuple[Codes, Codes]:
    """Factorise the distinct combinations of several coordinates of one dimension; missing values equal each other.

    Returns
    -------
    groups : (n,) int array
        In lexicographic order of the coordinates' values.
    first : (k,) int array
        Where each group occurs first.
    """
    key: npt.NDArray[np.int64] | None = None
    size = 1
    for name in names:
        codes, _ = codes_of(array, name)
        count = int(codes.max(initial=0)) + 1
        if key is not None and size > np.iinfo(np.int64).max // count:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            size = int(key.max(initial=0)) + 1
        key = codes.astype(np.int64) if key is None else key * count + codes
        size *= count
    if key is None:
        raise ValueError("Grouping needs the name of at least one coordinate.")
    _, first, groups = np.unique(key, return_index=True, return_inverse=True)
    return groups.astype(np.intp), first.astype(np.intp)


def _sorted_codes(codes: npt.NDArray[Any], level: pd.Index[Any]) -> tuple[Codes, npt.NDArray[Any]]:
    uniques = _plain(level)
    order: npt.NDArray[Any] | None = None
    if not level.is_monotonic_increasing:
        try:
            order = np.argsort(uniques, kind="stable")
        except TypeError:  # values of several types have no order: that of appearance stays
            order = None
    if order is not None:
        rank = np.empty(len(order), dtype=np.intp)
        rank[order] = np.arange(len(order))
        uniques = uniques[order]
        codes = np.where(codes < 0, -1, rank[codes])
    return np.where(codes < 0, len(uniques), codes).astype(np.intp), uniques


def _plain(values: Any) -> npt.NDArray[Any]:
    """Return values as an array that pandas can index without loss; text becomes ``<U``."""
    array = np.asarray(values)
    if array.dtype == np.float16:
        return array.astype(np.float32)  # pandas has no index of half precision
    if array.dtype == object and array.size and pd.api.types.infer_dtype(array, skipna=False) == "string":
        return array.astype(str)
    return array
