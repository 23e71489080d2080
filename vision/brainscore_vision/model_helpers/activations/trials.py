"""Show each stimulus several times: with small eye movements, or to models random by intent."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from brainscore_core.errors import ConfigurationError, StimulusError

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = [
    "EXTENT_DEGREES",
    "TRIAL_COORDS",
    "Trials",
    "microsaccades",
    "random_state_as_before",
    "save_random_state",
    "seeded",
    "shift_images",
]

EXTENT_DEGREES = 0.05
"""The largest movement of the eye. Most human microsaccades are smaller than 0.1 degrees (Rolfs 2009)."""

TRIAL_COORDS = ("repetition", *(f"microsaccade_shift_{axis}_{unit}" for unit in ("pixels", "degrees") for axis in "xy"))
"""Coordinates of presentations that distinguish trials; see `Trials.coords`."""

Images = Any  # result of the preprocessing: an array or tensor, or a list of them
Shifts = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Trials:
    """Trials of each stimulus, and their differences.

    Attributes
    ----------
    number
        Adjacent trials of each stimulus.
    visual_degrees
        Width of the field of view if the eye moves between trials, see `microsaccades`. None: it does not.
    seed
        Seed of a random model. None: the model is deterministic.
    """

    number: int = 1
    visual_degrees: float | None = None
    seed: int | None = None

    @property
    def key(self) -> list[object]:
        """Plain values that change activations; empty if stimuli are shown once, unchanged."""
        if self.visual_degrees is None and self.seed is None:
            return []
        return ["trials", self.number, self.visual_degrees, EXTENT_DEGREES, self.seed]

    def repeat(self, values: Sequence[Any]) -> list[Any]:
        """Repeat each stimulus's value for its adjacent trials."""
        return [value for value in values for _ in range(self.number)]

    def show(self, preprocess: Callable[[list[str]], Images], paths: Sequence[str], start: int) -> Images:
        """Return preprocessed images as seen in their trials.

        Parameters
        ----------
        preprocess
            Takes a list of paths; called with each path once.
        paths
            One for each trial; see `repeat`.
        start
            Number of the first trial among all.
        """
        if self.visual_degrees is None:
            return preprocess(list(paths))
        unique = {path: index for index, path in enumerate(dict.fromkeys(paths))}
        images = _as_array(preprocess(list(unique)))
        shifts = self._shifts_px(images.shape[-2])
        trials = np.arange(start, start + len(paths)) % self.number
        return shift_images(images[[unique[path] for path in paths]], shifts[trials])

    @contextmanager
    def randomness(self, start: int) -> Iterator[None]:
        """Seed a random model for a batch whose first trial has number `start`."""
        if self.seed is None:
            yield
            return
        with seeded((self.seed, start)):
            yield

    def coords(self, n_presentations: int, some_image: Callable[[], Images]) -> dict[str, Array]:
        """Return coordinates that distinguish trials, arrays (presentation,).

        ``repetition``, from 0, for each stimulus; if the eye moves, the shift of the image to the right and down,
        ``microsaccade_shift_x_pixels``, ``microsaccade_shift_y_pixels`` and the same in ``_degrees``. Empty if each
        stimulus is shown once, unchanged. `some_image` returns preprocessed images (image, channel, rows, columns), for
        their size.
        """
        if not self.key:
            return {}
        trial = np.arange(n_presentations) % self.number
        coords: dict[str, Array] = {"repetition": trial}
        if self.visual_degrees is not None:
            for unit, shifts in (
                ("pixels", self._shifts_px(_as_array(some_image()).shape[-2])),
                ("degrees", microsaccades(self.number)),
            ):
                for axis, values in zip("xy", shifts.T, strict=True):
                    coords[f"microsaccade_shift_{axis}_{unit}"] = values[trial]
        return coords

    def _shifts_px(self, rows: int) -> Shifts:
        if self.visual_degrees is None:
            raise ConfigurationError("The eye does not move in these trials.")
        return microsaccades(self.number) * (rows / self.visual_degrees)


