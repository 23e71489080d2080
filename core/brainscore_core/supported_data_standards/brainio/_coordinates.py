"""Keep the coordinates of assemblies in indexes: number their values, read them, fold them into one per dimension."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr
from xarray.indexes import Index, PandasMultiIndex

from brainscore_core.errors import AssemblyError

# -- factorising values into levels ------------------------------------------------------------------------------------


Codes = npt.NDArray[np.signedinteger[Any]]

_WIDEST_HASHED = 64
_FEWEST_HASHED = 500
_BLOCK = 2**13
_FEWEST_PER_GROUP = 4
# Odd and large: different texts then rarely have equal sums. Fixed for reproducibility.
_FACTORS = np.random.default_rng(20240101).integers(2**32, 2**63, size=_WIDEST_HASHED, dtype=np.uint64) | np.uint64(1)


class Level(NamedTuple):
    """Distinct values of a coordinate and the position of each entry among them."""

    uniques: pd.Index[Any]
    """Sorted, unless they cannot be compared."""
    codes: Codes
    """(n,) positions; -1 for a missing value."""
    dtype: np.dtype[Any]
    """Type of the values that users see."""


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


# -- reading coordinates -----------------------------------------------------------------------------------------------
#
# Read an assembly's coordinates, in an index or not, and number their values.


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
        Ordinary coordinates; ordinary indexes, and coordinates that are the only one along their dimension;
        multi-indexes as a whole; their levels.
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


# -- folding coordinates into indexes ----------------------------------------------------------------------------------
#
# Fold the coordinates of an assembly into multi-indexes, one per dimension, and change these.
#
# Every one-dimensional coordinate of a dimension that has no index of its own becomes a level of one
# `pandas.MultiIndex`. A dimension with an index of its own name (``choice`` along ``choice``) keeps it, and its other
# coordinates stay ordinary. But if these are ``time_bin_start`` and ``time_bin_end`` or the like, its own index, which
# numbers the intervals, becomes the level ``time_bin_level_0``.


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
                    f"The values for the coordinate {name!r} are in a different order of {coord!r} than the assembly. "
                    "Sort both the same way first, or pass plain values: (dimension, values)."
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
