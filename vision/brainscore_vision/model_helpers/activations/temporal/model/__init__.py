"""Published plugins import this from here."""

from brainscore_vision.model_helpers.activations.temporal.extractor import ActivationWrapper
from brainscore_vision.model_helpers.activations.temporal.model.pytorch import PytorchWrapper

__all__ = ["ActivationWrapper", "PytorchWrapper"]
