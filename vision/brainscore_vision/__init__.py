"""Score how brain-like models of vision are: load models, benchmarks, metrics and data by their identifiers.

This is the front door. The five registries are here at once; every other name is loaded when it is first used, so that
importing the package stays fast and a plugin can import it while it is itself being imported.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from brainscore_vision.registries import (
    benchmark_registry,
    data_registry,
    metric_registry,
    model_registry,
    stimulus_set_registry,
)

if TYPE_CHECKING:
    from brainscore_core import __version__ as __version__
    from brainscore_core.benchmarks import Benchmark as Benchmark
    from brainscore_core.metrics import Ceiling as Ceiling
    from brainscore_core.metrics import Metric as Metric
    from brainscore_core.metrics import Score as Score
    from brainscore_vision.loading import load_benchmark as load_benchmark
    from brainscore_vision.loading import load_ceiling as load_ceiling
    from brainscore_vision.loading import load_dataset as load_dataset
    from brainscore_vision.loading import load_metric as load_metric
    from brainscore_vision.loading import load_model as load_model
    from brainscore_vision.loading import load_stimulus_set as load_stimulus_set
    from brainscore_vision.model_interface import BrainModel as BrainModel
    from brainscore_vision.scoring import _run_score as _run_score
    from brainscore_vision.scoring import score as score

__all__ = [
    "Benchmark",
    "BrainModel",
    "Ceiling",
    "Metric",
    "Score",
    "__version__",
    "benchmark_registry",
    "data_registry",
    "load_benchmark",
    "load_ceiling",
    "load_dataset",
    "load_metric",
    "load_model",
    "load_stimulus_set",
    "metric_registry",
    "model_registry",
    "score",
    "stimulus_set_registry",
]

_HOME_OF = {
    "Benchmark": "brainscore_core.benchmarks",
    "BrainModel": "brainscore_vision.model_interface",
    "Ceiling": "brainscore_core.metrics",
    "Metric": "brainscore_core.metrics",
    "Score": "brainscore_core.metrics",
    "__version__": "brainscore_core",
    "_run_score": "brainscore_vision.scoring",
    "load_benchmark": "brainscore_vision.loading",
    "load_ceiling": "brainscore_vision.loading",
    "load_dataset": "brainscore_vision.loading",
    "load_metric": "brainscore_vision.loading",
    "load_model": "brainscore_vision.loading",
    "load_stimulus_set": "brainscore_vision.loading",
    "score": "brainscore_vision.scoring",
}

# Plugins written for the published system reach these through `import brainscore_vision` alone.
_SUBMODULES = frozenset(
    {"benchmark_helpers", "benchmarks", "metric_helpers", "metrics", "model_helpers", "model_interface", "utils"}
)


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
