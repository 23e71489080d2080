"""Read, build and search the multi-indexes that hold an assembly's coordinates; all index access lives here.

Every one-dimensional coordinate of a dimension that has no index of its own becomes a level of one
`pandas.MultiIndex`, so that it can be selected, grouped and kept by name. An index of one level is one too: its
coordinate keeps its name. A dimension with an index of its own name (``choice`` along ``choice``) keeps that index,
and further coordinates along it stay ordinary coordinates, selectable as well.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr
from xarray.indexes import Index, PandasMultiIndex

from brainscore_core.errors import nearest
from brainscore_core.supported_data_standards.brainio._index.levels import Codes, Level, make_level

__all__ = [
    "codes_of",
    "coordinates_of",
    "drop_coordinates",
    "fits",
    "fold",
    "group_codes",
    "level_names",
    "levels_by_dim",
    "locate",
    "locate_near",
    "multi_index",
    "only_level",
    "plain_coordinates",
    "prepared",
    "rebuilt",
    "reorder_levels",
    "select",
    "set_aside",
    "values_of",
    "walk",
    "with_index",
]

Array = TypeVar("Array", bound=xr.DataArray)


def multi_index(array: xr.DataArray, dim: Hashable) -> pd.MultiIndex | None:
    """Return the multi-index along a dimension, or None if it has another index or none."""
    index = array.xindexes.get(dim)
    return index.index if isinstance(index, PandasMultiIndex) else None


def level_names(array: xr.DataArray, dim: Hashable) -> list[str]:
    """Return the names of the levels along a dimension, in their order; empty without a multi-index."""
    index = multi_index(array, dim)
    return [] if index is None else [str(name) for name in index.names]


def levels_by_dim(array: xr.DataArray) -> dict[Hashable, list[str]]:
    """Return dimension -> names of its levels, for the dimensions that have a multi-index."""
    return {dim: names for dim in array.dims if (names := level_names(array, dim))}


def coordinates_of(array: xr.DataArray, dim: Hashable) -> list[str]:
    """Return the names of all one-dimensional coordinates along a dimension except the one named like it."""
    return [str(name) for name, coord in array.coords.items() if coord.dims == (dim,) and name != dim]


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


def walk(array: xr.DataArray) -> Iterator[tuple[str, tuple[Hashable, ...], npt.NDArray[Any]]]:
    """Yield (name, dims, values) of every coordinate; a multi-index appears as its levels only."""
    indexed = levels_by_dim(array)
    for name, variable in array.coords.variables.items():
        if name not in indexed:
            yield str(name), variable.dims, _variable_values(array, name, variable)


def plain_coordinates(array: xr.DataArray) -> dict[Hashable, tuple[tuple[Hashable, ...], npt.NDArray[Any]]]:
    """Return name -> (dims, values) for every coordinate, free of indexes: what a constructor or a file takes."""
    return {name: (dims, values) for name, dims, values in walk(array)}


def prepared(coords: Any) -> Any:
    """Return a constructor's coordinates in a form that is quick to read and means the same.

    Lists of text become arrays of objects. A coordinate along its own dimension that comes from an assembly whose
    only coordinate there has another name (see `only_level`) brings that name along.
    """
    if not isinstance(coords, Mapping) or isinstance(coords, xr.Coordinates):
        return coords
    ready: dict[Hashable, Any] = {}
    for name, value in coords.items():
        level = only_level(value, name) if isinstance(value, xr.DataArray) else None
        if level is not None:
            ready.setdefault(level, (name, values_of(value, level)))
        elif isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], list) and _is_text(value[1]):
            ready[name] = (value[0], np.array(value[1], dtype=object))
        else:
            ready[name] = value
    return ready


def only_level(array: xr.DataArray, dim: Hashable) -> Hashable | None:
    """Return the name of the coordinate that is alone in the index of a dimension; None if there are more or none."""
    index = multi_index(array, dim) if dim in array.dims else None
    return index.names[0] if index is not None and index.nlevels == 1 else None


def _is_text(values: list[Any]) -> bool:
    return bool(values) and isinstance(values[0], str) and pd.api.types.infer_dtype(values, skipna=False) == "string"


def set_aside(data: Any, coords: Any, dims: Any) -> tuple[Any, dict[Hashable, tuple[Hashable, Any]]]:
    """Split a constructor's coordinates into those that xarray is to read and those that only become levels.

    Returns
    -------
    rest : mapping or None
        For xarray, which copies each coordinate.
    aside : dict of str to (dim, values)
        One-dimensional arrays along dimensions without an index of their own.
    """
    is_array = hasattr(data, "shape") or isinstance(data, (list, tuple))
    if dims is None or not is_array or not isinstance(coords, Mapping) or isinstance(coords, xr.Coordinates):
        return coords, {}
    known = {dims} if isinstance(dims, str) else set(dims)
    aside: dict[Hashable, tuple[Hashable, Any]] = {}
    rest: dict[Hashable, Any] = {}
    for name, value in coords.items():
        dim = _only_dim(value)
        if dim in known and dim not in coords and name not in known:
            values = np.asarray(value[1]) if isinstance(value[1], list) else value[1]
            if type(values) is np.ndarray and values.ndim == 1 and values.dtype.kind in "biufUO":
                aside[name] = (dim, values)
                continue
            value = (value[0], values)
        rest[name] = value
    return rest, aside


def _only_dim(value: Any) -> Hashable | None:
    if not (isinstance(value, tuple) and len(value) == 2):
        return None
    dims = value[0]
    if isinstance(dims, (list, tuple)):
        return dims[0] if len(dims) == 1 and isinstance(dims[0], str) else None
    return dims if isinstance(dims, str) else None


def fits(array: xr.DataArray, aside: Mapping[Hashable, tuple[Hashable, Any]]) -> bool:
    """Say whether coordinates have the lengths of their dimensions."""
    return all(dim in array.sizes and len(values) == array.sizes[dim] for dim, values in aside.values())


def fold(
    array: xr.DataArray,
    aside: Mapping[Hashable, tuple[Hashable, Any]] | None = None,
    order: Iterable[Hashable] = (),
) -> xr.Coordinates | None:
    """Return the coordinates of an array with those along each dimension folded into one multi-index.

    Parameters
    ----------
    array : xr.DataArray
        Any dims. Left alone.
    aside : mapping of str to (dim, values), optional
        Further coordinates, which the array does not have yet.
    order : iterable of str
        In which order the coordinates become levels, if not in that of the array.

    Returns
    -------
    xr.Coordinates or None
        None when there is nothing to fold. An existing multi-index keeps its levels; new ones are appended.
    """
    further = aside or {}
    rank = {name: position for position, name in enumerate(order)}
    folded: dict[Hashable, pd.MultiIndex] = {}
    dtypes: dict[Hashable, dict[Hashable, np.dtype[Any]]] = {}
    for dim in array.dims:
        index = multi_index(array, dim)
        if dim in folded or (index is None and dim in array.coords):
            continue
        present = set() if index is None else set(index.names)
        new = {name: values for name, (own, values) in further.items() if own == dim}
        names = [*(name for name in coordinates_of(array, dim) if name not in present), *map(str, new)]
        if not names:
            continue
        names.sort(key=lambda name: rank.get(name, len(rank)))
        added = {
            name: make_level(new[name] if name in new else np.asarray(array.coords.variables[name].values))
            for name in names
        }
        folded[dim] = _append_levels(index, added)
        dtypes[dim] = _level_dtypes(array, dim) | {name: level.dtype for name, level in added.items()}
    if not folded:
        return None
    return _replaced(array, folded, dtypes)


def with_index(array: Array, dim: Hashable, index: pd.MultiIndex | None, dtypes: Mapping[Hashable, Any]) -> Array:
    """Return the array with another multi-index along a dimension.

    Parameters
    ----------
    array : xr.DataArray
        Left alone; the result shares its values.
    dim : str
        The dimension; its coordinates are all replaced.
    index : pd.MultiIndex or None
        As long as the dimension; None leaves it without coordinates.
    dtypes : mapping of str to dtype
        The dtype in which each level shows its values.
    """
    coords = _replaced(array, {dim: index}, {dim: dict(dtypes)})
    return rebuilt(type(array), array, coords)


def rebuilt(cls: type[Array], array: xr.DataArray, coords: xr.Coordinates) -> Array:
    """Return an array of a class with the values, name and attrs of another and the given coordinates, unchecked."""
    return cls(array.variable, dict(coords.variables), name=array.name, indexes=dict(coords.xindexes), fastpath=True)


def reorder_levels(array: Array, order: Sequence[Hashable]) -> Array:
    """Return the array with the levels of each index in the order of a list of names; others come last.

    Indexes whose levels are in different orders cannot be joined.
    """
    rank = {name: position for position, name in enumerate(order)}
    for dim, names in levels_by_dim(array).items():
        wanted = sorted(names, key=lambda name: rank.get(name, len(rank)))
        if wanted != names:
            index = _levels_subset(multi_index(array, dim), wanted)
            array = with_index(array, dim, index, _level_dtypes(array, dim))
    return array


def drop_coordinates(array: Array, names: Iterable[Hashable]) -> Array:
    """Return the array without some one-dimensional coordinates, be they levels or not; dimensions stay."""
    doomed = set(names)
    for dim, levels in levels_by_dim(array).items():
        kept = [name for name in levels if name not in doomed]
        if len(kept) < len(levels):
            array = with_index(array, dim, _levels_subset(multi_index(array, dim), kept), _level_dtypes(array, dim))
    rest = [name for name in array.coords if name in doomed]
    return xr.DataArray.drop_vars(array, rest) if rest else array


def codes_of(array: xr.DataArray, name: Hashable) -> tuple[Codes, npt.NDArray[Any]]:
    """Give the values of a one-dimensional coordinate numbers in sorted order.

    Returns
    -------
    codes : (n,) int array
        Position of every value in ``uniques``; missing values come last, all with one code.
    uniques : (k,) array
        Sorted values (in order of appearance where they cannot be compared).
    """
    coord = array.coords[name]
    index = multi_index(array, coord.dims[0])
    if index is not None and name in index.names:
        number = index.names.index(name)
        return _sorted_codes(np.asarray(index.codes[number]), index.levels[number])
    codes, uniques = pd.factorize(_plain(coord.values))
    return _sorted_codes(codes, pd.Index(uniques))


def group_codes(array: xr.DataArray, names: Sequence[Hashable]) -> tuple[Codes, Codes]:
    """Give the distinct combinations of several coordinates of one dimension numbers.

    Parameters
    ----------
    array : xr.DataArray
    names : sequence of str
        At least one coordinate, all along the same dimension. Missing values equal each other.

    Returns
    -------
    groups : (n,) int array
        The group of each position; groups are in lexicographic order of the coordinates' values.
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


