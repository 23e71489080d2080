"""Read stimulus sets from the user's image folders, for images whose licence forbids redistribution.

Images lie as distributed, below ``BRAINSCORE_IMAGES`` and a folder named after the stimulus set:
``imagenet_val/n01440764/ILSVRC2012_val_1.JPEG``.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from brainscore_core.config import settings
from brainscore_core.errors import DownloadError, StimulusError
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = ["from_image_folder", "load_image_folder"]

_ENDINGS = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")


def from_image_folder(
    identifier: str, levels: Sequence[str], n_images: int, *, otherwise: Callable[[], StimulusSet]
) -> Callable[[], StimulusSet]:
    """Return the function that loads images by `load_image_folder`.

    Without such a folder, `otherwise` loads the images; its `DownloadError` also names the place for the user's images.
    """

    def load() -> StimulusSet:
        stimulus_set = load_image_folder(identifier, levels, n_images)
        if stimulus_set is not None:
            return stimulus_set
        with _naming_image_folder(identifier, levels):
            return otherwise()

    return load


def load_image_folder(identifier: str, levels: Sequence[str], n_images: int) -> StimulusSet | None:
    """Return a stimulus set of the user's images, sorted by path; None if its folder does not exist.

    Parameters
    ----------
    identifier
        Also the folder's name in ``BRAINSCORE_IMAGES``.
    levels
        Columns made of the nested folder names, from the outermost; whole numbers become integers.

    Raises
    ------
    StimulusError
        If there are not `n_images`: scores would refer to other stimuli.
    """
    images = settings().images
    if images is None or not (images / identifier).is_dir():
        return None
    folder = images / identifier
    paths = sorted(_images_in(str(folder), len(levels)))
    if len(paths) != n_images:
        raise StimulusError(
            f"{_pattern(folder, levels)} has {len(paths)} images; {identifier!r} needs {n_images}. Complete the "
            "folder, or remove it so that the images are fetched if you have access to them."
        )
    parts = [path.split("/") for path in paths]
    columns: dict[str, Any] = {"stimulus_id": paths, "filename": [part[-1] for part in parts]}
    for place, level in enumerate(levels):
        names = [part[place] for part in parts]
        columns[level] = [int(name) for name in names] if all(name.isdecimal() for name in names) else names
    stimulus_set = StimulusSet(columns)
    stimulus_set.stimulus_paths = {path: folder / path for path in paths}
    stimulus_set.identifier = identifier
    return stimulus_set


@contextmanager
def _naming_image_folder(identifier: str, levels: Sequence[str]) -> Iterator[None]:
    try:
        yield
    except DownloadError as error:
        images = settings().images or Path("$BRAINSCORE_IMAGES")
        setting = "" if settings().images else ", and set BRAINSCORE_IMAGES to the parent folder"
        raise type(error)(
            f"{error} If you have the images, place them at {_pattern(images / identifier, levels)}{setting}."
        ) from error


def _pattern(folder: Path, levels: Sequence[str]) -> Path:
    return folder.joinpath(*(f"<{level}>" for level in levels), "<image>")


def _images_in(folder: str, depth: int, below: str = "") -> Iterator[str]:
    """Yield the images at a depth as relative paths with ``/``; a million take seconds."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if depth and entry.is_dir():
                yield from _images_in(entry.path, depth - 1, f"{below}{entry.name}/")
            elif not depth and entry.name.lower().endswith(_ENDINGS):
                yield f"{below}{entry.name}"
