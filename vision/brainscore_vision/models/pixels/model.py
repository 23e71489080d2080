"""Return pixels as neurons: the baseline for models of vision."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from brainscore_core.errors import LayerNotFoundError
from brainscore_vision.model_helpers.activations.extractor import ActivationsExtractorHelper
from brainscore_vision.model_helpers.activations.images import load_images

LAYERS = ["pixels"]
REGION_LAYER_MAP = dict.fromkeys(["V1", "V2", "V4", "IT"], "pixels")
SIZE_PX = 256


class PixelModel:
    """Activations model whose only layer ``pixels`` is the picture, resized to 256 x 256 x 3 values from 0 to 255.

    They are 8-bit integers, unless the eye moves (``require_variance``).
    """

    def __init__(self) -> None:
        self._extractor = ActivationsExtractorHelper(
            get_activations=_pixels, preprocessing=load_pixels, identifier="pixels"
        )
        self._extractor.insert_attrs(self)

    @property
    def identifier(self) -> str:
        """Name of the model in the coordinates of its activations."""
        return self._extractor.identifier

    @identifier.setter
    def identifier(self, value: str) -> None:
        self._extractor.identifier = value

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """See `ActivationsExtractorHelper.__call__`."""
        return self._extractor(*args, **kwargs)


def load_pixels(paths: Sequence[str]) -> npt.NDArray[np.uint8]:
    """Load pictures, resized to 256 x 256 pixels; dims (picture, channel, row, column)."""
    pictures = [np.asarray(picture.resize((SIZE_PX, SIZE_PX))) for picture in load_images(paths)]
    return np.stack(pictures).transpose(0, 3, 1, 2)


def _pixels(pictures: npt.NDArray[Any], layer_names: Sequence[str]) -> OrderedDict[str, npt.NDArray[Any]]:
    unknown = [name for name in layer_names if name not in LAYERS]
    if unknown:
        raise LayerNotFoundError(f"Model 'pixels' has no layer {unknown[0]!r}; its only layer is 'pixels'.")
    return OrderedDict(pixels=pictures.transpose(0, 2, 3, 1))
