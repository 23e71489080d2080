"""Hold stimuli and measurements in the formats that all benchmarks share.

- measurements: ``assemblies``, their vocabulary ``conventions``, functions on them ``transform``
- stimuli: ``stimuli``
- from data to files: ``packaging``; from S3 to data: ``s3``, ``fetch``, ``access`` (private data)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio import assemblies, fetch, packaging, s3, stimuli
    from brainscore_core.supported_data_standards.brainio.fetch import get_assembly, get_stimulus_set

__all__ = ["assemblies", "fetch", "get_assembly", "get_stimulus_set", "packaging", "s3", "stimuli"]

_FUNCTIONS = ("get_assembly", "get_stimulus_set")


def __getattr__(name: str) -> Any:
    # Importing the package needs neither xarray nor boto3 (PEP 562).
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(f"{__name__}.fetch"), name)
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it offers {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