def select(array: Array, indexers: Mapping[Hashable, Any], *, drop: bool) -> Array:
    """Select by labels; see `DataAssembly.sel`."""
    positions, used, rest = locate(array, indexers)
    if positions:
        array = array.isel(positions)
    if used:
        array = drop_coordinates(array, used)
    return xr.DataArray.sel(array, rest, drop=drop) if rest else array


def locate(
    array: xr.DataArray, indexers: Mapping[Hashable, Any]
) -> tuple[dict[Hashable, Any], list[Hashable], dict[Hashable, Any]]:
    """Translate labels into positions.

    Returns
    -------
    positions : dict
        Dimension -> positions (an int array, or one int which removes the dimension).
    used : list of str
        Coordinates that were selected by one value and hence carry no information any more.
    rest : dict
        Indexers along ordinary indexes, which xarray understands itself.

    Raises
    ------
    KeyError
        If nothing has the label, or there is no such coordinate.
    """
    masks: dict[Hashable, npt.NDArray[np.bool_]] = {}
    positions: dict[Hashable, Any] = {}
    used: list[Hashable] = []
    rest: dict[Hashable, Any] = {}
    scalars: dict[Hashable, set[Hashable]] = {}
    for name, label in _flat(array, indexers):
        if name in array.dims:
            own = _along_dim(array, name, label)
            if own is None:
                rest[name] = label
            else:
                positions[name] = own
            continue
        dim = _dim_of(array, name)
        mask = _matches(array, name, label)
        masks[dim] = masks[dim] & mask if dim in masks else mask
        if _is_scalar(label):
            used.append(name)
            scalars.setdefault(dim, set()).add(name)
    for dim, mask in masks.items():
        found = np.flatnonzero(mask)
        if found.size == 0:
            asked = {str(name): label for name, label in indexers.items() if name in coordinates_of(array, dim)}
            raise KeyError(f"No {dim} has {asked} together; each value occurs, but never in the same {dim}.")
        positions[dim] = np.intersect1d(found, positions[dim]) if dim in positions else found
        # A value for every level of a two-or-more-level index names one entry, like a full tuple of labels does.
        names = level_names(array, dim)
        if len(names) > 1 and scalars.get(dim, set()).issuperset(names) and found.size == 1:
            positions[dim] = int(found[0])
    return positions, used, rest


