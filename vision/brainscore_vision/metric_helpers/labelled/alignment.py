"""Bring two assemblies to the same stimuli in the same order, and decide which neuroids can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import xarray as xr

from brainscore_core.errors import AssemblyError, did_you_mean
from brainscore_core.metrics import described
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.arrays.correlation import constant_columns

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Indices, NDArray

__all__ = [
    "Attrs",
    "Coords",
    "Neuroids",
    "coordinate",
    "coords_along",
    "has_coordinate",
    "matching_order",
    "matrix",
    "neuroid_names",
    "neuroid_order",
    "require_assembly",
    "require_entries",
    "squeeze_time_bin",
    "usable_neuroids",
]

Array = TypeVar("Array", bound=xr.DataArray)
Attrs = dict[str, Any]  # Any: entries of ``Score.attrs`` are of all types
Coords = dict[str, tuple[str, "NDArray[Any]"]]  # name -> (dim, labels), ready for a constructor

_SHOWN = 5  # how many names an error lists
_NAMED = 1000  # how many neuroids that are left out an attribute names


def squeeze_time_bin(assembly: Array) -> Array:
    """Drop a `time_bin` dimension of length one; leave every other assembly as it is.

    Raises
    ------
    AssemblyError
        If it is no assembly, or an empty one.
    """
    require_entries(assembly)
    if "time_bin" in assembly.dims and assembly.sizes["time_bin"] == 1:
        return assembly.isel(time_bin=0, drop=True)
    return assembly


def has_coordinate(assembly: xr.DataArray, name: str) -> bool:
    """Tell whether an assembly has a coordinate or index level of this name along some dimension."""
    require_assembly(assembly)
    return name in assembly.coords and assembly[name].ndim == 1


def coordinate(assembly: xr.DataArray, name: str) -> NDArray[Any]:
    """Return the values of a one-dimensional coordinate."""
    if not has_coordinate(assembly, name):
        known = [str(coord) for coord in assembly.coords]
        hint = did_you_mean(name, known)
        raise AssemblyError(f"The assembly has no coordinate {name!r}; it has {', '.join(known) or 'none'}.{hint}")
    values: NDArray[Any] = assembly[name].values
    return values


def neuroid_names(assembly: xr.DataArray) -> NDArray[Any]:
    """Return the `neuroid_id` of an assembly's neuroids, or their positions without one."""
    if has_coordinate(assembly, Defaults.neuroid_coord):
        return coordinate(assembly, Defaults.neuroid_coord)
    return np.arange(assembly.sizes[Defaults.neuroid_dim])


def neuroid_order(target: xr.DataArray, neuroid_coord: str = Defaults.neuroid_coord) -> Indices:
    """Return the positions that sort the neuroids of an assembly by their key; as they are without a key."""
    if not has_coordinate(target, neuroid_coord):
        return np.arange(target.sizes.get(Defaults.neuroid_dim, 0))
    return np.argsort(coordinate(target, neuroid_coord), kind="stable")


def coords_along(assembly: xr.DataArray, dim: str) -> Coords:
    """Return the coordinates along one dimension as ``name -> (dim, values)``, ready for a constructor."""
    from brainscore_core.supported_data_standards.brainio.assemblies import walk_coords

    return {name: (dim, values) for name, dims, values in walk_coords(assembly) if tuple(dims) == (dim,)}


def matching_order(reference: ArrayLike, values: ArrayLike, *, what: str = "stimulus_id") -> Indices:
    """Find where each reference value occurs.

    Parameters
    ----------
    reference : array-like, shape (n,)
        Values in the wanted order, such as the `stimulus_id` of the target.
    values : array-like, shape (n,)
        The same values in any order. Where a value repeats, its first occurrence pairs with the first occurrence in
        `reference`, the second with the second.

    Returns
    -------
    ndarray of int, shape (n,)
        ``values[result] == reference``.

    Raises
    ------
    AssemblyError
        If the two do not hold the same values equally often; names some that do not match.
    """
    wanted = _comparable(reference)
    given = _comparable(values)
    wanted_order = np.argsort(wanted, kind="stable")
    given_order = np.argsort(given, kind="stable")
    if len(wanted) != len(given) or not np.array_equal(wanted[wanted_order], given[given_order]):
        raise AssemblyError(_mismatch(wanted, given, what))
    result = np.empty(len(wanted), dtype=np.intp)
    result[wanted_order] = given_order
    return result


