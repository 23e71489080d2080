"""Older tutorials import the library from here: ``brainscore`` is `brainscore_vision` under its first name.

``brainscore.benchmarks``, ``brainscore.metrics``, ``brainscore.model_interface``, ``brainscore.utils``, and below them
the modules that these tutorials name, are today's modules.
"""

import sys

from brainscore_vision import (
    benchmarks,
    load_benchmark,
    load_ceiling,
    load_dataset,
    load_metric,
    load_model,
    load_stimulus_set,
    metrics,
    model_interface,
    score,
    utils,
)
from brainscore_vision.benchmark_helpers import screen
from brainscore_vision.metrics.i1i2 import metric as image_level_behavior

__all__ = [
    "benchmarks",
    "get_assembly",
    "get_stimulus_set",
    "load_benchmark",
    "load_ceiling",
    "load_dataset",
    "load_metric",
    "load_model",
    "load_stimulus_set",
    "metrics",
    "model_interface",
    "score",
    "utils",
]

get_assembly, get_stimulus_set = load_dataset, load_stimulus_set

_MODULES = {
    "benchmarks": benchmarks,
    "benchmarks.screen": screen,
    "metrics": metrics,
    "metrics.image_level_behavior": image_level_behavior,
    "model_interface": model_interface,
    "utils": utils,
}
for _name, _module in _MODULES.items():
    sys.modules[f"{__name__}.{_name}"] = _module
