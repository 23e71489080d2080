"""Check data before packaging, for published code; packaging makes the same checks and raises the same errors.

A table with only ``stimulus_id`` passes. The types of a column shared by stimulus set and assembly may differ: the
assembly's values count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brainscore_core.errors import ValidationError
from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_core.validation.assemblies import check_alignment, check_assembly
from brainscore_core.validation.problem import Problem, raise_errors
from brainscore_core.validation.standards import AssemblyStandard, standard_of
from brainscore_core.validation.stimuli import check_stimulus_set

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = [
    "ValidationError",
    "validate_assembly",
    "validate_assembly_only",
    "validate_packaging_data",
    "validate_stimulus_set",
    "validate_stimulus_set_assembly_compatibility",
    "validate_stimulus_set_only",
]


def validate_stimulus_set(stimulus_set: pd.DataFrame, identifier: str = "stimulus_set") -> bool:
    """Return True if a stimulus set can be packaged; otherwise raise a `ValidationError` that lists all problems."""
    return _valid(check_stimulus_set(stimulus_set), identifier)


def validate_assembly(assembly: xr.DataArray, identifier: str = "assembly") -> bool:
    """Return True if an assembly can be packaged; otherwise raise a `ValidationError` that lists all problems.

    Arrays of a class without its own standard are judged like a `BehavioralAssembly`: presentations need a
    ``stimulus_id``.
    """
    return _valid(_assembly_problems(assembly), identifier)


def validate_stimulus_set_assembly_compatibility(stimulus_set: pd.DataFrame, assembly: xr.DataArray) -> bool:
    """Return True if a stimulus set has every ``stimulus_id`` of an assembly; otherwise raise a `ValidationError`."""
    return _valid(check_alignment(assembly, stimulus_set), "assembly and stimulus_set")


def validate_packaging_data(
    stimulus_set: pd.DataFrame,
    assembly: xr.DataArray,
    stimulus_set_identifier: str = "stimulus_set",
    assembly_identifier: str = "assembly",
) -> bool:
    """Return True if a stimulus set and an assembly can be packaged and match; otherwise raise a `ValidationError`."""
    parts = [
        (stimulus_set_identifier, check_stimulus_set(stimulus_set)),
        (assembly_identifier, _assembly_problems(assembly)),
        (assembly_identifier, check_alignment(assembly, stimulus_set)),
    ]
    problems = [problem.within(identifier) for identifier, part_problems in parts for problem in part_problems]
    return _valid(problems, f"{stimulus_set_identifier} and {assembly_identifier}")


validate_stimulus_set_only, validate_assembly_only = validate_stimulus_set, validate_assembly


def _assembly_problems(assembly: xr.DataArray) -> list[Problem]:
    has_standard = standard_of(type(assembly)) != AssemblyStandard()
    return check_assembly(assembly if has_standard else BehavioralAssembly(assembly))


def _valid(problems: list[Problem], identifier: str) -> bool:
    raise_errors(problems, ValidationError, f"{identifier} cannot be packaged")
    return True