def matrix(
    assembly: xr.DataArray, dims: Sequence[str], *, role: str, dtype: DTypeLike | None = np.float64
) -> NDArray[Any]:
    """Return the values of an assembly with its dimensions in a given order.

    Parameters
    ----------
    dtype : data type or None
        Of the result. None: as the assembly has it, without a copy, so that a memory map stays one.

    Raises
    ------
    AssemblyError
        If the assembly has other dimensions, or its values are no numbers.
    """
    if set(assembly.dims) != set(dims):
        raise AssemblyError(
            f"The {role} assembly has dimensions {tuple(assembly.dims)} of sizes {tuple(assembly.shape)}; expected "
            f"{tuple(dims)}. Select or average whatever other dimension there is (a time_bin of length one is dropped)."
        )
    values: NDArray[Any] = assembly.transpose(*dims).values
    wanted = dtype if dtype is not None or values.dtype.kind in "biuf" else np.float64
    if values.dtype.kind in "cSUMm":
        raise AssemblyError(f"The {role} assembly holds values of type {values.dtype}; expected real numbers.")
    return values if wanted is None else values.astype(wanted, copy=False)


@dataclass(frozen=True)
class Neuroids:
    """Which neuroids of a target can be compared."""

    used: NDArray[np.bool_]  # (n_neuroids,), False where responses are all NaN or constant
    names: NDArray[Any]  # (n_neuroids,), `neuroid_id`, or positions without one

    @property
    def attrs(self) -> Attrs:
        """Entries for ``Score.attrs``: how many neuroids count, and how many and which do not."""
        left_out = self.names[~self.used]
        entries: Attrs = {"n_neuroids": int(self.used.sum())}
        if len(left_out):
            entries["n_neuroids_left_out"] = len(left_out)
            entries["neuroids_left_out"] = [str(name) for name in left_out[:_NAMED]]
        return entries


def usable_neuroids(values: NDArray[Any] | ColumnBlocks, names: NDArray[Any], *, role: str = "target") -> Neuroids:
    """Decide which columns can be compared: not those that are NaN throughout or constant.

    Parameters
    ----------
    values : ndarray or ColumnBlocks, shape (n_presentations, n_neuroids)
        Read block by block.

    Raises
    ------
    AssemblyError
        If a neuroid has some NaN or infinite values but not only NaN, or if no neuroid is left.
    """
    n, q = values.shape
    empty, broken, constant = (np.zeros(q, dtype=bool) for _ in range(3))
    for here, block in ColumnBlocks.of(values).placed():
        if np.isfinite(block.sum(dtype=np.float64)):  # not so if any value is not, and needs no copy
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


def require_entries(given: object) -> None:
    """Raise an `AssemblyError` if what a metric was given is no assembly, or one without any values."""
    require_assembly(given)
    if not getattr(given, "size", 0):
        raise AssemblyError(
            f"There is nothing to compare: a metric was given {described(given)}. A selection has matched nothing; "
            "compare what it asks for with the values that there are."
        )


def require_assembly(given: object) -> None:
    """Raise an `AssemblyError` if what a metric was given is no assembly, such as a plain array."""
    if not hasattr(given, "coords"):
        raise AssemblyError(
            f"A metric was given {described(given)}; expected an assembly, which has names for its dimensions and "
            "coordinates. Label it: NeuroidAssembly(values, coords={'stimulus_id': ('presentation', [...]), "
            "'neuroid_id': ('neuroid', [...])}, dims=['presentation', 'neuroid'])."
        )


def _comparable(values: ArrayLike) -> NDArray[Any]:
    array = np.asarray(values)
    return array.astype(str) if array.dtype == object else array


def _mismatch(wanted: NDArray[Any], given: NDArray[Any], what: str) -> str:
    counts: dict[str, Mapping[object, int]] = {}
    for role, side in (("target", wanted), ("source", given)):
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
        f"Source ({len(given)}) and target ({len(wanted)}) do not hold the same {what}: {'; '.join(parts)}. "
        "Present exactly the stimuli of the target to the model and average repetitions on both sides."
    )


def _listing(values: Sequence[Any] | NDArray[Any]) -> str:
    shown = ", ".join(repr(str(value)) for value in list(values)[:_SHOWN])
    return shown + (", ..." if len(values) > _SHOWN else "")
