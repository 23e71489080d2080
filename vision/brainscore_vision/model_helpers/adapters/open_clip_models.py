"""Read the properties of models of open_clip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brainscore_vision.model_helpers.adapters.adapted import classes_of, import_framework
from brainscore_vision.model_helpers.adapters.preprocessing import of_each_picture

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.batches import Preprocessing

__all__ = ["image_tower", "is_open_clip", "name", "preprocessing"]


def is_open_clip(model: object) -> bool:
    """Tell whether open_clip defines a module's class."""
    return classes_of(model, "open_clip")


def image_tower(model: Any) -> tuple[Any, str]:
    """Return the image tower of a model and its name; the model itself and ``''`` if it is the tower."""
    tower = getattr(model, "visual", None)
    return (model, "") if tower is None else (tower, "visual")


def name(model: Any) -> str:
    """Return the class of the image tower, such as ``'open_clip-VisionTransformer'``."""
    return f"open_clip-{type(image_tower(model)[0]).__name__}"


def preprocessing(model: Any) -> Preprocessing | None:
    """Return the preprocessing of open_clip for evaluation; None if the model has no configuration."""
    config = getattr(image_tower(model)[0], "preprocess_cfg", None)
    if not config:
        return None
    transform = import_framework("open_clip.transform", "A model of open_clip", "open_clip_torch")
    return of_each_picture(transform.image_transform_v2(transform.PreprocessCfg(**config), is_train=False))
