"""Name the dimensions, coordinates and columns of the data that each class of assemblies requires."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

__all__ = [
    "EVENT",
    "FILENAME",
    "LEGACY_STIMULUS_ID",
    "NANS_EXPECTED",
    "NEUROID",
    "NEUROID_ID",
    "PATH_WITHIN_STORE",
    "PRESENTATION",
    "REPETITION",
    "STANDARDS",
    "STIMULUS_ID",
    "TIME_BIN",
    "TIME_BIN_END",
    "TIME_BIN_START",
    "AssemblyStandard",
    "standard_of",
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
"""`STIMULUS_ID` in old files."""
REPETITION = "repetition"
"""Coordinate on presentation: which repeat of the stimulus."""
NEUROID_ID = "neuroid_id"
"""Coordinate on neuroid: the key of the unit."""
TIME_BIN_START = "time_bin_start"
"""Coordinate on time_bin: left edge, ms after stimulus onset."""
TIME_BIN_END = "time_bin_end"
"""Coordinate on time_bin: right edge, ms after stimulus onset."""

FILENAME = "filename"
"""Column of a packaged stimulus set: name of the stimulus file within the archive."""
PATH_WITHIN_STORE = "stimulus_path_within_store"
"""Optional column: the same without its ending, instead of the stimulus_id."""
NANS_EXPECTED = "nans_expected"
"""Attribute of an assembly whose missing values belong to the data."""


@dataclass(frozen=True, kw_only=True)
class AssemblyStandard:
    """Requirements of a class of assemblies.

    Attributes
    ----------
    dims, optional_dims
        Required dimensions, in any order, and further allowed ones; ``dims`` of None allows any.
    coords
        Dimension -> coordinates that it must carry, if present.
    unique
        Coordinates whose values, together for each dimension, must not repeat.
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
                {PRESENTATION: (STIMULUS_ID,), NEUROID: (NEUROID_ID,), TIME_BIN: (TIME_BIN_START, TIME_BIN_END)}
            ),
            unique=(NEUROID_ID, TIME_BIN_START, TIME_BIN_END),
        ),
        "BehavioralAssembly": AssemblyStandard(coords=MappingProxyType({PRESENTATION: (STIMULUS_ID,)})),
        "PropertyAssembly": AssemblyStandard(),
        "MetadataAssembly": AssemblyStandard(),
        "SpikeTimesAssembly": AssemblyStandard(dims=(EVENT,)),
    }
)
"""Class name -> its requirements; others follow their nearest listed base."""


def standard_of(assembly_class: type) -> AssemblyStandard:
    """Return the requirements of a class of assemblies, if any."""
    named = (STANDARDS[kind.__name__] for kind in assembly_class.__mro__ if kind.__name__ in STANDARDS)
    return next(named, AssemblyStandard())
