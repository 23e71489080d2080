"""Networks in plain PyTorch whose parameters have the names and shapes of published checkpoints.

See `brainscore_vision.model_helpers.weights.load_weights`.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from torch import nn

__all__ = ["ARCHITECTURES", "CORNET_STEPS_MS"]

CORNET_STEPS_MS = {"V1": (50, 100, 1), "V2": (70, 100, 2), "V4": (90, 50, 4), "IT": (100, 100, 2)}
"""Area of CORnet-S -> start of its first step and duration of each, ms, and number of steps, as published with the
plugin `cornet_s` of brainscore-vision 2.4.2 (model ``CORnet-S``)."""


def _build(module: str, name: str, n_classes: int = 1000) -> nn.Module:
    return cast("nn.Module", getattr(importlib.import_module(f"{__name__}.{module}"), name)(n_classes))


ARCHITECTURES: Mapping[str, Callable[[int], nn.Module]] = {
    name: functools.partial(_build, module, attribute)
    for module, names in {
        "alexnet": {"alexnet": "AlexNet", "alexnet_v2": "AlexNetV2"},
        "cornet": {"cornet_s": "CORnetS"},
        "resnet": {
            f"resnet{variant}": f"resnet{variant}"
            for variant in ("18", "18_conv3", "18_stl10", "18_stride1", "34", "50", "101", "152")
        },
        "vgg": {"vgg16": "VGG16", "vgg19": "VGG19"},
    }.items()
    for name, attribute in names.items()
}
"""Name -> function from a number of classes to the network with untrained weights."""
