"""Align two assemblies by stimulus, determine usable neuroids, and label results like their assembly."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import xarray as xr

from brainscore_core.errors import AssemblyError, did_you_mean
from brainscore_core.metrics import Score, described
from brainscore_core.supported_data_standards.brainio.assemblies import walk_coords
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.arrays.correlation import constant_columns

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices, NDArray

__all__ = [
    "Attrs",
    "Coords",
    "Neuroids",
    "as_score",
    "bin_order",
    "coordinate",
    "coords_along",
    "has_coordinate",
    "labelled",
    "matching_order",
    "matrix",
    "neuroid_names",
    "neuroid_order",
    "one_each",
    "require_assembly",
    "require_entries",
    "same_labels",
    "squeeze_time_bin",
    "stack",
    "usable_neuroids",
]

Array = TypeVar("Array", bound=xr.DataArray)
Attrs = dict[str, Any]  # Any: entries of ``Score.attrs``
Coords = dict[str, tuple[str, "NDArray[Any]"]]  # name -> (dim, labels)

_SHOWN = 5  # names listed in an error
_OF_REPETITIONS = (
    " Pass single repetitions, not their mean, numbered for each stimulus: assembly['repetition'] = 'presentation', "
    "[0, 1, ...]."
)
_NAMED = 1000  # omitted neuroids named in an attribute


def squeeze_time_bin(assembly: Array) -> Array:
    """Drop a `time_bin` dimension of length one; return other assemblies unchanged, refuse empty ones."""
    require_entries(assembly)
    if "time_bin" in assembly.dims and assembly.sizes["time_bin"] == 1:
        return assembly.isel(time_bin=0, drop=True)
    return assembly


def has_coordinate(assembly: xr.DataArray, name: str) -> bool:
    """Return whether a one-dimensional coordinate or index level has this name."""
    require_assembly(assembly)
    return name in assembly.coords and assembly.coords.variables[name].ndim == 1


def coordinate(assembly: xr.DataArray, name: str) -> NDArray[Any]:
    """Return the values of a one-dimensional coordinate; raise AssemblyError if it is missing."""
    if not has_coordinate(assembly, name):
        names = [str(coord) for coord in assembly.coords]
        hint = _OF_REPETITIONS if name == "repetition" else did_you_mean(name, names)
        raise AssemblyError(f"The assembly has no coordinate {name!r}; it has {', '.join(names) or 'none'}.{hint}")
    values: NDArray[Any] = assembly[name].values
    return values


def neuroid_names(assembly: xr.DataArray) -> NDArray[Any]:
    """Return the `neuroid_id` of an assembly's neuroids, or their positions without one."""
    if has_coordinate(assembly, Defaults.neuroid_coord):
        return coordinate(assembly, Defaults.neuroid_coord)
    return np.arange(assembly.sizes[Defaults.neuroid_dim])


def neuroid_order(target: xr.DataArray, neuroid_coord: str = Defaults.neuroid_coord) -> Indices:
    """Return the positions that sort neuroids by their key, if any."""
    if not has_coordinate(target, neuroid_coord):
        return np.arange(target.sizes.get(Defaults.neuroid_dim, 0))
    return np.argsort(coordinate(target, neuroid_coord), kind="stable")


def coords_along(assembly: xr.DataArray, dim: str) -> Coords:
    """Return the coordinates along one dimension, ``name -> (dim, values)``."""
    return {name: (dim, values) for name, dims, values in walk_coords(assembly) if tuple(dims) == (dim,)}


def matching_order(reference: ArrayLike, values: ArrayLike, *, what: str = "stimulus_id") -> Indices:
    """Find where each reference value occurs: ``values[result] == reference``.

    Both hold the same values equally often. Repeated values are matched in order of occurrence. Numbers of different
    types match only if they are exactly equal: beyond 2 ** 53, float64 is too coarse to tell integers apart.
    """
    target_values = _comparable(reference)
    source_values = _comparable(values)
    target_order = np.argsort(target_values, kind="stable")
    source_order = np.argsort(source_values, kind="stable")
    # Lists compare exactly, while NumPy rounds an integer in an array with floats.
    if target_values[target_order].tolist() != source_values[source_order].tolist():
        raise AssemblyError(_mismatch(target_values, source_values, what))
    result = np.empty(len(target_values), dtype=np.intp)
    result[target_order] = source_order
    return result


def matrix(
    assembly: xr.DataArray, dims: Sequence[str], *, role: str, dtype: DTypeLike | None = np.float64
) -> NDArray[Any]:
    """Return the numbers of an assembly with exactly these dimensions, in the given order.

    With `dtype` None, values keep their type and are not copied.
    """
    if set(assembly.dims) != set(dims):
        raise AssemblyError(
            f"The {role} assembly has dimensions {tuple(assembly.dims)} of sizes {tuple(assembly.shape)}; expected "
            f"{tuple(dims)}. Select from or average over the other dimensions (a time_bin of length one is dropped)."
        )
    values: NDArray[Any] = assembly.variable.transpose(*dims).values
    result_type = dtype if dtype is not None or values.dtype.kind in "biuf" else np.float64
    if values.dtype.kind in "cSUMm":
        raise AssemblyError(f"The {role} assembly has values of type {values.dtype}; expected real numbers.")
    return values if result_type is None else values.astype(result_type, copy=False)


