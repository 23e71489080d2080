"""Turn image files into the arrays that networks take, with Pillow and NumPy alone.

The arithmetic is that of the usual torchvision pipeline on Pillow images (``Resize``, ``ToTensor``, ``Normalize``),
so that published numbers carry over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from brainscore_core.errors import MissingStimulusError, StimulusError

__all__ = ["load_image", "load_images", "load_preprocess_images", "preprocess_images"]

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
_INCEPTION_HALF = (0.5, 0.5, 0.5)


def load_preprocess_images(
    image_filepaths: Iterable[str | Path],
    image_size: int,
    **kwargs: Any,  # checked by preprocess_images
) -> npt.NDArray[np.float32]:
    """Load images, see `load_image`, and prepare them for a network, see `preprocess_images`."""
    return preprocess_images(load_images(image_filepaths), image_size=image_size, **kwargs)


def load_images(image_filepaths: Iterable[str | Path]) -> list[Image.Image]:
    """Load images as RGB; see `load_image`."""
    return [load_image(path) for path in image_filepaths]


def load_image(image_filepath: str | Path) -> Image.Image:
    """Load an image as RGB.

    Grey levels become equal red, green and blue; transparency is ignored; 16-bit grey levels are scaled to 8 bits.

    Returns
    -------
    PIL.Image.Image
        Of mode RGB, in memory (the file is closed).

    Raises
    ------
    StimulusError
        The file is not an image that Pillow can decode, is truncated, or holds floating-point values, whose scale is
        unknown.
    MissingStimulusError
        The file does not exist.
    """
    try:
        with Image.open(image_filepath) as image:
            return _to_rgb(image, image_filepath)
    except FileNotFoundError as error:
        raise MissingStimulusError(f"The image file {str(image_filepath)!r} does not exist.") from error
    except StimulusError:
        raise
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        # Pillow: UnidentifiedImageError and truncation are OSError, broken chunks SyntaxError or ValueError.
        raise StimulusError(
            f"The file {str(image_filepath)!r} cannot be decoded as an image ({error}). Expected a whole file of a "
            "format that Pillow reads, such as PNG or JPEG. Replace the file or leave the stimulus out."
        ) from error


def _to_rgb(image: Image.Image, path: str | Path) -> Image.Image:
    if image.mode == "F":
        raise StimulusError(
            f"The image {str(path)!r} holds floating-point values, whose scale is unknown; expected 8 or 16 bits per "
            "channel. Save it as an 8-bit image."
        )
    if image.mode == "I" or image.mode.startswith("I;16"):
        # Pillow opens 16-bit grey images in these modes and would clip instead of scale: 65535 / 257 = 255.
        grey = np.rint(np.asarray(image, dtype=np.float64) / 257).clip(0, 255).astype(np.uint8)
        return Image.fromarray(grey).convert("RGB")
    image.load()
    return image.convert("RGB")


def preprocess_images(
    images: Iterable[Image.Image],
    image_size: int,
    *,
    preprocess_type: str = "imagenet",
    normalize_mean: Sequence[float] = IMAGENET_MEAN,
    normalize_std: Sequence[float] = IMAGENET_STD,
) -> npt.NDArray[np.float32]:
    """Resize images to a square, scale them to 0..1 and normalise: (pixel / 255 - mean) / std.

    Parameters
    ----------
    image_size : int
        Side S of the square, in pixels.
    preprocess_type : {'imagenet', 'inception'}
        ``imagenet``: resize both sides to S (bilinear with antialiasing), which changes the aspect ratio.
        ``inception``: resize the short side to S * 256 / 224, cut out the central square and normalise with mean .5
        and standard deviation .5.
    normalize_mean, normalize_std : sequence of 3 floats
        One value for each of red, green and blue, on the scale 0..1; by default those of ImageNet. ``inception`` does
        not use them.

    Returns
    -------
    array (image, 3, S, S) of float32
    """
    if preprocess_type == "imagenet":
        mean, std = normalize_mean, normalize_std
    elif preprocess_type == "inception":
        mean, std = _INCEPTION_HALF, _INCEPTION_HALF
    else:
        raise ValueError(f"preprocess_type is {preprocess_type!r}; expected 'imagenet' or 'inception'.")
    shape = (3, 1, 1)
    mean_rgb, std_rgb = (np.asarray(values, dtype=np.float32) for values in (mean, std))
    if mean_rgb.shape != (3,) or std_rgb.shape != (3,) or not (std_rgb > 0).all():
        raise ValueError(
            f"normalize_mean is {mean!r} and normalize_std is {std!r}; expected three values each (red, green, blue), "
            "and standard deviations greater than 0."
        )
    resized = [_resize(image, image_size, preprocess_type) for image in images]
    if not resized:
        return np.empty((0, 3, image_size, image_size), dtype=np.float32)
    pixels = np.stack([np.asarray(image, dtype=np.float32) for image in resized]).transpose(0, 3, 1, 2)
    scaled = pixels / np.float32(255)
    return np.ascontiguousarray((scaled - mean_rgb.reshape(shape)) / std_rgb.reshape(shape))


def _resize(image: Image.Image, size: int, preprocess_type: str) -> Image.Image:
    if preprocess_type == "imagenet":
        return image.resize((size, size), Image.Resampling.BILINEAR)
    short = int(size * 256 / 224)
    width, height = image.size
    larger = int(short * max(width, height) / min(width, height))
    image = image.resize((short, larger) if width <= height else (larger, short), Image.Resampling.BILINEAR)
    left, top = (round((side - size) / 2) for side in image.size)
    return image.crop((left, top, left + size, top + size))
