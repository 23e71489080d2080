"""Show stimuli at their size in the experiment, in the model's field of view."""

import os
import re
from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from brainscore_core.config import settings
from brainscore_core.errors import MissingStimulusError, StimulusError
from brainscore_core.files import atomic_path
from brainscore_core.identity.digest import content_digest
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision.benchmark_helpers.screen.png import can_write_png, write_png
from brainscore_vision.utils.pictures import to_8_bits

__all__ = ["fit_to_ratio", "place_on_screen"]

_GREY = (128, 128, 128)
# Increase when conversion changes the pixels.
_CONVERSION = 2


def place_on_screen(
    stimulus_set: StimulusSet, target_visual_degrees: float, source_visual_degrees: float | None = None
) -> StimulusSet:
    """Crop stimuli, or pad them with grey, to their visual size in a model's field of view.

    The canvas is target / source times the stimulus, unscaled. A source of None is the column ``degrees``.

    Returns
    -------
    StimulusSet
        `stimulus_set` itself if no stimulus changes. Otherwise a new one, identifier
        ``<identifier>--target<degrees>--source<degrees>``, with ``degrees`` set to the target, `stimulus_paths` and
        `original_paths`. Converted files lie in ``<BRAINSCORE_HOME>/stimuli_on_screen/`` under the digest of their
        source and geometry.

    Raises
    ------
    StimulusError
        If degrees are given twice, not at all, or are not positive, or a stimulus cannot be decoded.
    """
    sources = _source_degrees(stimulus_set, target_visual_degrees, source_visual_degrees)
    if (sources == target_visual_degrees).all():
        return stimulus_set
    shown_source = "None" if source_visual_degrees is None else f"{source_visual_degrees:.2f}"
    name = getattr(stimulus_set, "identifier", None)
    identifier = f"{name}--target{target_visual_degrees:.2f}--source{shown_source}"
    folder = settings().home / "stimuli_on_screen" / re.sub(r"[^\w.=+-]", "_", identifier)
    originals = {stimulus_id: stimulus_set.get_stimulus(stimulus_id) for stimulus_id in stimulus_set["stimulus_id"]}

    sizes = _first_per_stimulus(stimulus_set, sources)
    paths = _place(originals, sizes, target_visual_degrees, folder)
    converted = StimulusSet(stimulus_set.copy(deep=True))
    converted.stimulus_paths = paths
    converted.original_paths = dict(stimulus_set.stimulus_paths)
    converted.identifier = identifier
    converted["degrees"] = target_visual_degrees
    return converted


def _place(
    originals: Mapping[Hashable, str | Path], sizes: Sequence[float], target: float, folder: Path
) -> dict[Hashable, str | Path]:
    """Convert stimuli in threads, as decoding and encoding release the GIL; return their paths."""
    from tqdm import tqdm  # only for conversion

    def place(stimulus_id: Hashable, path: str | Path, source: float) -> str | Path:
        return path if source == target else _convert(stimulus_id, path, source, target, folder)

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as threads:
        placed = threads.map(place, originals, originals.values(), sizes)
        try:
            progress = tqdm(
                placed, total=len(originals), desc="place on screen", unit="stimuli", leave=False, disable=None
            )
            return dict(zip(originals, progress, strict=True))
        except BaseException:
            threads.shutdown(cancel_futures=True)  # stop at the first failure or Ctrl-C
            raise


def _source_degrees(
    stimulus_set: StimulusSet, target_degrees: float, source_degrees: float | None
) -> npt.NDArray[np.float64]:
    if source_degrees is None and "degrees" not in stimulus_set.columns:
        raise StimulusError(
            "It is not known how large the stimuli were shown. Pass source_visual_degrees, or give the stimulus set a "
            "column 'degrees' with the width of each stimulus in degrees of visual angle."
        )
    if source_degrees is not None and "degrees" in stimulus_set.columns:
        raise StimulusError(
            f"source_visual_degrees is {source_degrees} and the stimulus set has a column 'degrees' too; expected one "
            "of the two. Leave the parameter out to use the column."
        )
    values = stimulus_set["degrees"] if source_degrees is None else np.full(len(stimulus_set), source_degrees)
    sources = np.asarray(values, dtype=np.float64)
    if not (np.isfinite(sources).all() and (sources > 0).all() and np.isfinite(target_degrees) and target_degrees > 0):
        raise StimulusError(
            f"The stimuli have {np.unique(sources)[:10].tolist()} degrees and the target is {target_degrees}; expected "
            "positive numbers of degrees of visual angle."
        )
    return sources


def _first_per_stimulus(stimulus_set: StimulusSet, sources: npt.NDArray[np.float64]) -> list[float]:
    degrees: dict[Hashable, float] = {}
    for stimulus_id, source in zip(stimulus_set["stimulus_id"], sources.tolist(), strict=True):
        if degrees.setdefault(stimulus_id, source) != source:
            raise StimulusError(
                f"Stimulus {stimulus_id!r} is listed with {degrees[stimulus_id]} and with {source} degrees; expected "
                "one size for one stimulus_id."
            )
    return list(degrees.values())


def _convert(stimulus_id: Hashable, path: str | Path, source: float, target: float, folder: Path) -> str:
    original = Path(path)
    if not original.is_file():
        raise MissingStimulusError(f"The file {str(original)!r} of stimulus {stimulus_id!r} does not exist.")
    # Files of one name stay apart, and a changed file is converted again.
    digest = content_digest(_CONVERSION, original, float(source), float(target))
    converted = folder / digest[:24] / original.name
    if not converted.is_file():
        _write_converted(stimulus_id, original, target / source, converted)
    return str(converted)


def _write_converted(stimulus_id: Hashable, original: Path, ratio: float, converted: Path) -> None:
    try:
        with Image.open(original) as image:
            # A file without a known ending keeps the format of its source.
            file_format = None if original.suffix.lower() in Image.registered_extensions() else image.format
            fitted = fit_to_ratio(image, ratio)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise StimulusError(
            f"Stimulus {stimulus_id!r} ({str(original)!r}) cannot be put on the screen: {str(error).rstrip('.')}. "
            "Expected an image that Pillow can decode and that keeps at least one pixel."
        ) from error
    with atomic_path(converted) as temporary:
        if (file_format or Image.registered_extensions()[original.suffix.lower()]) == "PNG" and can_write_png(fitted):
            write_png(fitted, temporary)
        else:
            fitted.save(temporary, format=file_format)


def fit_to_ratio(image: Image.Image, ratio: float) -> Image.Image:
    """Change an image's canvas, without scaling.

    Width and height are multiplied by `ratio`; halves are rounded to even. From a ratio of 1, the image is centred on a
    grey RGB canvas; below it, its middle is returned, in its own mode, or in mode L if its grey levels have more than 8
    bits.
    """
    image = to_8_bits(image)
    size = np.array(image.size)
    new_size = np.rint(ratio * size).astype(int)
    if (new_size < 1).any():
        raise ValueError(f"at {ratio:.4g} times its size of {image.size} nothing is left of the image")
    if ratio >= 1:
        canvas = Image.new("RGB", (int(new_size[0]), int(new_size[1])), _GREY)
        left, top = np.rint((new_size - size) / 2).astype(int).tolist()
        canvas.paste(image, (left, top))
        return canvas
    left, top = np.rint((size - new_size) / 2).astype(int).tolist()
    return image.crop((left, top, left + int(new_size[0]), top + int(new_size[1])))
