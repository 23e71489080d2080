"""Turn image files into arrays for networks, using only Pillow and NumPy.

Results equal those of the usual torchvision pipeline on Pillow images (``Resize``, ``CenterCrop``, ``ToTensor``,
``Normalize``) bit by bit. One thread for each processor decodes and resizes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from PIL import Image

from brainscore_core.errors import MissingStimulusError, StimulusError
from brainscore_vision.pictures import to_rgb

__all__ = [
    "crop_centre",
    "load_image",
    "load_images",
    "load_preprocess_images",
    "preprocess_images",
    "resize_as_opencv",
]

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
_INCEPTION_HALF = (0.5, 0.5, 0.5)

Item = TypeVar("Item")
Result = TypeVar("Result")


def load_preprocess_images(
    image_filepaths: Iterable[str | Path],
    image_size: int,
    *,
    preprocess_type: str = "imagenet",
    normalize_mean: Sequence[float] = IMAGENET_MEAN,
    normalize_std: Sequence[float] = IMAGENET_STD,
    short_side: int | None = None,
    resample: str = "bilinear",
) -> npt.NDArray[np.float32]:
    """See `load_image` and `preprocess_images`."""
    steps = _Steps.of(image_size, preprocess_type, normalize_mean, normalize_std, short_side, resample)
    return _fill([partial(_decoded, path) for path in image_filepaths], steps)


def load_images(image_filepaths: Iterable[str | Path]) -> list[Image.Image]:
    """Load images as RGB; see `load_image`."""
    return _in_threads(load_image, list(image_filepaths))


def load_image(image_filepath: str | Path) -> Image.Image:
    """Load an image as RGB, in memory.

    Transparency and EXIF orientation are ignored, as published; for grey levels of 16 or 32 bits see
    `brainscore_vision.pictures.to_8_bits`.

    Raises
    ------
    StimulusError
        Pillow cannot decode the file, or the scale of its grey levels is unknown.
    MissingStimulusError
        The file does not exist.
    """
    return _decoded(image_filepath).copy()  # without its file


def _decoded(image_filepath: str | Path) -> Image.Image:
    try:
        with Image.open(image_filepath) as image:
            return to_rgb(image)
    except FileNotFoundError as error:
        raise MissingStimulusError(f"The image file {str(image_filepath)!r} does not exist.") from error
    except StimulusError:
        raise
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        # UnidentifiedImageError and truncation are OSError, broken chunks SyntaxError or ValueError.
        raise StimulusError(
            f"The file {str(image_filepath)!r} cannot be decoded as an image ({error}). Expected a whole file of a "
            "format that Pillow reads, such as PNG or JPEG. Replace the file or leave the stimulus out."
        ) from error


def preprocess_images(
    images: Iterable[Image.Image],
    image_size: int,
    *,
    preprocess_type: str = "imagenet",
    normalize_mean: Sequence[float] = IMAGENET_MEAN,
    normalize_std: Sequence[float] = IMAGENET_STD,
    short_side: int | None = None,
    resample: str = "bilinear",
) -> npt.NDArray[np.float32]:
    """Resize images, of any mode, to a square, scale them to 0..1 and normalise: (pixel / 255 - mean) / std.

    Parameters
    ----------
    image_size
        Side S of the square, pixels.
    preprocess_type : {'imagenet', 'inception'}
        ``imagenet``: resize both sides to S, which changes the aspect ratio.
        ``inception``: `short_side` is S * 256 / 224, mean and standard deviation are .5.
    normalize_mean, normalize_std : sequence of 3 floats
        For red, green and blue, on the scale 0..1. ``inception`` ignores them.
    short_side
        Resize the short side to it, pixels, and crop the central square.
    resample
        Filter of Pillow for resizing, such as ``bicubic``.

    Returns
    -------
    array (image, 3, S, S) of float32
    """
    steps = _Steps.of(image_size, preprocess_type, normalize_mean, normalize_std, short_side, resample)
    decoded = list(images)
    for image in decoded:  # Pillow cannot decode a repeated image in two threads at once
        image.load()
    return _fill([partial(to_rgb, image) for image in decoded], steps)


def resize_as_opencv(image: Image.Image, side: int) -> Image.Image:
    """Resize an RGB image to a square, as ``cv2.resize`` does by default (``INTER_LINEAR``).

    Each pixel mixes its 2 x 2 nearest ones, however much larger the image is: without the antialiasing of Pillow's
    filters. Weights are whole numbers of 1/2048, and sums are cut as OpenCV cuts them, so all 8 bits are equal.

    Parameters
    ----------
    side
        Side of the square, pixels.
    """
    pixels = np.asarray(image, dtype=np.int32)
    (left, right, to_left, to_right), (top, bottom, to_top, to_bottom) = (
        _nearest_two(length, side) for length in (image.width, image.height)
    )
    rows = (pixels[:, left] * to_left[:, None] + pixels[:, right] * to_right[:, None]) >> 4
    upper, lower = ((rows[at] * to[:, None, None]) >> 16 for at, to in ((top, to_top), (bottom, to_bottom)))
    return Image.fromarray(((upper + lower + 2) >> 2).astype(np.uint8))


def _nearest_two(length: int, side: int) -> tuple[npt.NDArray[np.int64], ...]:
    """Return places of the nearest two of `length` pixels for each of `side`, and their weights of 2048 in all."""
    at = ((np.arange(side) + 0.5) * (length / side) - 0.5).astype(np.float32)
    first = np.floor(at).astype(np.int64)
    to_second = np.rint((at - first.astype(np.float32)) * 2048).astype(np.int64)
    return *(place.clip(0, length - 1) for place in (first, first + 1)), 2048 - to_second, to_second


def crop_centre(image: Image.Image, side: int) -> Image.Image:
    """Return the central square of an image, `side` pixels wide, black where it exceeds the image.

    An odd rest is split as torchvision does: halves are rounded to even numbers, but down for a black margin.
    """
    rests = (length - side for length in image.size)
    left, top = (round(rest / 2) if rest > 0 else -(-rest // 2) for rest in rests)
    return image.crop((left, top, left + side, top + side))


@dataclass(frozen=True)
class _Steps:
    size: int
    short_side: int | None
    resample: Image.Resampling
    mean: npt.NDArray[np.float32]
    std: npt.NDArray[np.float32]

    @classmethod
    def of(
        cls,
        size: int,
        preprocess_type: str,
        mean: Sequence[float],
        std: Sequence[float],
        short_side: int | None,
        resample: str,
    ) -> _Steps:
        if preprocess_type.lower() not in ("imagenet", "inception"):
            raise ValueError(f"preprocess_type is {preprocess_type!r}; expected 'imagenet' or 'inception'.")
        if preprocess_type.lower() == "inception":
            short_side, mean, std = int(size * 256 / 224), _INCEPTION_HALF, _INCEPTION_HALF
        mean_rgb, std_rgb = (np.asarray(values, dtype=np.float32) for values in (mean, std))
        if mean_rgb.shape != (3,) or std_rgb.shape != (3,) or not (std_rgb > 0).all():
            raise ValueError(
                f"normalize_mean is {mean!r} and normalize_std is {std!r}; expected three values each (red, green, "
                "blue), and standard deviations greater than 0."
            )
        return cls(
            size, short_side, Image.Resampling[resample.upper()], mean_rgb.reshape(3, 1, 1), std_rgb.reshape(3, 1, 1)
        )

    def put(self, image: Image.Image, target: npt.NDArray[np.float32]) -> None:
        pixels = np.asarray(self.resized(image))
        # In place, while the processor's cache holds the image, and rounded in the order of torchvision.
        np.copyto(target, pixels.transpose(2, 0, 1))
        target /= np.float32(255)
        target -= self.mean
        target /= self.std

    def resized(self, image: Image.Image) -> Image.Image:
        if self.short_side is None:
            return image.resize((self.size, self.size), self.resample)
        width, height = image.size
        larger = int(self.short_side * max(width, height) / min(width, height))
        sides = (self.short_side, larger) if width <= height else (larger, self.short_side)
        return crop_centre(image.resize(sides, self.resample), self.size)


def _fill(getters: Sequence[Callable[[], Image.Image]], steps: _Steps) -> npt.NDArray[np.float32]:
    batch = np.empty((len(getters), 3, steps.size, steps.size), dtype=np.float32)

    def put(place: int) -> None:
        steps.put(getters[place](), batch[place])

    _in_threads(put, range(len(getters)))
    return batch


def _in_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    affinity = getattr(os, "sched_getaffinity", None)  # not everywhere
    threads = min(len(items), len(affinity(0)) if affinity else os.cpu_count() or 1)
    if threads <= 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads, thread_name_prefix="brainscore-decode") as pool:
        try:
            return list(pool.map(function, items))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
