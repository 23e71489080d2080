"""Say what transformers knows about its models: preprocessing, classifier, name, and the tower for images."""

from __future__ import annotations

from typing import Any

from brainscore_core.config import settings
from brainscore_vision.model_helpers.adapters.adapted import classes_of, import_framework
from brainscore_vision.model_helpers.adapters.preprocessing import ImageProcessor

__all__ = ["image_tower", "is_transformers", "name", "preprocessing", "readout_layer"]


def is_transformers(model: object) -> bool:
    """Tell whether transformers defines the class of a module and the module has a configuration."""
    return classes_of(model, "transformers") and hasattr(model, "config")


def image_tower(model: Any) -> tuple[Any, str]:
    """Return the part that takes images, and its name in the whole; of a model for images the model, and ``''``."""
    tower = getattr(model, "vision_model", None)
    return (model, "") if tower is None or not hasattr(model, "text_model") else (tower, "vision_model")


def name(model: Any) -> str:
    """Return the kind of model, such as ``'vit'``."""
    return str(getattr(model.config, "model_type", "") or type(model).__name__)


def preprocessing(model: Any) -> ImageProcessor | None:
    """Return the image processor that was saved beside the weights; None if there is none.

    It is looked for where the weights were loaded from (``config.name_or_path``), on the hub only if that is where they
    came from and ``BRAINSCORE_OFFLINE`` is not set.
    """
    source = getattr(model.config, "name_or_path", "")
    if not source:
        return None
    automatic = import_framework("transformers", "A model of transformers", "transformers")
    try:
        processor = automatic.AutoImageProcessor.from_pretrained(source, local_files_only=settings().offline)
    except (OSError, ValueError):  # transformers: there is no such file, or none for images
        return None
    return ImageProcessor(processor)


def readout_layer(model: Any) -> str | None:
    """Return the layer of the class scores; None for a model without."""
    return "classifier" if "ForImageClassification" in type(model).__name__ and hasattr(model, "classifier") else None
