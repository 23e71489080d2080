"""Hold the five registries that plugins assign their factories to.

Each maps an identifier to a factory: a function or class that builds the object anew at every load. The factories of
metrics take arguments, all others are called without. Assigning an identifier a second time replaces the factory, so a
notebook can register a model of its own and load it like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brainscore_core.benchmarks import Benchmark
    from brainscore_core.metrics import Ceiling, Metric
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.model_interface import BrainModel

__all__ = ["benchmark_registry", "data_registry", "metric_registry", "model_registry", "stimulus_set_registry"]

data_registry: dict[str, Callable[[], DataAssembly | Any]] = {}  # a plugin may register anything
stimulus_set_registry: dict[str, Callable[[], StimulusSet]] = {}
metric_registry: dict[str, Callable[..., Metric | Ceiling]] = {}
benchmark_registry: dict[str, Callable[[], Benchmark]] = {}
model_registry: dict[str, Callable[[], BrainModel]] = {}
