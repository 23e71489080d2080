"""Name the dimensions and coordinates of assemblies and say which of them each assembly class requires."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import xarray as xr

from brainscore_core.errors import nearest
from brainscore_core.supported_data_standards.brainio._index import coordinates

__all__ = [
    "EVENT",
    "LEGACY_STIMULUS_ID",
    "NEUROID",
    "NEUROID_ID",
    "PRESENTATION",
    "REPETITION",
    "STANDARDS",
    "STIMULUS_ID",
    "TIME_BIN",
    "TIME_BIN_END",
    "TIME_BIN_START",
    "AssemblyStandard",
    "check_assembly",
]

PRESENTATION = "presentation"
"""Dimension: one showing of one stimulus."""
NEUROID = "neuroid"
"""Dimension: one neuron, site, voxel or model unit."""
TIME_BIN = "time_bin"
"""Dimension: one window of time."""
EVENT = "event"
"""Dimension: one recorded spike."""

STIMULUS_ID = "stimulus_id"
"""Coordinate on presentation, a string: the key into the stimulus set."""
LEGACY_STIMULUS_ID = "image_id"
"""What old files call `STIMULUS_ID`."""
REPETITION = "repetition"
"""Coordinate on presentation: which repeat of the stimulus."""
NEUROID_ID = "neuroid_id"
"""Coordinate on neuroid: the key of the unit."""
TIME_BIN_START = "time_bin_start"
"""Coordinate on time_bin: left edge, ms after stimulus onset."""
TIME_BIN_END = "time_bin_end"
"""Coordinate on time_bin: right edge, ms after stimulus onset."""


@dataclass(frozen=True, kw_only=True)
class AssemblyStandard:
    """What a class of assemblies requires.

    Attributes
    ----------
    dims : tuple of str, or None
        Dimensions that must be there, in any order; None means that any are welcome.
    optional_dims : tuple of str
        Further dimensions that may be there. Without meaning when ``dims`` is None.
    coords : mapping of str to tuple of str
        Dimension -> coordinates that it must carry if the assembly has the dimension.
    unique : tuple of str
        Coordinates whose values must not repeat (together, per dimension, if there are several on one).
    """

    dims: tuple[str, ...] | None = None
    optional_dims: tuple[str, ...] = ()
    coords: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    unique: tuple[str, ...] = ()


STANDARDS: Mapping[str, AssemblyStandard] = MappingProxyType(
    {
        "DataAssembly": AssemblyStandard(),
        "NeuroidAssembly": AssemblyStandard(
            dims=(PRESENTATION, NEUROID),
            optional_dims=(TIME_BIN,),
            coords=MappingProxyType(
                {
                    PRESENTATION: (STIMULUS_ID,),
                    NEUROID: (NEUROID_ID,),
                    TIME_BIN: (TIME_BIN_START, TIME_BIN_END),
                }
            ),
            unique=(NEUROID_ID, TIME_BIN_START, TIME_BIN_END),
        ),
        "BehavioralAssembly": AssemblyStandard(coords=MappingProxyType({PRESENTATION: (STIMULUS_ID,)})),
        "PropertyAssembly": AssemblyStandard(),
        "MetadataAssembly": AssemblyStandard(),
        "SpikeTimesAssembly": AssemblyStandard(dims=(EVENT,)),
    }
)
"""Class name -> what it requires; a class that is not listed follows the nearest class that it derives from."""


def check_assembly(assembly: xr.DataArray, *, allow_nan: bool = True) -> list[str]:
    """Return every way in which an assembly breaks the standard of its class; see `conventions`.

    Parameters
    ----------
    assembly : xr.DataArray
        Of a class in `STANDARDS`, or derived from one; any other array may be anything.
    allow_nan : bool
        Whether missing values are fine.
    """
    standard = next(STANDARDS[kind.__name__] for kind in type(assembly).__mro__ if kind.__name__ in STANDARDS)
    problems = _check_dims(assembly, standard)
    for dim, names in standard.coords.items():
        if dim in assembly.dims:
            problems += [problem for name in names for problem in _check_coordinate(assembly, dim, name)]
    problems += _check_unique(assembly, standard)
    problems += _check_bins(assembly)
    if not allow_nan:
        missing = int(assembly.isnull().values.sum())
        if missing:
            problems.append(f"{missing} of {assembly.size} values are missing (NaN); none may be.")
    return problems


def _check_dims(assembly: xr.DataArray, standard: AssemblyStandard) -> list[str]:
    problems = []
    if len(set(assembly.dims)) < len(assembly.dims):
        problems.append(f"A dimension occurs twice in {assembly.dims}.")
    if standard.dims is None:
        return problems
    problems += [
        f"The dimension {dim!r} is absent; there are {assembly.dims}."
        for dim in standard.dims
        if dim not in assembly.dims
    ]
    allowed = (*standard.dims, *standard.optional_dims)
    unknown = [str(dim) for dim in assembly.dims if dim not in allowed]
    problems += [f"The dimension {dim!r} has no place here; expected {' x '.join(allowed)}." for dim in unknown]
    return problems


def _check_coordinate(assembly: xr.DataArray, dim: str, name: str) -> list[str]:
    if name not in assembly.coords:
        close = nearest(name, [str(coord) for coord in assembly.coords])
        hint = f" (is it {close[0]!r}?)" if close else ""
        return [f"The coordinate {name!r} along {dim!r} is absent{hint}."]
    if assembly.coords[name].dims != (dim,):
        return [f"The coordinate {name!r} lies along {assembly.coords[name].dims}; expected ({dim!r},)."]
    values = coordinates.values_of(assembly, name)
    missing = int(np.asarray(xr.DataArray(values).isnull()).sum())
    if missing:
        return [f"The coordinate {name!r} has {missing} missing values."]
    if name == "stimulus_id" and values.size and not isinstance(values.flat[0], str):
        return [f"The coordinate 'stimulus_id' holds {values.dtype}; expected text, such as {str(values.flat[0])!r}."]
    return []


def _check_unique(assembly: xr.DataArray, standard: AssemblyStandard) -> list[str]:
    problems = []
    for dim in assembly.dims:
        names = [name for name in standard.unique if name in assembly.coords and assembly.coords[name].dims == (dim,)]
        if not names or not assembly.sizes[dim]:
            continue
        groups, first = coordinates.group_codes(assembly, names)
        if len(first) < len(groups):
            example = tuple(
                coordinates.values_of(assembly, name)[np.bincount(groups).argmax() == groups][0] for name in names
            )
            problems.append(
                f"{len(groups) - len(first)} entries along {dim!r} repeat the {', '.join(names)} of another, such as "
                f"{', '.join(str(value) for value in example)}."
            )
    return problems


def _check_bins(assembly: xr.DataArray) -> list[str]:
    names = ("time_bin_start", "time_bin_end")
    if not all(name in assembly.coords and assembly.coords[name].dims == ("time_bin",) for name in names):
        return []
    start, end = (coordinates.values_of(assembly, name) for name in names)
    wrong = np.flatnonzero(~(start < end))
    return [f"Time bin {start[at]} to {end[at]} ms does not end after it starts." for at in wrong[:1]]