@dataclass(frozen=True)
class Neuroids:
    """Neuroids of a target, and which of them are usable."""

    used: NDArray[np.bool_]  # (n_neuroids,), False where responses are all NaN or constant
    names: NDArray[Any]  # (n_neuroids,), `neuroid_id`, or positions without one

    @property
    def attrs(self) -> Attrs:
        """Entries for ``Score.attrs``: numbers of neuroids, and omitted names."""
        left_out = self.names[~self.used]
        entries: Attrs = {"n_neuroids": int(self.used.sum())}
        if len(left_out):
            entries["n_neuroids_left_out"] = len(left_out)
            entries["neuroids_left_out"] = [str(name) for name in left_out[:_NAMED]]
        return entries


def usable_neuroids(values: NDArray[Any] | ColumnBlocks, names: NDArray[Any], *, role: str = "target") -> Neuroids:
    """Determine which columns are usable: not constant and not NaN throughout.

    Some NaN or infinite values, or no usable neuroid, raise AssemblyError.
    """
    n, q = values.shape
    empty, broken, constant = (np.zeros(q, dtype=bool) for _ in range(3))
    for here, block in ColumnBlocks.of(values).placed():
        if np.isfinite(block.sum(dtype=np.float64)):  # finite only if all values are; needs no copy
            constant[here] = constant_columns(block)
            continue
        missing = np.isnan(block)
        empty[here] = missing.all(axis=0)
        broken[here] = ~empty[here] & ~np.isfinite(block).all(axis=0)
        constant[here] = constant_columns(np.where(np.isfinite(block), block, 0.0))
    if broken.any():
        raise AssemblyError(
            f"{int(broken.sum())} of {q} neuroids of the {role} assembly have NaN or infinite values for "
            f"some stimuli ({_listing(names[broken])}). Drop these neuroids or these stimuli before scoring."
        )
    used = ~empty & ~constant
    if not used.any():
        raise AssemblyError(
            f"No neuroid of the {role} assembly varies over its {n} presentations "
            f"({int(empty.sum())} of {q} are NaN throughout, the others constant)."
        )
    return Neuroids(used=used, names=np.asarray(names))


def require_entries(argument: object) -> None:
    """Raise `AssemblyError` unless a metric's argument is an assembly with values."""
    require_assembly(argument)
    if not getattr(argument, "size", 0):
        raise AssemblyError(
            f"Nothing to compare: a metric was given {described(argument)}. Its selection probably matched nothing; "
            "compare the criteria with the values of the coordinate."
        )


def require_assembly(argument: object) -> None:
    """Raise `AssemblyError` unless a metric's argument is an assembly."""
    if not hasattr(argument, "coords"):
        raise AssemblyError(
            f"A metric was given {described(argument)}; expected an assembly with named dimensions and coordinates. "
            "Label it: NeuroidAssembly(values, "
            "coords={'stimulus_id': ('presentation', [...]), 'neuroid_id': ('neuroid', [...])}, "
            "dims=['presentation', 'neuroid'])."
        )


def _comparable(values: ArrayLike) -> NDArray[Any]:
    array = np.asarray(values)
    return array.astype(str) if array.dtype == object else array


def _mismatch(target_values: NDArray[Any], source_values: NDArray[Any], what: str) -> str:
    counts: dict[str, Mapping[object, int]] = {}
    for role, side in (("target", target_values), ("source", source_values)):
        unique, number = np.unique(side, return_counts=True)
        counts[role] = dict(zip(unique.tolist(), number.tolist(), strict=True))
    only = {
        "only in the target": [value for value in counts["target"] if value not in counts["source"]],
        "only in the source": [value for value in counts["source"] if value not in counts["target"]],
        "not equally often in both": [
            value for value, number in counts["target"].items() if counts["source"].get(value, number) != number
        ],
    }
    parts = [f"{len(values)} {where} ({_listing(values)})" for where, values in only.items() if values]
    return (
        f"Source ({len(source_values)}) and target ({len(target_values)}) do not have the same {what}: "
        f"{'; '.join(parts)}. Present exactly the target's stimuli to the model, and average repetitions on both "
        "sides."
    )


def _listing(values: Sequence[Any] | NDArray[Any]) -> str:
    names = ", ".join(repr(str(value)) for value in list(values)[:_SHOWN])
    return names + (", ..." if len(values) > _SHOWN else "")


# Label results like their assembly, and arrange the results of its parts as one Score.


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
    """Arrange results along new dimensions, and their `raw` too if all have one.

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
            raise AssemblyError(
                f"Results differ along {dim!r} and cannot be joined, because that dimension has no unique coordinates."
            )
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
