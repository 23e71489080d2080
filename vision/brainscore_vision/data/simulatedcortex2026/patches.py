"""Cut patches from the photographs that scikit-learn and scikit-image install."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image

from brainscore_core.errors import MissingStimulusError

__all__ = ["PATCH_PX", "PHOTOGRAPHS", "Patch", "cut_patches", "load_photograph", "luminance", "photograph_paths"]

# Every photograph (no drawing, no microscopy) of these two packages that is large enough for 50 patches.
PHOTOGRAPHS = {
    "astronaut": ("skimage", "data/astronaut.png"),
    "brick": ("skimage", "data/brick.png"),
    "camera": ("skimage", "data/camera.png"),
    "china": ("sklearn", "datasets/images/china.jpg"),
    "coffee": ("skimage", "data/coffee.png"),
    "flower": ("sklearn", "datasets/images/flower.jpg"),
    "grass": ("skimage", "data/grass.png"),
    "gravel": ("skimage", "data/gravel.png"),
    "motorcycle": ("skimage", "data/motorcycle_left.png"),
    "rocket": ("skimage", "data/rocket.jpg"),
}
PATCH_PX = 64
PATCHES_PER_PHOTOGRAPH = 50

# ITU-R Recommendation BT.601-7, section 2.5.1.
_LUMA_WEIGHTS = np.array([0.299, 0.587, 0.114])


@dataclass(frozen=True)
class Patch:
    """One square cut from a photograph."""

    photograph: str  # key of `PHOTOGRAPHS`
    row_px: int  # upper left corner in the photograph
    column_px: int
    pixels: np.ndarray  # RGB, uint8, shape (PATCH_PX, PATCH_PX, 3)


def photograph_paths() -> dict[str, Path]:
    """Find the photographs without importing their packages."""
    paths = {}
    for name, (package, relative) in PHOTOGRAPHS.items():
        spec = find_spec(package)
        folders = spec.submodule_search_locations if spec else None
        path = Path(next(iter(folders))) / relative if folders else None
        if path is None or not path.is_file():
            distribution = {"skimage": "scikit-image", "sklearn": "scikit-learn"}[package]
            raise MissingStimulusError(
                f"SimulatedCortex2026 cuts stimuli from the photograph {name!r} ({package}/{relative}), which is not "
                f"installed. Install the package that contains it: pip install '{distribution}>=0.25'."
            )
        paths[name] = path
    return paths


def load_photograph(path: Path) -> np.ndarray:
    """Return a uint8 array of shape (height, width, 3)."""
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def luminance(pixels: np.ndarray) -> np.ndarray:
    """Return the luminance of RGB pixels: (..., 3) values of 0 to 255 -> (...) values of 0 to 1."""
    return pixels @ _LUMA_WEIGHTS / 255


def cut_patches(photograph: str, pixels: np.ndarray, count: int = PATCHES_PER_PHOTOGRAPH) -> list[Patch]:
    """Cut the tiles of highest contrast from the centred lattice of tiles that fit into a photograph.

    Patches are in reading order; ``pixels`` is a uint8 array of shape (height, width, 3).
    """
    n_rows, n_columns = (length // PATCH_PX for length in pixels.shape[:2])
    top, left = ((length % PATCH_PX) // 2 for length in pixels.shape[:2])
    corners = [(top + row * PATCH_PX, left + column * PATCH_PX) for row in range(n_rows) for column in range(n_columns)]
    tiles = [pixels[row : row + PATCH_PX, column : column + PATCH_PX] for row, column in corners]
    contrast = np.array([luminance(tile).std() for tile in tiles])
    strongest = np.sort(np.argsort(-contrast, kind="stable")[:count])
    return [Patch(photograph, *corners[index], tiles[index]) for index in strongest]
