"""The pixels of a coarse picture as a model."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_vision.model_helpers.activations.core import ActivationsExtractorHelper
from brainscore_vision.model_helpers.activations.images import load_images
from brainscore_vision.model_helpers.brain_transformation import ModelCommitment

if TYPE_CHECKING:
    from brainscore_vision.model_interface import BrainModel

__all__ = ["coarse_pixels"]

SIZE_PX = 12


def coarse_pixels(visual_degrees: float = 8.0) -> BrainModel:
    """Return a network with one layer: the picture, resized to 12 x 12 pixels, from 0 to 1.

    A quick real model: it records V1, V2, V4 and IT, learns labels and finds the odd one out; it has no ``logits``.
    """

    def pictures(paths: Sequence[str]) -> Any:  # an array (picture, channel, row, column)
        resized = [np.asarray(picture.resize((SIZE_PX, SIZE_PX))) / 255 for picture in load_images(paths)]
        return np.stack(resized).astype(np.float32).transpose(0, 3, 1, 2)

    def activations(shown: Any, layers: Sequence[str]) -> OrderedDict[str, Any]:
        return OrderedDict((layer, shown.transpose(0, 2, 3, 1)) for layer in layers)

    extractor = ActivationsExtractorHelper(activations, preprocessing=pictures, identifier="coarse-pixels")
    return ModelCommitment(
        "coarse-pixels",
        extractor,
        layers=["pixels"],
        behavioral_readout_layer="pixels",
        region_layer_map=dict.fromkeys(["V1", "V2", "V4", "IT"], "pixels"),
        visual_degrees=visual_degrees,
    )
