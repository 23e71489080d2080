"""Published plugins import this from here."""

from brainscore_vision.model_helpers.activations.extractor import ActivationsExtractorHelper
from brainscore_vision.model_helpers.activations.hooks import HookHandle
from brainscore_vision.model_helpers.activations.packaging import attach_stimulus_set_meta

__all__ = ["ActivationsExtractorHelper", "HookHandle", "attach_stimulus_set_meta"]
