"""Offer the names of the data standard, the requirements of each class of assemblies, and their check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brainscore_core.validation.assemblies import check_missing, check_standard
from brainscore_core.validation.standards import (
    EVENT,
    LEGACY_STIMULUS_ID,
    NEUROID,
    NEUROID_ID,
    PRESENTATION,
    REPETITION,
    STANDARDS,
    STIMULUS_ID,
    TIME_BIN,
    TIME_BIN_END,
    TIME_BIN_START,
    AssemblyStandard,
)

if TYPE_CHECKING:
    import xarray as xr

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


def check_assembly(assembly: xr.DataArray, *, allow_nan: bool = True) -> list[str]:
    """Return all problems of an assembly as sentences, by the standard of its class in `STANDARDS`."""
    problems = check_standard(assembly) + ([] if allow_nan else check_missing(assembly))
    return [f"{problem.what[:1].upper()}{problem.what[1:]}." for problem in problems]
