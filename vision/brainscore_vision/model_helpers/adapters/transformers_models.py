"""Read the properties of models of transformers."""

from typing import Any

from brainscore_core.config import settings
from brainscore_vision.model_helpers.adapters.adapted import classes_of, import_framework
from brainscore_vision.model_helpers.adapters.preprocessing import ImageProcessor

__all__ = ["image_tower", "is_transformers", "name", "preprocessing", "readout_layer"]


def is_transformers(model: object) -> bool:
    """Tell whether transformers defines the class of a module and the module has a configuration."""
    return classes_of(model, "transformers") and hasattr(model, "config")


def image_tower(model: Any) -> tuple[Any, str]:
    """Return the image tower of a model and its name; the model itself and ``''`` for a model of images."""
    tower = getattr(model, "vision_model", None)
    return (model, "") if tower is None or not hasattr(model, "text_model") else (tower, "vision_model")


def name(model: Any) -> str:
    """Return the kind of model, such as ``'vit'``."""
    return str(getattr(model.config, "model_type", "") or type(model).__name__)


def preprocessing(model: Any) -> ImageProcessor | None:
    """Return the image processor saved with the weights, offline with ``BRAINSCORE_OFFLINE``; None without one."""
    source = getattr(model.config, "name_or_path", "")
    if not source:
        return None
    automatic = import_framework("transformers", "A model of transformers", "transformers")
    try:
        processor = automatic.AutoImageProcessor.from_pretrained(source, local_files_only=settings().offline)
    except (OSError, ValueError):  # no such file, or none for images
        return None
    return ImageProcessor(processor)


def readout_layer(model: Any) -> str | None:
    """Return the layer of the class scores; None without one."""
    return "classifier" if "ForImageClassification" in type(model).__name__ and hasattr(model, "classifier") else None
