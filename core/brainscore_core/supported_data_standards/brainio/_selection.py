"""Select the entries of an assembly by labels, group them by coordinates, and reduce groups."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from brainscore_core.errors import AssemblyError, did_you_mean
from brainscore_core.supported_data_standards.brainio._coordinates import (
    codes_of,
    coordinates_of,
    drop_coordinates,
    group_codes,
    level_names,
    multi_index,
    only_level,
    plain_coordinates,
    values_of,
)

# -- selecting by labels -----------------------------------------------------------------------------------------------


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


# -- reducing groups ---------------------------------------------------------------------------------------------------
#
# Reduce groups of an assembly's entries, or an array's rows, to one each.


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
    groups, first = group_codes(array, names)
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
    doomed = [name for name in coordinates_of(array, dim) if name not in names]
    template = drop_coordinates(template, doomed)
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
    """Yield (first, last) of groups whose rows fill a block; a larger group is a block by itself.

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


# -- grouping ----------------------------------------------------------------------------------------------------------
#
# Group the entries of assemblies by their coordinates and apply functions to the groups.


class GroupbyError(AssemblyError):
    """Raised when coordinates of different dimensions are to be grouped together."""


def _reduction(how: Reduction, summary: str) -> Callable[..., Any]:
    """Return a method of `GroupbyBridge` that reduces each group."""

    def reduce(
        self: GroupbyBridge, dim: Any = None, skipna: bool = True, keep_attrs: object = None, **options: int
    ) -> Any:
        del keep_attrs  # attrs need not hold for groups
        return self._reduce(_with_options(how, skipna, options) if options else how, dim, skipna=skipna)

    reduce.__name__, reduce.__doc__ = how, summary
    return reduce


def _with_options(how: Reduction, skipna: bool, options: dict[str, int]) -> Callable[..., Any]:
    known = {"var": "ddof", "std": "ddof", "sum": "min_count", "prod": "min_count"}.get(how)
    if unknown := [name for name in options if name != known]:
        raise TypeError(
            f"{how}() of groups has no option {unknown[0]!r}; it takes dim, skipna{', ' + known if known else ''}."
        )
    function = getattr(np, f"nan{how}" if skipna else how)
    if known == "ddof":
        return lambda values, axis: function(values, axis=axis, ddof=options["ddof"])
    least = options["min_count"]

    def reduced(values: npt.NDArray[Any], axis: int) -> Any:
        enough = np.sum(~np.isnan(values), axis=axis) >= least
        return np.where(enough, function(values, axis=axis), np.nan)

    return reduced


