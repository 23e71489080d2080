"""Prepare recordings."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import xarray as xr

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import walk_coords
from brainscore_vision.benchmark_helpers.recordings.recording import timebins_from_assembly
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, coords_along

__all__ = ["apply_keep_attrs", "filter_reliable_neuroids", "flatten_timebins_into_neuroids", "name_neuroids_apart"]

Array = TypeVar("Array", bound=xr.DataArray)


def filter_reliable_neuroids(assembly: Array, reliab_threshold: float, reliab_coord: str) -> Array:
    """Keep neuroids with a reliability above a threshold; `AssemblyError` if there are none."""
    (dim,) = assembly[reliab_coord].dims
    reliability = np.asarray(assembly[reliab_coord].values, dtype=float)
    reliable = np.flatnonzero(reliability > reliab_threshold)
    if not len(reliable):
        raise AssemblyError(
            f"No neuroid has {reliab_coord!r} above {reliab_threshold}: the highest of {reliability.size} is "
            f"{np.nanmax(reliability)}. Lower the threshold."
        )
    return assembly[{dim: reliable}]


def flatten_timebins_into_neuroids(assembly: Array) -> Array:
    """Treat every pair of neuroid and time bin as a neuroid.

    Dims stay (presentation, neuroid, time_bin); the shape becomes (P, N * T, 1), time bins running fastest. Neuroids
    have ``recording_time``, the start of their bin; the one time bin spans them all.
    """
    expected = ("presentation", "neuroid", "time_bin")
    if tuple(assembly.dims) != expected:
        raise AssemblyError(f"The dims are {tuple(assembly.dims)}; expected {expected}. Use assembly.transpose(*dims).")
    bins = timebins_from_assembly(assembly)
    n_neuroids, n_bins = assembly.sizes["neuroid"], len(bins)
    repeated = coords_along(assembly, "neuroid").items()
    coords = coords_along(assembly, "presentation")
    coords |= {name: (dim, np.repeat(values, n_bins)) for name, (dim, values) in repeated}
    coords["recording_time"] = ("neuroid", np.tile([start for start, _ in bins], n_neuroids))
    coords["time_bin_start"] = ("time_bin", np.array([bins[0][0]]))
    coords["time_bin_end"] = ("time_bin", np.array([bins[-1][1]]))
    values = np.asarray(assembly.values).reshape(assembly.sizes["presentation"], n_neuroids * n_bins, 1)
    return type(assembly)(values, coords=coords, dims=expected, attrs=dict(assembly.attrs))


def name_neuroids_apart(assembly: Array, by: str = "subject") -> Array:
    """Rename neuroids ``<subject>/<neuroid_id>`` unless their ids are unique; values are not copied.

    `by` is the coordinate within which ``neuroid_id`` is unique; `AssemblyError` if it is not.
    """
    ids, groups = (coordinate(assembly, name).astype(str) for name in ("neuroid_id", by))
    if len(np.unique(ids)) == len(ids):
        return assembly
    names = np.char.add(np.char.add(groups, "/"), ids)
    repeated = len(names) - len(np.unique(names))
    if repeated:
        raise AssemblyError(f"{repeated} neuroids have the neuroid_id of another also within one {by!r}; rename them.")
    coords = {name: (dims, values) for name, dims, values in walk_coords(assembly)}
    coords["neuroid_id"] = (assembly["neuroid_id"].dims, names)
    return type(assembly)(assembly.values, coords=coords, dims=assembly.dims, attrs=dict(assembly.attrs))


def apply_keep_attrs(assembly: Array, fnc: Callable[[Array], Array]) -> Array:
    """Return ``fnc(assembly)`` with a copy of the assembly's attributes."""
    result = fnc(assembly)
    result.attrs = dict(assembly.attrs)
    return result
