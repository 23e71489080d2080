"""Bring pictures of any mode to 8 bits, by one rule for the screen and for the inputs of models."""

import numpy as np
from PIL import Image

from brainscore_core.errors import StimulusError

__all__ = ["to_8_bits", "to_rgb"]


def to_rgb(image: Image.Image) -> Image.Image:
    """Return a picture in mode RGB, loaded; transparency is ignored. See `to_8_bits`."""
    image.load()
    return to_8_bits(image).convert("RGB") if image.mode != "RGB" else image


def to_8_bits(image: Image.Image) -> Image.Image:
    """Return a picture of 16- or 32-bit grey levels in mode L, and any other unchanged.

    16-bit levels are scaled, round(level / 257), where Pillow would clip them at 255. 32-bit levels, integers or
    floating-point numbers, range from 0 to 255, as in Pillow, which drops fractions.

    Raises
    ------
    StimulusError
        32-bit levels lie outside of 0 to 255, or floating-point ones within 0 to 1: their scale is unknown.
    """
    if image.mode not in ("I", "F") and not image.mode.startswith("I;16"):
        return image
    levels = np.asarray(image, dtype=np.float64)
    if image.mode.startswith("I;16") or image.format == "PPM":  # Pillow scales PGM files to 16 bits, but in mode I
        return Image.fromarray(np.rint(levels / 257).astype(np.uint8))
    smallest, largest = levels.min(), levels.max()
    if not (smallest >= 0 and largest <= 255) or (image.mode == "F" and 0 < largest <= 1):
        kind = "floating-point" if image.mode == "F" else "32-bit"
        raise StimulusError(
            f"The image {getattr(image, 'filename', '')!r} has {kind} levels from {smallest:g} to {largest:g} of "
            "unknown scale; expected 0 (black) to 255 (white). Save it with 8 or 16 bits per channel."
        )
    return image.convert("L")