def locate_near(
    array: xr.DataArray, indexers: Mapping[Hashable, Any], method: str | None, tolerance: Any
) -> tuple[dict[Hashable, Any], list[Hashable], dict[Hashable, Any]]:
    """Translate inexact labels into positions, like `locate`.

    Raises
    ------
    KeyError
        If no value is near enough, or there is no such coordinate.
    ValueError
        If the values of a coordinate are not sorted or repeat.
    """
    positions: dict[Hashable, Any] = {}
    used: list[Hashable] = []
    rest: dict[Hashable, Any] = {}
    for name, label in _flat(array, indexers):
        level = only_level(array, name)
        if level is None and name in array.dims:
            rest[name] = label
            continue
        dim = _dim_of(array, name)
        values = pd.Index(values_of(array, name if level is None else level))
        if isinstance(label, slice) or not (values.is_monotonic_increasing and values.is_unique):
            raise ValueError(
                f"Inexact selection by {name!r} needs single labels and sorted values that occur once each; sort by it "
                "first, or select exact values."
            )
        found = values.get_indexer(np.atleast_1d(np.asarray(label)), method=method, tolerance=tolerance)
        if (found < 0).any():
            raise KeyError(f"No value of {name!r} is near {label!r} (method {method!r}, tolerance {tolerance}).")
        is_scalar = _is_scalar(label)
        if is_scalar and name not in array.dims:
            used.append(name)
        positions[dim] = int(found[0]) if is_scalar and name in array.dims else found
    return positions, used, rest


