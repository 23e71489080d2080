"""Published plugins import this from here."""

from brainscore_vision.model_helpers.activations.temporal.executor import BatchExecutor
from brainscore_vision.model_helpers.activations.temporal.extractor import ActivationsExtractor
from brainscore_vision.model_helpers.activations.temporal.inferencers import (
    BlockInferencer,
    CausalInferencer,
    Inferencer,
    TemporalInferencer,
)

__all__ = [
    "ActivationsExtractor",
    "BatchExecutor",
    "BlockInferencer",
    "CausalInferencer",
    "Inferencer",
    "TemporalInferencer",
]
