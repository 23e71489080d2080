"""Write PNG files faster than Pillow, about as small, and without the GIL.

Rows are stored as differences from the row above (filter 2) and compressed by ISA-L, four to six times as fast as zlib.
"""

from __future__ import annotations

import struct
import threading
from typing import TYPE_CHECKING

import numpy as np
from isal import isal_zlib

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt
    from PIL import Image

__all__ = ["can_write_png", "write_png"]

_COLOUR_TYPES = {"L": 0, "RGB": 2, "RGBA": 6}
_KEPT_BY_PILLOW = ("icc_profile", "exif", "transparency")
_UP = 2
_of_thread = threading.local()


def can_write_png(image: Image.Image) -> bool:
    """Return whether `write_png` keeps all of an image: 8-bit grey, RGB or RGBA without a colour profile."""
    return image.mode in _COLOUR_TYPES and not any(name in image.info for name in _KEPT_BY_PILLOW)


def write_png(image: Image.Image, path: Path) -> None:
    """Write an image that `can_write_png` accepts.

    References
    ----------
    Portable Network Graphics (PNG) Specification, third edition, W3C (2025), https://www.w3.org/TR/png-3/.
    """
    rows = np.asarray(image).reshape(image.height, -1)
    filtered = _scratch((rows.shape[0], rows.shape[1] + 1))
    filtered[:, 0] = _UP
    filtered[0, 1:] = rows[0]
    np.subtract(rows[1:], rows[:-1], out=filtered[1:, 1:])  # modulo 256, as in the specification
    header = struct.pack(">IIBBBBB", image.width, image.height, 8, _COLOUR_TYPES[image.mode], 0, 0, 0)
    with path.open("wb") as stream:
        stream.write(b"\x89PNG\r\n\x1a\n")
        for kind, content in ((b"IHDR", header), (b"IDAT", isal_zlib.compress(filtered.data, level=1)), (b"IEND", b"")):
            stream.write(struct.pack(">I", len(content)) + kind + content)
            stream.write(struct.pack(">I", isal_zlib.crc32(content, isal_zlib.crc32(kind))))


def _scratch(shape: tuple[int, int]) -> npt.NDArray[np.uint8]:
    size = shape[0] * shape[1]
    memory: npt.NDArray[np.uint8] | None = getattr(_of_thread, "memory", None)
    if memory is None or memory.size < size:
        memory = _of_thread.memory = np.empty(size, dtype=np.uint8)
    return memory[:size].reshape(shape)