def _flat(array: xr.DataArray, indexers: Mapping[Hashable, Any]) -> Iterator[tuple[Hashable, Any]]:
    for name, label in indexers.items():
        if isinstance(label, Mapping) and name in array.dims:
            yield from label.items()
        else:
            yield name, label


def _dim_of(array: xr.DataArray, name: Hashable) -> Hashable:
    if name not in array.coords:
        known = [str(coord) for coord in array.coords]
        close = nearest(str(name), known)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise KeyError(f"{name!r} is neither a dimension nor a coordinate.{hint} There are: {', '.join(known)}.")
    dims = array.coords[name].dims
    if len(dims) != 1:
        raise KeyError(f"Coordinate {name!r} spans {len(dims)} dimensions {dims}; selection needs exactly one.")
    dim: Hashable = dims[0]
    return dim


def _along_dim(array: xr.DataArray, dim: Hashable, label: Any) -> Any:
    """Return positions for a label given for a dimension, or None if xarray shall find them."""
    if isinstance(label, (slice, tuple)):
        return None
    values = label if isinstance(label, np.ndarray) else np.asarray(getattr(label, "values", label))
    if values.dtype == bool and values.ndim == 1:
        if values.size != array.sizes[dim]:
            raise IndexError(f"The mask for {dim} has {values.size} entries; the dimension has {array.sizes[dim]}.")
        return np.flatnonzero(values)
    index = multi_index(array, dim)
    if index is None or index.nlevels > 1 or values.dtype == object:
        return None
    # An index of one level is searched by its values, as if it were an ordinary index.
    level = index.get_level_values(0)
    found = np.flatnonzero(level == values.item()) if values.ndim == 0 else level.get_indexer_for(pd.Index(values))
    missing = found.size == 0 if values.ndim == 0 else bool((found < 0).any())
    if missing:
        raise KeyError(_not_found(array, index.names[0], np.setdiff1d(values, np.asarray(level))))
    return int(found[0]) if values.ndim == 0 and found.size == 1 else found


