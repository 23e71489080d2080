"""Read the properties of models of timm."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from brainscore_vision.model_helpers.adapters.adapted import classes_of, import_framework
from brainscore_vision.model_helpers.adapters.preprocessing import of_each_picture

if TYPE_CHECKING:
    from PIL import Image

    from brainscore_vision.model_helpers.activations.batches import Preprocessing

__all__ = ["is_timm", "layers", "name", "preprocessing", "readout_layer", "transform"]


def is_timm(model: object) -> bool:
    """Tell whether timm defines a module's class and describes its pretraining."""
    return classes_of(model, "timm") and bool(getattr(model, "pretrained_cfg", None))


def name(model: Any) -> str:
    """Return the name of the architecture, such as ``'resnet18'``."""
    return str(model.pretrained_cfg.get("architecture") or type(model).__name__)


def preprocessing(model: Any) -> Preprocessing:
    """Return timm's preprocessing for evaluation, see `transform`."""
    return of_each_picture(transform(model))


def transform(model: Any) -> Callable[[Image.Image], Any]:
    """Return timm's transform for evaluation, by ``pretrained_cfg`` and the model's size."""
    data = import_framework("timm.data", "A model of timm", "timm")
    config = data.resolve_model_data_config(model)
    size = getattr(getattr(model, "patch_embed", None), "img_size", None)
    if size is not None:
        config["input_size"] = (config["input_size"][0], *size)
    evaluation: Callable[[Image.Image], Any] = data.create_transform(**config, is_training=False)
    return evaluation


def layers(model: Any) -> list[str]:
    """Return the stages in timm's ``feature_info``, from early to late; empty if it has none."""
    info = getattr(model, "feature_info", None) or []
    entries = info if isinstance(info, list) else getattr(info, "info", [])
    modules = {module for module, _ in model.named_modules()}
    return [entry["module"] for entry in entries if entry.get("module") in modules]


def readout_layer(model: Any) -> str | None:
    """Return the layer of the class scores; None without one."""
    classifier = model.pretrained_cfg.get("classifier")
    if not isinstance(classifier, str) or not getattr(model, "num_classes", 0):
        return None
    return classifier
