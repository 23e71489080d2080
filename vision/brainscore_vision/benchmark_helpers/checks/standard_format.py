"""The standard format of recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["check_standard_format"]


def check_standard_format(assembly: xr.DataArray, nans_expected: bool = False) -> None:
    """Raise `AssemblyError` with all problems unless recordings have the standard format.

    It has at least dims (presentation, neuroid), ``stimulus_id`` on presentation, ``neuroid_id`` on neuroid and the
    attribute ``stimulus_set_identifier``.
    """
    problems = []
    if not isinstance(assembly, NeuroidAssembly):
        problems.append(f"it is a {type(assembly).__name__}, expected a NeuroidAssembly")
    dims = tuple(getattr(assembly, "dims", ()))
    missing = [dim for dim in ("presentation", "neuroid") if dim not in dims]
    if missing:
        problems.append(f"its dims {dims} lack {missing}")
    problems += [
        f"it has no coordinate {name!r}; expected it on dim {dim!r}"
        for dim, name in (("presentation", "stimulus_id"), ("neuroid", "neuroid_id"))
        if not hasattr(assembly, name)
    ]
    if not nans_expected and dims:
        n_missing = int(np.isnan(np.asarray(assembly.values, dtype=float)).sum())
        if n_missing:
            problems.append(f"{n_missing} of its {assembly.size} values are NaN; drop them or pass nans_expected=True")
    if not getattr(assembly, "attrs", {}).get("stimulus_set_identifier"):
        problems.append("it has no attribute 'stimulus_set_identifier'")
    if problems:
        raise AssemblyError("The assembly is not in the standard format: " + "; ".join(problems) + ".")
