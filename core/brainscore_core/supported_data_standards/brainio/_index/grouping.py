"""Group the entries of assemblies by their coordinates and apply functions to the groups."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from brainscore_core.errors import AssemblyError, did_you_mean
from brainscore_core.supported_data_standards.brainio._index import coordinates
from brainscore_core.supported_data_standards.brainio._index.reduction import Reduction, reduce_groups


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
        levels = [coordinates.only_level(assembly, name) for name in names]
        self._assembly = assembly
        self._names = [name if level is None else str(level) for name, level in zip(names, levels, strict=True)]
        self._dim = _grouped_dim(assembly, self._names)
        self._keeps_dim = len(names) > 1 or names[0] == self._dim

    mean = _reduction("mean", "Average each group over its dimension.")
    sum = _reduction("sum", "Sum each group over its dimension; NaN where it has fewer than ``min_count`` values.")
    min = _reduction("min", "Take the least of each group.")
    max = _reduction("max", "Take the greatest of each group.")
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
        groups, first = coordinates.group_codes(self._assembly, self._names)
        keys = [coordinates.values_of(self._assembly, name)[first].tolist() for name in self._names]
        order = np.argsort(groups, kind="stable")
        parts = np.split(order, np.searchsorted(groups[order], np.arange(1, len(first))))
        for key, part in zip(zip(*keys, strict=True), parts, strict=True):
            yield (key if len(key) > 1 else key[0]), part

    def __len__(self) -> int:
        return len(coordinates.group_codes(self._assembly, self._names)[1])

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
        values = coordinates.values_of(result, name)
        rest = {
            key: (dims, coord)
            for key, (dims, coord) in coordinates.plain_coordinates(result).items()
            if self._dim not in dims
        }
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
        if name in assembly.coords and not (
            name in assembly.dims and coordinates.multi_index(assembly, name) is not None
        ):
            codes = coordinates.codes_of(assembly, name)[0]
        else:
            codes = np.arange(assembly.sizes[dim])
        order = np.argsort(codes, kind="stable")
        parts.append(np.split(order, np.flatnonzero(np.diff(codes[order])) + 1))
    values = assembly.transpose(*dims).values
    coords = coordinates.plain_coordinates(assembly)
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
