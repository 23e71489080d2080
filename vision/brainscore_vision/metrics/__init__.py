"""State the contract of metrics; each folder is the plugin of a family of metrics.

Unless a metric's module or class says otherwise:

- Input: source is the model, target the measurement: assemblies of the same stimuli in any order, dims (presentation,
  neuroid), with `stimulus_id` and `neuroid_id`. A `time_bin` of length one is dropped. Coordinates that are named
  belong to presentation.
- Output: a 0-d Score. Attrs: ``quantity``; ``raw``, the values it summarises; ``error``, a standard error over new
  stimuli and new target neuroids, or over what ``error_over`` names, with its 95 % ``interval`` and ``influence``, or
  NaN with ``error_nan_reason``; ``split_error``, over splits; counts such as ``n_stimuli`` and ``n_neuroids``; the
  ``seed`` of draws. ``neuroids_left_out`` names target neuroids that do not count, being constant or NaN throughout.
- `AssemblyError` is raised if stimuli differ or are too few, a dimension or coordinate is missing, or values are NaN or
  infinite otherwise.
- `crossvalidation_kwargs` are the arguments of `CrossValidation`: by default 10 splits with 90 % training stimuli,
  stratified by `object_name`. `backend` is where to compute, such as ``'torch:cuda'``; None: the setting.
  `repetition_coord` names the coordinate that numbers repetitions.
- ``compat=True`` gives the published number where ours differs on purpose;
  ``docs/explanation/published_differences.md`` says where and why.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brainscore_core.metrics import Ceiling, Metric, Score

__all__ = ["Ceiling", "Metric", "Score"]


def __getattr__(name: str) -> Any:  # a class or a function
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("brainscore_core.metrics"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
