"""Digest preprocessing functions by code and result for a probe image."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image

from brainscore_core.identity.digest import content_digest
from brainscore_vision.identity.objects import NotDigestibleError, describe
from brainscore_vision.identity.python_code import qualified_name

__all__ = ["preprocessing_digest", "probe_image"]


def preprocessing_digest(preprocess: Callable[[list[str]], object] | None) -> str:
    """Return a digest of a preprocessing function: its code, arguments and result for a probe image.

    An attribute ``cache_version`` (of the function, also inside a `functools.partial`) replaces code and arguments.
    `NotDigestibleError` if a part has no digest, or results for one image differ.
    """
    if preprocess is None:
        return content_digest(None)
    declared = getattr(preprocess, "cache_version", None)
    code = [qualified_name(preprocess), declared] if declared is not None else describe(preprocess)
    try:
        with TemporaryDirectory(prefix="brainscore-probe-") as folder:
            path = Path(folder) / "probe.png"
            probe_image().save(path)
            try:
                first, second = (content_digest(describe(preprocess([str(path)]))) for _ in range(2))
            except Exception as error:  # a plugin's code may fail in any way; that only costs the cache
                raise NotDigestibleError(f"{qualified_name(preprocess)} fails on a probe image: {error}") from error
    except OSError as error:
        raise NotDigestibleError(f"no probe image can be written: {error}") from error
    if first != second:
        raise NotDigestibleError(f"{qualified_name(preprocess)} is random: the same image gives different results.")
    return content_digest(code, first)


def probe_image() -> Image.Image:
    """Return a fixed image of 300 x 260 pixels with gradients, edges and fine texture."""
    y, x = np.mgrid[0:260, 0:300]
    red = x * 255 // 299
    green = (x * 37 + y * 91) % 256
    blue = np.where((x // 13 + y // 7) % 2 == 0, y * 255 // 259, 255)
    return Image.fromarray(np.stack([red, green, blue], axis=-1).astype(np.uint8))
