"""Label results like their assembly, and arrange those of its parts as one Score."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.labelled.alignment import (
    Coords,
    coordinate,
    coords_along,
    has_coordinate,
    neuroid_order,
)

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices, NDArray

__all__ = ["as_score", "bin_order", "labelled", "one_each", "same_labels", "stack"]


def as_score(result: Score | xr.DataArray | float) -> Score:
    """Turn a number or an assembly into a score; return scores unchanged."""
    return result if isinstance(result, Score) else Score(result)


def one_each(values: ArrayLike, dim: str, names: ArrayLike | None = None) -> Score:
    """Make a score with one value per member, numbered from 0 without names."""
    labels = np.arange(len(np.asarray(values))) if names is None else names
    return Score(values, coords={dim: (dim, labels)}, dims=[dim])


def labelled(
    values: Floats, assembly: xr.DataArray, dims: Sequence[str], used: NDArray[np.bool_] | None = None
) -> Score:
    """Label values along some dimensions, such as ``('split', 'neuroid')``, with an assembly's coordinates.

    Neuroids are sorted by their key, time bins by their start; neuroids that are not `used` are NaN.
    """
    if used is not None:
        full = np.full((*values.shape[:-1], len(used)), np.nan)
        full[..., used] = values
        values = full
    coords: Coords = {}
    for axis, dim in enumerate(dims):
        if dim == "split":
            coords[dim] = (dim, np.arange(values.shape[axis]))
            continue
        order = neuroid_order(assembly) if dim == Defaults.neuroid_dim else bin_order(assembly)
        values = values.take(order, axis=axis)
        coords.update({name: (dim, labels[order]) for name, (_, labels) in coords_along(assembly, dim).items()})
    return Score(values, coords=coords, dims=list(dims))


def bin_order(assembly: xr.DataArray) -> Indices:
    """Return the positions of an assembly's time bins, sorted by their start."""
    named = has_coordinate(assembly, "time_bin_start")
    starts = coordinate(assembly, "time_bin_start") if named else np.arange(assembly.sizes["time_bin"])
    return np.argsort(starts, kind="stable")


def stack(results: Sequence[Score], labels: Sequence[Mapping[str, object]]) -> Score:
    """Arrange results along new dimensions, and likewise their `raw` if all have one.

    A `raw` that has the new dimensions as coordinates along one dimension is joined along that.
    """
    stacked = _arrange(results, labels)
    raws = [raw for raw in (result.attrs.get("raw") for result in results) if isinstance(raw, xr.DataArray)]
    if len(raws) == len(results):
        dims = {raw[name].dims if has_coordinate(raw, name) else () for raw in raws for name in labels[0]}
        (dim,) = dims.pop() if len(dims) == 1 and () not in dims else ("",)
        joinable = dim and str(dim) not in labels[0]
        stacked.attrs["raw"] = _joined(raws, str(dim)) if joinable else _arrange(list(map(as_score, raws)), labels)
    return stacked


def _joined(results: Sequence[xr.DataArray], dim: str) -> Score:
    return Score(xr.concat([as_score(result) for result in results], dim, join="outer", combine_attrs="drop"))


def _arrange(results: Sequence[xr.DataArray], labels: Sequence[Mapping[str, object]]) -> Score:
    names = list(labels[0])
    if not names:
        score = Score(results[0])
        score.attrs = {}
        return score
    dims = [str(dim) for dim in results[0].dims]
    results, inner = same_labels(results, dims)
    levels = {name: list(dict.fromkeys(label[name] for label in labels)) for name in names}
    shape = [len(level) for level in levels.values()]
    inner_shape = results[0].shape
    values = np.full([*shape, *inner_shape], np.nan, dtype=np.result_type(float, *[r.dtype for r in results]))
    for label, result in zip(labels, results, strict=True):
        values[tuple(levels[name].index(label[name]) for name in names)] = result.values
    coords = {name: (name, np.asarray(level)) for name, level in levels.items()}
    return Score(values, coords={**coords, **inner}, dims=[*names, *dims])


def same_labels(results: Sequence[xr.DataArray], dims: list[str]) -> tuple[list[xr.DataArray], Coords]:
    """Give results the same labels along their dimensions; NaN where one is missing."""
    placed = [result.transpose(*dims) for result in results]
    inner: Coords = {}
    for dim in dims:
        tables = [coords_along(result, dim) for result in results]
        sizes = {result.sizes[dim] for result in results}
        same = all(
            table.keys() == tables[0].keys()
            and all(np.array_equal(table[name][1], labels) for name, (_, labels) in tables[0].items())
            for table in tables[1:]
        )
        if len(sizes) == 1 and same:
            inner.update(tables[0])
            continue
        keys = [list(zip(*(values.tolist() for _, values in table.values()), strict=True)) for table in tables]
        union = list(dict.fromkeys(itertools.chain.from_iterable(keys)))
        if any(len(set(key)) != result.sizes[dim] for key, result in zip(keys, results, strict=True)):
            raise AssemblyError(f"Results differ along {dim!r} and have no unique coordinates there to join them by.")
        placed = [_spread(result, dim, key, union) for result, key in zip(placed, keys, strict=True)]
        inner.update({name: (dim, np.asarray([key[i] for key in union])) for i, name in enumerate(tables[0])})
    return placed, inner


def _spread(result: xr.DataArray, dim: str, keys: Sequence[object], union: Sequence[object]) -> xr.DataArray:
    axis = result.get_axis_num(dim)
    shape = list(result.shape)
    shape[axis] = len(union)
    values = np.full(shape, np.nan)
    where = {key: index for index, key in enumerate(union)}
    target: list[slice | list[int]] = [slice(None)] * result.ndim
    target[axis] = [where[key] for key in keys]
    values[tuple(target)] = result.values
    return xr.DataArray(values, dims=result.dims)