def _matches(array: xr.DataArray, name: Hashable, label: Any) -> npt.NDArray[np.bool_]:
    codes, uniques = codes_of(array, name)
    if isinstance(label, slice):
        if label.step is not None:
            raise ValueError(f"A slice of the values of {name!r} cannot have a step; got {label}.")
        keep = np.ones(len(uniques), dtype=bool)
        if label.start is not None:
            keep &= uniques >= label.start
        if label.stop is not None:
            keep &= uniques <= label.stop
    else:
        wanted = [_item(label)] if _is_scalar(label) else [_item(one) for one in np.asarray(label).ravel()]
        known = {_item(value): position for position, value in enumerate(uniques)}
        missing = [value for value in wanted if value not in known]
        if missing:
            raise KeyError(_not_found(array, name, missing))
        keep = np.zeros(len(uniques), dtype=bool)
        keep[[known[value] for value in wanted]] = True
    # One more entry at the end: the code of missing values, which no label matches.
    mask: npt.NDArray[np.bool_] = np.append(keep, False)[codes]
    return mask


def _not_found(array: xr.DataArray, name: Hashable, missing: Iterable[Any]) -> str:
    _, uniques = codes_of(array, name)
    absent = [_item(value) for value in missing]
    shown = ", ".join(repr(_item(value)) for value in uniques[:10]) + (", ..." if len(uniques) > 10 else "")
    close = nearest(str(absent[0]), [str(value) for value in uniques]) if absent else []
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"Coordinate {name!r} has no value {', '.join(map(repr, absent[:10]))}.{hint} Its values: {shown}."


def _is_scalar(label: Any) -> bool:
    return not isinstance(label, (slice, Mapping)) and np.ndim(label) == 0


def _item(value: Any) -> Any:
    """Return a value in the form in which labels are compared: a plain Python object, times at full precision."""
    if isinstance(value, xr.DataArray):
        value = value.values
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (np.datetime64, pd.Timestamp)):
        return pd.Timestamp(value)
    if isinstance(value, (np.timedelta64, pd.Timedelta)):
        return pd.Timedelta(value)
    return value.item() if isinstance(value, np.generic) else value


def _plain(values: Any) -> npt.NDArray[Any]:
    """Return values as an array that pandas can index without loss; text becomes ``<U``."""
    array = np.asarray(values)
    if array.dtype == np.float16:
        return array.astype(np.float32)  # pandas has no index of half precision
    if array.dtype == object and array.size and pd.api.types.infer_dtype(array, skipna=False) == "string":
        return array.astype(str)
    return array


def _append_levels(index: pd.MultiIndex | None, added: Mapping[str, Level]) -> pd.MultiIndex:
    levels = [level.uniques for level in added.values()]
    codes = [level.codes for level in added.values()]
    if index is None:
        return _assembled(levels, codes, list(added))
    return _assembled([*index.levels, *levels], [*index.codes, *codes], [*map(str, index.names), *added])


def _levels_subset(index: pd.MultiIndex | None, kept: Sequence[Hashable]) -> pd.MultiIndex | None:
    if index is None or not kept:
        return None
    numbers = [list(index.names).index(name) for name in kept]
    return _assembled([index.levels[number] for number in numbers], [index.codes[number] for number in numbers], kept)


def _assembled(levels: Sequence[Any], codes: Sequence[Any], names: Sequence[Hashable]) -> pd.MultiIndex:
    # The parts come from whole indexes: nothing to verify, and nothing to factorise anew.
    return pd.MultiIndex(levels=levels, codes=codes, names=list(names), verify_integrity=False)


def _level_dtypes(array: xr.DataArray, dim: Hashable) -> dict[Hashable, np.dtype[Any]]:
    return {name: array.coords[name].dtype for name in level_names(array, dim)}


def _replaced(
    array: xr.DataArray,
    indexes: Mapping[Hashable, pd.MultiIndex | None],
    dtypes: Mapping[Hashable, Mapping[Hashable, Any]],
) -> xr.Coordinates:
    """Return the coordinates with those along some dimensions replaced by multi-indexes."""
    variables: dict[Hashable, xr.Variable] = {}
    xindexes: dict[Hashable, Index] = {}
    for name, coord in array.coords.items():
        if not (len(coord.dims) == 1 and coord.dims[0] in indexes):
            variables[name] = coord.variable
            if name in array.xindexes:
                xindexes[name] = array.xindexes[name]
    for dim, index in indexes.items():
        if index is None:
            continue
        shown = {name: dtypes[dim][name] for name in index.names}
        wrapped = PandasMultiIndex(index, dim, level_coords_dtype=shown)
        for name, variable in wrapped.create_variables().items():
            variables[name] = variable
            xindexes[name] = wrapped
    return xr.Coordinates(variables, indexes=xindexes)


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
