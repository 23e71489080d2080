"""Gather the checks of stimulus sets and assemblies; every check returns what is wrong as a list of problems."""

from __future__ import annotations

from brainscore_core.supported_data_standards.brainio._assembly_checks import (
    NANS_EXPECTED,
    check_alignment,
    check_assembly,
    check_repetitions,
    check_time_bins,
    check_units,
    check_values,
)
from brainscore_core.supported_data_standards.brainio._problems import Problem
from brainscore_core.supported_data_standards.brainio._stimulus_checks import (
    FILENAME,
    PATH_WITHIN_STORE,
    check_identifier,
    check_stimulus_columns,
    check_stimulus_files,
    check_stimulus_ids,
    check_stimulus_set,
    check_store_paths,
)

__all__ = [
    "FILENAME",
    "NANS_EXPECTED",
    "PATH_WITHIN_STORE",
    "Problem",
    "check_alignment",
    "check_assembly",
    "check_identifier",
    "check_repetitions",
    "check_stimulus_columns",
    "check_stimulus_files",
    "check_stimulus_ids",
    "check_stimulus_set",
    "check_store_paths",
    "check_time_bins",
    "check_units",
    "check_values",
]
