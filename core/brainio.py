"""Older tutorials and plugins import data standards from here, under the name of the package that these come from.

``brainio.assemblies``, ``brainio.fetch``, ``brainio.packaging``, ``brainio.s3``, ``brainio.stimuli`` and
``brainio.transform`` are the modules of `brainscore_core.supported_data_standards.brainio`.

It is one module because it must share no file with the PyPI package, which Python finds first if both are installed.
"""

import sys

from brainscore_core.supported_data_standards.brainio import (
    assemblies,
    fetch,
    get_assembly,
    get_stimulus_set,
    packaging,
    s3,
    stimuli,
    transform,
)

__all__ = ["assemblies", "fetch", "get_assembly", "get_stimulus_set", "packaging", "s3", "stimuli", "transform"]

for _module in (assemblies, fetch, packaging, s3, stimuli, transform):
    sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module
