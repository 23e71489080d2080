"""Find the entries of an assembly by the labels of its coordinates."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from brainscore_core.errors import did_you_mean
from brainscore_core.supported_data_standards.brainio._index.coordinates import (
    codes_of,
    coordinates_of,
    level_names,
    multi_index,
    only_level,
    values_of,
)
from brainscore_core.supported_data_standards.brainio._index.fold import drop_coordinates

Array = TypeVar("Array", bound=xr.DataArray)


def select(
    array: Array, indexers: Mapping[Hashable, Any], method: str | None = None, tolerance: Any = None, *, drop: bool
) -> Array:
    """Select by labels; see `DataAssembly.sel`."""
    exact = method is None and tolerance is None
    positions, used, rest = locate(array, indexers) if exact else locate_near(array, indexers, method, tolerance)
    if positions:
        array = array.isel(positions)
    if used:
        array = drop_coordinates(array, used)
    return xr.DataArray.sel(array, rest, method=method, tolerance=tolerance, drop=drop) if rest else array


def multiselect(
    array: Array, indexers: Mapping[Hashable, Any], method: str | None, tolerance: Any, *, drop: bool
) -> Array:
    """Select by labels, keeping coordinates selected by one value; see `DataAssembly.multisel`."""
    result = select(array, indexers, method, tolerance, drop=drop)
    if drop:
        return result
    constants: dict[Hashable, Any] = {}
    for name, label in indexers.items():
        if name in array.coords and name not in result.coords and name not in array.dims:
            (dim,), dtype = array.coords.variables[name].dims, array.coords.variables[name].dtype
            if method is not None or tolerance is not None:
                positions, _, _ = locate_near(array, {name: label}, method, tolerance)
                label = values_of(array, name)[positions[dim]]
            constants[name] = (dim, np.full(result.sizes[dim], label, dtype)) if dim in result.dims else label
    return result.assign_coords(constants) if constants else result


def locate(
    array: xr.DataArray, indexers: Mapping[Hashable, Any]
) -> tuple[dict[Hashable, Any], list[Hashable], dict[Hashable, Any]]:
    """Translate labels into positions; `KeyError` if nothing has the label, or there is no such coordinate.

    Returns
    -------
    positions : dict
        Dimension -> positions (an int array, or one int which removes the dimension).
    used : list of str
        Coordinates that were selected by one value, now constant.
    rest : dict
        Indexers along ordinary indexes, for xarray.
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
        mask = _matches(array, dim, name, label)
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
        # A value for every level names one entry, like a full tuple of labels does.
        names = level_names(array, dim)
        if len(names) > 1 and scalars.get(dim, set()).issuperset(names) and found.size == 1:
            positions[dim] = int(found[0])
    return positions, used, rest


def locate_near(
    array: xr.DataArray, indexers: Mapping[Hashable, Any], method: str | None, tolerance: Any
) -> tuple[dict[Hashable, Any], list[Hashable], dict[Hashable, Any]]:
    """Translate inexact labels into positions, like `locate`.

    Raises a `KeyError` if no value is near enough, a `ValueError` unless values are sorted and unique.
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
        names = [str(coord) for coord in array.coords]
        raise KeyError(
            f"{name!r} is neither a dimension nor a coordinate.{did_you_mean(name, names)} There are: "
            f"{', '.join(names)}."
        )
    dims = array.coords.variables[name].dims
    if len(dims) != 1:
        raise KeyError(f"Coordinate {name!r} spans {len(dims)} dimensions {dims}; selection needs exactly one.")
    dim: Hashable = dims[0]
    return dim


def _along_dim(array: xr.DataArray, dim: Hashable, label: Any) -> Any:
    """Return the positions of a label of a dimension, or None to leave it to xarray."""
    if only_level(array, dim) is not None:
        label = _untupled(label)
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
    level = index.get_level_values(0)
    positions = np.flatnonzero(level == values.item()) if values.ndim == 0 else level.get_indexer_for(pd.Index(values))
    missing = positions.size == 0 if values.ndim == 0 else bool((positions < 0).any())
    if missing:
        raise KeyError(_not_found(array, index.names[0], np.setdiff1d(values, np.asarray(level))))
    return int(positions[0]) if values.ndim == 0 and positions.size == 1 else positions


def _untupled(label: Any) -> Any:
    if isinstance(label, tuple):
        return label[0] if len(label) == 1 else label
    entries = getattr(label, "values", label)
    is_row = isinstance(entries, list) or (isinstance(entries, np.ndarray) and entries.ndim == 1)
    if not is_row or len(entries) == 0 or not all(isinstance(entry, tuple) and len(entry) == 1 for entry in entries):
        return label
    return [value for (value,) in entries]


def _matches(array: xr.DataArray, dim: Hashable, name: Hashable, label: Any) -> npt.NDArray[np.bool_]:
    index = multi_index(array, dim)
    if _is_scalar(label) and index is not None and name in index.names:
        number = list(index.names).index(name)
        place = _place_of(index.levels[number], _item(label))
        if place is not None:
            return np.asarray(index.codes[number] == place)
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
        labels = [_item(label)] if _is_scalar(label) else [_item(one) for one in np.asarray(label).ravel()]
        position_of = {_item(value): position for position, value in enumerate(uniques)}
        missing = [value for value in labels if value not in position_of]
        if missing:
            raise KeyError(_not_found(array, name, missing))
        keep = np.zeros(len(uniques), dtype=bool)
        keep[[position_of[value] for value in labels]] = True
    # One more entry at the end: the code of missing values, which no label matches.
    mask: npt.NDArray[np.bool_] = np.append(keep, False)[codes]
    return mask


def _place_of(level: pd.Index[Any], value: Any) -> int | None:
    """Return where a level holds a value, by the table that pandas keeps with it.

    None if unknown: pandas searches dates by parts, and distinguishes 1 and True.
    """
    is_plain = level.dtype.kind in "iuf" or (level.dtype.kind == "O" and isinstance(value, str))
    if not is_plain or not level.is_unique:
        return None
    try:
        place = level.get_loc(value)
    except (KeyError, TypeError):
        return None
    return place if isinstance(place, int) and _item(level[place]) == value else None


def _not_found(array: xr.DataArray, name: Hashable, missing: Iterable[Any]) -> str:
    _, uniques = codes_of(array, name)
    absent = [_item(value) for value in missing]
    examples = ", ".join(repr(_item(value)) for value in uniques[:10]) + (", ..." if len(uniques) > 10 else "")
    hint = did_you_mean(absent[0], uniques) if absent else ""
    return f"Coordinate {name!r} has no value {', '.join(map(repr, absent[:10]))}.{hint} Its values: {examples}."


def _is_scalar(label: Any) -> bool:
    return not isinstance(label, (slice, Mapping)) and np.ndim(label) == 0


def _item(value: Any) -> Any:
    """Return a plain Python object, with times at full precision."""
    if isinstance(value, xr.DataArray):
        value = value.values
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (np.datetime64, pd.Timestamp)):
        return pd.Timestamp(value)
    if isinstance(value, (np.timedelta64, pd.Timedelta)):
        return pd.Timedelta(value)
    return value.item() if isinstance(value, np.generic) else value