class GroupbyBridge:
    """Entries of one dimension, grouped by some of its coordinates."""

    def __init__(self, assembly: xr.DataArray, group_coord_names: Sequence[str]) -> None:
        names = [group_coord_names] if isinstance(group_coord_names, str) else list(group_coord_names)
        # The name of a dimension also means its only coordinate.
        levels = [only_level(assembly, name) for name in names]
        self._assembly = assembly
        self._names = [name if level is None else str(level) for name, level in zip(names, levels, strict=True)]
        self._dim = _grouped_dim(assembly, self._names)
        self._keeps_dim = len(names) > 1 or names[0] == self._dim

    mean = _reduction("mean", "Average each group over its dimension.")
    sum = _reduction("sum", "Sum each group over its dimension; NaN where it has fewer than ``min_count`` values.")
    min = _reduction("min", "Take the minimum of each group.")
    max = _reduction("max", "Take the maximum of each group.")
    prod = _reduction("prod", "Multiply each group; NaN where it has fewer than ``min_count`` values.")
    var = _reduction("var", "Take the variance of each group; the divisor is n - ``ddof``, by default n.")
    std = _reduction("std", "Take the standard deviation of each group; the divisor is n - ``ddof``, by default n.")
    median = _reduction("median", "Take the median of each group.")
    count = _reduction("count", "Count the values of each group that are not missing.")

    def quantile(self, q: float, dim: Any = None, skipna: bool = True, **_options: Any) -> Any:
        """Take a quantile, from 0 to 1, of each group."""
        function = np.nanquantile if skipna else np.quantile
        return self._reduce(lambda values, axis: function(values, q, axis=axis), dim, skipna=skipna)

    def first(self, skipna: bool | None = None, **_options: Any) -> Any:  # noqa: ARG002  # xarray's option
        """Take the first entry of each group."""
        return self._reduce(lambda values, axis: np.take(values, 0, axis=axis), None, skipna=True)

    def last(self, skipna: bool | None = None, **_options: Any) -> Any:  # noqa: ARG002  # xarray's option
        """Take the last entry of each group."""
        return self._reduce(lambda values, axis: np.take(values, -1, axis=axis), None, skipna=True)

    @property
    def groups(self) -> dict[Any, list[int]]:
        """Value (or tuple of values) of each group -> positions of its entries."""
        return {key: part.tolist() for key, part in self._parts()}

    def reduce(self, func: Callable[..., Any], dim: Any = None, **kwargs: Any) -> Any:
        """Reduce each group with ``func(values, axis=axis, **kwargs)``."""
        kwargs.pop("keep_attrs", None)

        def reduced(values: npt.NDArray[Any], axis: int) -> Any:
            return func(values, axis=axis, **kwargs)

        return self._reduce(reduced, dim, skipna=True)

    def map(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Apply a function to the assembly of each group and join the results along the dimension."""
        results = [func(part, *args, **kwargs) for _, part in self]
        return xr.concat(results, dim=self._dim)

    apply = map  # noqa: A003  # the name that xarray uses too

    def __iter__(self) -> Iterator[tuple[Any, xr.DataArray]]:
        """Yield (value or tuple of values, assembly) for every group, ordered."""
        for key, part in self._parts():
            yield key, self._assembly.isel({self._dim: part})

    def _parts(self) -> Iterator[tuple[Any, npt.NDArray[np.intp]]]:
        groups, first = group_codes(self._assembly, self._names)
        keys = [values_of(self._assembly, name)[first].tolist() for name in self._names]
        order = np.argsort(groups, kind="stable")
        parts = np.split(order, np.searchsorted(groups[order], np.arange(1, len(first))))
        for key, part in zip(zip(*keys, strict=True), parts, strict=True):
            yield (key if len(key) > 1 else key[0]), part

    def __len__(self) -> int:
        return len(group_codes(self._assembly, self._names)[1])

    def _reduce(self, how: Reduction | Callable[..., Any], dim: Any, *, skipna: bool) -> Any:
        own, every = {self._dim}, set(self._assembly.dims)
        over = own if dim is None else every if dim is ... else {dim} if isinstance(dim, str) else set(dim)
        if over not in (own, every):
            raise GroupbyError(
                f"These groups lie along {self._dim!r}; they cannot be reduced over {dim!r}. Reduce all dimensions "
                "(...), or the other dimensions of the result, or of the assembly."
            )
        result = reduce_groups(self._assembly, self._names, how, skipna=skipna, every_dim=over == every)
        if self._keeps_dim:
            return result
        # Grouped by a single coordinate, the dimension takes its name, as xarray's own groupby does.
        name = self._names[0]
        values = values_of(result, name)
        rest = {key: (dims, coord) for key, (dims, coord) in plain_coordinates(result).items() if self._dim not in dims}
        dims = [name if dim == self._dim else dim for dim in result.dims]
        return type(result)(result.values, coords={**rest, name: (name, values)}, dims=dims, name=result.name)


def multi_dim_apply(assembly: Any, groups: Sequence[str], apply: Callable[..., Any]) -> Any:
    by_dim = {}
    for name in groups:
        dim = name if name in assembly.dims and name not in assembly.coords else assembly.coords[name].dims[0]
        by_dim[dim] = name
    if set(by_dim) != set(assembly.dims) or len(by_dim) != len(groups):
        raise GroupbyError(f"{list(groups)} must name every dimension of {assembly.dims} exactly once.")
    dims = list(by_dim)
    parts: list[list[npt.NDArray[np.intp]]] = []
    for dim, name in by_dim.items():
        if name in assembly.coords and not (name in assembly.dims and multi_index(assembly, name) is not None):
            codes = codes_of(assembly, name)[0]
        else:
            codes = np.arange(assembly.sizes[dim])
        order = np.argsort(codes, kind="stable")
        parts.append(np.split(order, np.flatnonzero(np.diff(codes[order])) + 1))
    values = assembly.transpose(*dims).values
    coords = plain_coordinates(assembly)
    result = np.empty(values.shape)
    for combination in itertools.product(*parts):
        cells = values[np.ix_(*combination)]
        at = dict(zip(dims, combination, strict=True))
        described = {}
        for coordinate, (along, array) in coords.items():
            part = array[np.ix_(*(at[dim] for dim in along))] if along else array
            described[str(coordinate)] = part.ravel()[0] if part.size == 1 else part
        scalar = cells.item() if cells.size == 1 else cells
        result[np.ix_(*combination)] = apply(scalar, **described)
    axes = [dims.index(dim) for dim in assembly.dims]
    final = assembly.copy(data=result.transpose(axes))
    final.attrs = {}
    return final


def _grouped_dim(assembly: xr.DataArray, names: Sequence[str]) -> Hashable:
    unknown = [name for name in names if name not in assembly.coords]
    if unknown or not names:
        hint = did_you_mean(unknown[0], assembly.coords) if unknown else ""
        raise GroupbyError(f"There is no coordinate {unknown} to group by.{hint}")
    dims = {assembly.coords[name].dims for name in names}
    if len(dims) != 1 or len(next(iter(dims))) != 1:
        where = {name: assembly.coords[name].dims for name in names}
        raise GroupbyError(f"Coordinates to group by must all lie along one dimension; these lie along {where}.")
    dim: Hashable = next(iter(dims))[0]
    return dim
