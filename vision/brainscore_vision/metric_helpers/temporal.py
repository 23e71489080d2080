"""Published plugins import this from here: operations on time bins (`labelled.slices`) and regressions over them."""

from brainscore_vision.metric_helpers.labelled.slices import (
    PerNeuroid,
    PerOps,
    PerPresentation,
    PerTime,
    SpanOps,
    SpanTime,
)
from brainscore_vision.metric_helpers.regression.on_assemblies import (
    PerTimeRegression,
    SpanTimeRegression,
    average_over_presentation,
)

__all__ = [
    "PerNeuroid",
    "PerOps",
    "PerPresentation",
    "PerTime",
    "PerTimeRegression",
    "SpanOps",
    "SpanTime",
    "SpanTimeRegression",
    "average_over_presentation",
]
