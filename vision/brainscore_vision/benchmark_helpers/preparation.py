"""Prepare recordings for comparison: keep reliable neuroids, treat time bins as neuroids, keep attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import xarray as xr

from brainscore_core.errors import AssemblyError
from brainscore_vision.benchmark_helpers.recordings import timebins_from_assembly
from brainscore_vision.metric_helpers.labelled.alignment import coords_along

__all__ = ["apply_keep_attrs", "filter_reliable_neuroids", "flatten_timebins_into_neuroids"]

Array = TypeVar("Array", bound=xr.DataArray)


def filter_reliable_neuroids(assembly: Array, reliab_threshold: float, reliab_coord: str) -> Array:
    """Keep the neuroids with a reliability strictly above a threshold; `AssemblyError` if none is left.

    Returns
    -------
    NeuroidAssembly
        Same class, dtype and attributes, fewer neuroids.
    """
    (dim,) = assembly[reliab_coord].dims
    reliability = np.asarray(assembly[reliab_coord].values, dtype=float)
    kept = np.flatnonzero(reliability > reliab_threshold)
    if not len(kept):
        raise AssemblyError(
            f"No neuroid has {reliab_coord!r} above {reliab_threshold}: the highest of {reliability.size} is "
            f"{np.nanmax(reliability)}. Lower the threshold."
        )
    return assembly[{dim: kept}]


def flatten_timebins_into_neuroids(assembly: Array) -> Array:
    """Treat every pair of neuroid and time bin as a neuroid of its own; dims have to be those of the result.

    Returns
    -------
    NeuroidAssembly
        Dims (presentation, neuroid, time_bin) of shape (P, N * T, 1); the time bin runs fastest. Neuroids have
        ``recording_time``, the start of their bin; the one time bin spans from the first start to the last end.
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


def apply_keep_attrs(assembly: Array, fnc: Callable[[Array], Array]) -> Array:
    """Return ``fnc(assembly)`` with a copy of the attributes of the assembly."""
    result = fnc(assembly)
    result.attrs = dict(assembly.attrs)
    return result