def microsaccades(number: int) -> Shifts:
    """Return the shift of the image in each trial, to the right and down, array (trial, 2), degrees.

    The shifts lie on a spiral, evenly over a disc: x_i = r_i cos t_i, y_i = r_i sin t_i with r_i = e sqrt(i / n), t_i =
    2 pi sqrt(i / n), i = 0 ... n - 1, where e is `EXTENT_DEGREES`. The first trial has no shift.

    References
    ----------
    Rolfs (2009), https://doi.org/10.1016/j.visres.2009.08.010
    """
    part = np.sqrt(np.arange(number) / number)
    angle = 2 * np.pi * part
    shifts: Shifts = EXTENT_DEGREES * part[:, np.newaxis] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return shifts


def shift_images(images: Array, shifts: npt.NDArray[np.floating]) -> Array:
    """Shift images by fractions of pixels.

    Values are interpolated linearly; the border is repeated. OpenCV's ``warpAffine`` does the same, but rounds shifts
    to 1/32 pixel.

    Parameters
    ----------
    images : array (image, ..., rows, columns)
        Floating-point values; the result has their dtype.
    shifts : array (image, 2)
        To the right and down, px.
    """
    moved = np.empty_like(images)
    for index, (right, down) in enumerate(np.asarray(shifts, dtype=float)):
        moved[index] = _shift_axis(_shift_axis(images[index], right, -1), down, -2)
    return moved


def _shift_axis(image: Array, shift: float, axis: int) -> Array:
    if shift == 0:
        return image
    whole = int(np.floor(-shift))
    part = image.dtype.type(-shift - whole)
    places = np.arange(image.shape[axis]) + whole
    last = image.shape[axis] - 1
    near, far = (image.take(np.clip(places + step, 0, last), axis=axis) for step in (0, 1))
    result: Array = near * (1 - part) + far * part
    return result


def _as_array(images: Images) -> Array:
    parts = images if hasattr(images, "shape") else list(images)
    if isinstance(parts, list):
        if not parts or not hasattr(parts[0], "shape"):
            raise StimulusError(
                "Microsaccades move preprocessed images, but the preprocessing of this model returns "
                f"{type(images).__name__} of {type(parts[0]).__name__ if parts else 'nothing'}; expected an array "
                "(image, channel, rows, columns)."
            )
        parts = np.stack([np.asarray(part) for part in parts])
    array: Array = np.asarray(parts)
    array = array.astype(np.float32) if array.dtype == np.uint8 else array  # shifted pixels are not integers
    if array.ndim != 4 or not np.issubdtype(array.dtype, np.floating):
        raise StimulusError(
            f"Microsaccades move preprocessed images, but the preprocessing of this model returns shape {array.shape} "
            f"of {array.dtype}; expected floating-point values or bytes (image, channel, rows, columns)."
        )
    return array


@contextmanager
def seeded(seed: int | Sequence[int]) -> Iterator[None]:
    """Seed the random numbers of Python, NumPy and PyTorch inside the block, and restore them after it; from 0."""
    number = int(np.random.SeedSequence(seed).generate_state(1)[0])
    with random_state_as_before():
        random.seed(number)
        np.random.seed(number)  # noqa: NPY002 - the generator that models use
        torch: Any = sys.modules.get("torch")  # heavy: only if imported already
        if torch is not None:
            torch.manual_seed(number)
        yield


def save_random_state() -> Callable[[], None]:
    """Save the state of the global generators and return a function that restores it.

    They are `random`, `numpy.random` and, if PyTorch is imported, its CPU's and those of all GPUs in use.
    """
    python = random.getstate()
    legacy = np.random.get_state()  # noqa: NPY002 - the generator that networks use
    torch = sys.modules.get("torch")
    if torch is None:

        def restore_torch() -> None:
            pass
    else:
        cpu = torch.get_rng_state()
        gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
        mps = torch.mps.get_rng_state() if torch.backends.mps.is_available() else None

        def restore_torch() -> None:
            torch.set_rng_state(cpu)
            if gpus:
                torch.cuda.set_rng_state_all(gpus)
            if mps is not None:
                torch.mps.set_rng_state(mps)

    def restore() -> None:
        random.setstate(python)
        np.random.set_state(legacy)  # noqa: NPY002 - as above
        restore_torch()

    return restore


@contextmanager
def random_state_as_before(*, only_after_an_error: bool = False) -> Iterator[None]:
    """Restore the global generators after the block, see `save_random_state`."""
    restore = save_random_state()
    try:
        yield
    except BaseException:
        restore()
        raise
    if not only_after_an_error:
        restore()
