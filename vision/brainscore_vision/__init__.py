"""Score how brain-like models of vision are: load models, benchmarks, metrics and data by their identifiers.

Scoring and classes of the core are imported on first use, to keep this import fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import brainscore_core
from brainscore_vision.loading import (
    load_benchmark,
    load_ceiling,
    load_dataset,
    load_metric,
    load_model,
    load_stimulus_set,
)
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.registries import (
    benchmark_registry,
    data_registry,
    metric_registry,
    model_registry,
    stimulus_set_registry,
)

if TYPE_CHECKING:
    from brainscore_core import Benchmark, Ceiling, Metric, Score, __version__
    from brainscore_core.records.frames import compare, load_scores
    from brainscore_vision.scoring import score

__all__ = [
    "Benchmark",
    "BrainModel",
    "Ceiling",
    "Metric",
    "Score",
    "__version__",
    "benchmark_registry",
    "compare",
    "data_registry",
    "load_benchmark",
    "load_ceiling",
    "load_dataset",
    "load_metric",
    "load_model",
    "load_scores",
    "load_stimulus_set",
    "metric_registry",
    "model_registry",
    "score",
    "stimulus_set_registry",
]

_LATE = {
    "score": ("brainscore_vision.scoring", "score"),
    "_run_score": ("brainscore_vision.scoring", "run_score"),  # under its name in published plugins
    "compare": ("brainscore_core.records.frames", "compare"),
    "load_scores": ("brainscore_core.records.frames", "load_scores"),
}
# Published plugins use these after `import brainscore_vision` alone.
_SUBMODULES = frozenset({"benchmark_helpers", "benchmarks", "metric_helpers", "metrics", "model_helpers", "utils"})


def __getattr__(name: str) -> Any:  # a class or a module
    if name in _LATE:
        home, own = _LATE[name]
        return getattr(importlib.import_module(home), own)
    if name in __all__:
        return getattr(brainscore_core, name)
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
