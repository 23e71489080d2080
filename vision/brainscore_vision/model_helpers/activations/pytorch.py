"""Published plugins import this from here."""

from brainscore_vision.model_helpers.activations.cache.switches import disable_activation_caching
from brainscore_vision.model_helpers.activations.images import (
    load_image,
    load_images,
    load_preprocess_images,
    preprocess_images,
)
from brainscore_vision.model_helpers.activations.module_wrapper import PytorchWrapper
from brainscore_vision.model_helpers.activations.tensors import InputShapeError

__all__ = [
    "InputShapeError",
    "PytorchWrapper",
    "disable_activation_caching",
    "load_image",
    "load_images",
    "load_preprocess_images",
    "preprocess_images",
]
