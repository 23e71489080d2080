"""Registries of the factories of plugins.

Each maps an identifier to a factory: a function or class that builds a new object at every load. Factories of
metrics take arguments, all others none. Assigning an identifier again replaces the factory, so a notebook can register
its own model. A plugin can assign only its own identifiers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from brainscore_core.plugin_management.owned_registry import OwnedRegistry

if TYPE_CHECKING:
    from pathlib import Path

    from brainscore_core.benchmarks import Benchmark
    from brainscore_core.metrics import Ceiling, Metric
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.model_interface import BrainModel

__all__ = ["benchmark_registry", "data_registry", "metric_registry", "model_registry", "stimulus_set_registry"]


def _owners(library: str, kind: str) -> dict[str, list[Path]]:
    from brainscore_core.plugin_management.index import owners  # start-up: needed when a plugin is imported

    return owners(library, kind)


_LIBRARY = "brainscore_vision"

data_registry: OwnedRegistry[Callable[[], DataAssembly | Any]]  # a plugin may register anything
data_registry = OwnedRegistry(_LIBRARY, "data", _owners)
stimulus_set_registry: OwnedRegistry[Callable[[], StimulusSet]] = OwnedRegistry(_LIBRARY, "stimulus_set", _owners)
metric_registry: OwnedRegistry[Callable[..., Metric | Ceiling]] = OwnedRegistry(_LIBRARY, "metric", _owners)
benchmark_registry: OwnedRegistry[Callable[[], Benchmark]] = OwnedRegistry(_LIBRARY, "benchmark", _owners)
model_registry: OwnedRegistry[Callable[[], BrainModel]] = OwnedRegistry(_LIBRARY, "model", _owners)
