"""Turn any preprocessing into a function from files to a model's inputs.

The classes have plain attributes, which can be digested.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from brainscore_core.errors import ConfigurationError
from brainscore_vision.identity.objects import probe_image
from brainscore_vision.model_helpers.activations.images import (
    load_image,
    load_images,
    load_preprocess_images,
    preprocess_images,
)
from brainscore_vision.model_helpers.adapters.adapted import classes_of

if TYPE_CHECKING:
    from PIL import Image

    from brainscore_vision.model_helpers.activations.batches import Preprocessing

__all__ = ["NAMED", "EachPicture", "ImageProcessor", "of_each_picture", "preprocessing_from"]

NAMED = (
    "'imagenet-224' (resize to 224 x 224 pixels, mean and standard deviation of ImageNet; any size) or 'inception-299' "
    "(short side to 341, central 299 x 299, mean and standard deviation .5; any size)"
)
"""Names of preprocessings, for messages."""

_STEPS = {"Resize", "CenterCrop", "MaybeConvertMode", "ToTensor", "MaybeToTensor", "Normalize"}

_NAME = re.compile(r"(imagenet|inception)-([1-9]\d{0,3})", re.ASCII)


class EachPicture:
    """Preprocessing by a function from an RGB image of PIL to (channel, height, width)."""

    def __init__(self, transform: Callable[[Image.Image], Any]) -> None:
        self.transform = transform

    def __call__(self, paths: list[str]) -> npt.NDArray[np.generic]:
        """Return the inputs (picture, channel, height, width); `ConfigurationError` for other results."""
        inputs = [self._input(self.transform(load_image(path))) for path in paths]
        shapes = sorted({array.shape for array in inputs})
        if len(shapes) > 1:
            raise ConfigurationError(
                f"The preprocessing gives inputs of different shapes ({', '.join(map(str, shapes))}); expected one. "
                "Have it resize and crop every picture to the size that the model takes."
            )
        return np.stack(inputs)

    def _input(self, value: object) -> npt.NDArray[np.generic]:
        array = np.asarray(value) if hasattr(value, "__array__") else np.empty(0)
        if array.ndim != 3 or array.dtype.kind not in "fiub" or classes_of(value, "PIL"):
            shape = f" of shape {array.shape} and dtype {array.dtype}" if hasattr(value, "__array__") else ""
            raise ConfigurationError(
                f"The preprocessing returned a {type(value).__qualname__}{shape} for a picture; expected a tensor or "
                "array of numbers (channel, height, width). It is called with one PIL image at a time; end it with "
                "ToTensor() if it works on images."
            )
        return array


def of_each_picture(transform: Callable[[Image.Image], Any]) -> Preprocessing:
    """Return the preprocessing by a function of one picture.

    It is `load_preprocess_images` if the function is torchvision's pipeline with equal values for two pictures,
    otherwise an `EachPicture`.
    """
    try:
        arguments = _arguments_of(transform)
        probe = probe_image()
        for picture in (probe, probe.reduce(5).rotate(90, expand=True)):  # wide and large, high and small
            ours = preprocess_images([picture], **arguments)[0]
            if not np.array_equal(ours, np.asarray(transform(picture))):
                return EachPicture(transform)
    except (AttributeError, KeyError, TypeError, ValueError):  # it is another function
        return EachPicture(transform)
    return functools.partial(load_preprocess_images, **arguments)


def _arguments_of(transform: Any) -> dict[str, Any]:  # a class of torchvision
    """Return the arguments of `preprocess_images` equal to a transform of torchvision."""
    if hasattr(transform, "resize_size"):  # that of weights
        (short_side,), (size,), normalised = transform.resize_size, transform.crop_size, transform
        resample = transform.interpolation
    else:
        steps = {type(step).__name__: step for step in transform.transforms}
        if not steps.keys() <= _STEPS or len(steps) < len(transform.transforms):
            raise ValueError
        sides = np.ravel(steps["Resize"].size).tolist()
        short_side = sides[0] if len(sides) == 1 else None
        size = sides[0] if short_side is None else steps["CenterCrop"].size[0]
        resample, normalised = steps["Resize"].interpolation, steps["Normalize"]
    mean, std = (tuple(np.asarray(values, float).tolist()) for values in (normalised.mean, normalised.std))
    return {
        "image_size": size,
        "normalize_mean": mean,
        "normalize_std": std,
        "short_side": short_side,
        "resample": resample.value,
    }


class ImageProcessor:
    """Preprocessing by an image processor of transformers: its ``pixel_values``.

    A processor for text and images is replaced by its ``image_processor``.
    """

    def __init__(self, processor: Any) -> None:  # a class of transformers
        self.processor = getattr(processor, "image_processor", processor)

    def __call__(self, paths: list[str]) -> npt.NDArray[np.generic]:
        """Return the inputs (picture, channel, height, width)."""
        return self.inputs(load_images(paths))

    def inputs(self, images: list[Image.Image]) -> npt.NDArray[np.generic]:
        """Return the inputs for images of PIL."""
        # Fast processors of transformers 5 return only PyTorch tensors.
        batch = self.processor(images=images, return_tensors="pt")
        return np.asarray(batch["pixel_values"])


def preprocessing_from(given: object) -> Preprocessing:
    """Return the preprocessing for an argument of any kind; `ConfigurationError` for other values.

    Parameters
    ----------
    given : str, callable, torchvision weights or image processor
        - a name: ``'imagenet-224'`` is usual for published Brain-Score models,
          ``functools.partial(load_preprocess_images, image_size=224)``; ``'inception-299'`` crops; both take any size;
        - a function of one PIL image (RGB) that returns a tensor or array (channel, height, width), such as
          ``weights.transforms()`` of torchvision or the transforms of open_clip;
        - a member of a torchvision weights enumeration, such as ``ResNet18_Weights.IMAGENET1K_V1``;
        - an image processor of transformers;
        - `load_preprocess_images` in a `functools.partial`, which takes paths.
    """
    if isinstance(given, str):
        return _named(given)
    if getattr(given, "func", given) is load_preprocess_images:
        return given  # type: ignore[return-value]  # the function, or a partial of it
    if classes_of(given, "transformers"):
        return ImageProcessor(given)
    if hasattr(given, "transforms") and hasattr(given, "url"):  # a member of torchvision's WeightsEnum
        return of_each_picture(given.transforms())
    if isinstance(given, (EachPicture, ImageProcessor)):
        return given
    if callable(given) and not isinstance(given, type):
        return of_each_picture(given)
    raise ConfigurationError(
        f"preprocessing is {given!r}; expected a name, which is {NAMED}, a function from a PIL image to a tensor, "
        "weights of torchvision, or an image processor of transformers."
    )


def _named(name: str) -> Preprocessing:
    match = _NAME.fullmatch(name)
    if match is None:
        raise ConfigurationError(f"preprocessing is {name!r}; expected {NAMED}, or a function of a PIL image.")
    return functools.partial(load_preprocess_images, image_size=int(match[2]), preprocess_type=match[1])
