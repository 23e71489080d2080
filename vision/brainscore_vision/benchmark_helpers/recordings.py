"""Prepare recordings for comparison: time bins, reliable neuroids, attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import walk_coords

__all__ = [
    "apply_keep_attrs",
    "filter_reliable_neuroids",
    "flatten_timebins_into_neuroids",
    "squeeze_single_timebin",
    "timebins_from_assembly",
]


def timebins_from_assembly(assembly: Any) -> list[tuple[Any, Any]]:
    """Return the windows of an assembly.

    Parameters
    ----------
    assembly : NeuroidAssembly
        With ``time_bin`` as a dim, or as what is left of it after `squeeze`.

    Returns
    -------
    list of (start, end)
        In ms after stimulus onset.

    Raises
    ------
    KeyError
        If the assembly has no time bins.
    """
    if "time_bin_start" in assembly.coords and "time_bin_end" in assembly.coords:
        starts, ends = (np.atleast_1d(assembly[name].values) for name in ("time_bin_start", "time_bin_end"))
        return [(_plain(start), _plain(end)) for start, end in zip(starts, ends, strict=True)]
    if "time_bin" not in assembly.coords:
        raise KeyError(
            "The assembly has no time_bin: expected the coordinates time_bin_start and time_bin_end. "
            f"It has {list(assembly.coords)}."
        )
    bins = assembly["time_bin"].values
    pairs = [bins.item()] if bins.ndim == 0 else list(bins)
    return [(_plain(start), _plain(end)) for start, end in pairs]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def squeeze_single_timebin(assembly: Any) -> Any:
    """Take a time bin of length one away; an assembly with none or several passes as it is.

    Parameters
    ----------
    assembly : NeuroidAssembly
        Any dims.

    Returns
    -------
    NeuroidAssembly
        Without the dim ``time_bin`` if that has length one.
    """
    if "time_bin" in assembly.dims and assembly.sizes["time_bin"] == 1:
        return assembly.squeeze("time_bin")
    return assembly


def filter_reliable_neuroids(assembly: Any, reliab_threshold: float, reliab_coord: str) -> Any:
    """Keep the neuroids that are reliable enough.

    Parameters
    ----------
    assembly : NeuroidAssembly
        Any dims; the coordinate lies on one of them.
    reliab_threshold : float
        Kept are entries strictly above it.
    reliab_coord : str
        Coordinate that holds the reliability.

    Returns
    -------
    NeuroidAssembly
        Same class, dtype and attributes, fewer neuroids.

    Raises
    ------
    AssemblyError
        If none is left.
    """
    reliability = assembly[reliab_coord]
    (dim,) = reliability.dims
    kept = np.flatnonzero(np.asarray(reliability.values, dtype=float) > reliab_threshold)
    if not len(kept):
        raise AssemblyError(
            f"No neuroid has {reliab_coord!r} above {reliab_threshold}: the highest of {reliability.size} is "
            f"{np.nanmax(np.asarray(reliability.values, dtype=float))}. Lower the threshold."
        )
    return assembly[{dim: kept}]


def flatten_timebins_into_neuroids(assembly: Any) -> Any:
    """Treat every pair of neuroid and time bin as a neuroid of its own.

    Parameters
    ----------
    assembly : NeuroidAssembly
        Dims (presentation, neuroid, time_bin), in this order.

    Returns
    -------
    NeuroidAssembly
        Dims (presentation, neuroid, time_bin) of shape (P, N * T, 1); the time bin runs fastest. Neuroids have
        ``recording_time``, the start of their bin; the one time bin spans from the first start to the last end.

    Raises
    ------
    AssemblyError
        If the dims are others.
    """
    expected = ("presentation", "neuroid", "time_bin")
    if tuple(assembly.dims) != expected:
        raise AssemblyError(f"The dims are {tuple(assembly.dims)}; expected {expected}. Use assembly.transpose(*dims).")
    bins = timebins_from_assembly(assembly)
    n_neuroids, n_bins = assembly.sizes["neuroid"], len(bins)
    coords: dict[str, Any] = {}
    for name, dims, values in walk_coords(assembly):
        if dims == ("presentation",):
            coords[name] = (dims, values)
        elif dims == ("neuroid",):
            coords[name] = (dims, np.repeat(values, n_bins))
    coords["recording_time"] = ("neuroid", np.tile([start for start, _ in bins], n_neuroids))
    coords["time_bin_start"] = ("time_bin", [bins[0][0]])
    coords["time_bin_end"] = ("time_bin", [bins[-1][1]])
    values = np.asarray(assembly.values).reshape(assembly.sizes["presentation"], n_neuroids * n_bins, 1)
    return type(assembly)(values, coords=coords, dims=expected, attrs=dict(assembly.attrs))


def apply_keep_attrs(assembly: Any, fnc: Callable[[Any], Any]) -> Any:
    """Return ``fnc(assembly)`` with the attributes of the assembly.

    Parameters
    ----------
    assembly : assembly
        What to change.
    fnc : callable
        Takes and returns an assembly; may lose the attributes on the way.

    Returns
    -------
    assembly
        The attributes are a copy of those of the input.
    """
    result = fnc(assembly)
    result.attrs = dict(assembly.attrs)
    return result
