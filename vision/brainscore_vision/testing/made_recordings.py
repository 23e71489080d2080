"""Draw pictures, and responses with a known signal; the arguments determine everything."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from PIL import Image

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["as_features", "draw_stimuli", "of_stimuli", "recordings", "shuffled", "stimuli_folder"]

Array = TypeVar("Array", bound="xr.DataArray")
Floats = npt.NDArray[np.float64]
Coords = dict[str, tuple[str, npt.NDArray[Any]]]

_N_PATTERNS = 6  # dimensions of the pictures
_GRID = 8  # neuroids respond to 8 x 8 blocks of a picture


def draw_stimuli(
    identifier: str,
    n: int,
    *,
    columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]] | None = None,
    size_px: int = 48,
    seed: int = 0,
    folder: str | Path | None = None,
) -> StimulusSet:
    """Draw pictures: weighted sums of six smooth coloured patterns, with a little noise on each pixel.

    Parameters
    ----------
    identifier
        Also the prefix of each ``stimulus_id``, which makes sets differ.
    columns
        Further columns, n values each; may replace ``stimulus_id``.
    folder
        For the PNG files; None: a new one in `stimuli_folder`.
    """
    generator = np.random.default_rng([seed, n, size_px])
    prefix = identifier.replace(".", "_")
    table: dict[str, Any] = {"stimulus_id": [f"{prefix}_{number:04d}" for number in range(n)], **(columns or {})}
    stimulus_set = StimulusSet(table)
    place = Path(tempfile.mkdtemp(dir=stimuli_folder())) if folder is None else Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    patterns = _patterns(generator, size_px)
    paths = {}
    for stimulus_id in stimulus_set["stimulus_id"]:
        weights = generator.standard_normal(_N_PATTERNS)
        pixels = 128 + 45 * np.tensordot(weights, patterns, axes=1) + 4 * generator.standard_normal(patterns.shape[1:])
        paths[stimulus_id] = place / f"{stimulus_id}.png"
        Image.fromarray(np.clip(np.rint(pixels), 0, 255).astype(np.uint8)).save(paths[stimulus_id])
    stimulus_set.stimulus_paths = paths
    stimulus_set.identifier = identifier
    return stimulus_set


@cache
def stimuli_folder() -> Path:
    """Return the folder of pictures without their own, which lasts as long as this process.

    Tests have it below pytest's temporary folder (see `stand_ins.drawn_pictures`).
    """
    folder = tempfile.mkdtemp(prefix="stand-in-stimuli-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _patterns(generator: np.random.Generator, size_px: int) -> Floats:
    """Return coloured gratings of up to two cycles, shape (pattern, size, size, 3), mean square 1 / n_patterns."""
    y, x = np.mgrid[0:size_px, 0:size_px] / size_px
    frequencies = generator.uniform(-2, 2, (_N_PATTERNS, 2))
    phases = generator.uniform(0, 2 * np.pi, _N_PATTERNS)
    waves = np.cos(2 * np.pi * np.einsum("pk,kyx->pyx", frequencies, np.stack([y, x])) + phases[:, None, None])
    colours = generator.uniform(0.3, 1, (_N_PATTERNS, 1, 1, 3))
    patterns: Floats = waves[..., None] * colours * np.sqrt(2 / _N_PATTERNS)
    return patterns


def recordings(
    stimuli: StimulusSet,
    *,
    n_neuroids: int,
    n_repetitions: int = 10,
    noise: float = 0.5,
    seed: int = 0,
    neuroid_coords: Mapping[str, Any] | None = None,
    time_bins: Sequence[tuple[float, float]] | None = None,
    n_dimensions: int = 4,
    visible: float = 0.5,
    presentation_coords: Sequence[str] = (),
    dims: Sequence[str] = ("presentation", "neuroid", "time_bin"),
    cls: type[Any] | None = None,
) -> tuple[NeuroidAssembly, NeuroidAssembly]:
    """Make responses to pictures: a low-dimensional signal, plus noise in each repetition.

    Parameters
    ----------
    stimuli
        Images that Pillow can read, unless `visible` is 0.
    noise
        Standard deviation of the noise of one repetition; each neuroid's signal has 1.
    neuroid_coords
        Name -> one value for all neuroids, or n_neuroids values. The default includes ``neuroid_id``.
    time_bins
        Edges in ms after onset: the signal turns from one half to another over the bins. None: no such dimension.
    n_dimensions
        Dimensions of the signal, few enough for a regression on a few dozen stimuli.
    visible
        Share of the signal's variance, 0 to 1, that linear functions of the pixels explain; the rest is independent of
        the picture, so no model of pixels reaches the ceiling.
    presentation_coords
        Columns of the stimuli that become coordinates; others are joined on loading.

    Returns
    -------
    assembly, truth : NeuroidAssembly
        All repetitions, with the coordinate ``repetition``, and the signal, one presentation per stimulus. Both have
        ``attrs['stimulus_set']``.
    """
    bins = list(time_bins) if time_bins is not None else None
    generator = np.random.default_rng([seed, n_neuroids])
    signal = _signal(stimuli, generator, n_neuroids, 1 if bins is None else len(bins), n_dimensions, visible)
    coords = {**_neuroid_coords(n_neuroids, neuroid_coords or {})}
    for index, name in enumerate(("time_bin_start", "time_bin_end") if bins is not None else ()):
        coords[name] = ("time_bin", np.array([edges[index] for edges in bins or ()]))

    def assemble(values: Floats, repetitions: int | None) -> Any:
        presentations = _presentation_coords(stimuli, presentation_coords, repetitions)
        return _assemble(values, {**presentations, **coords}, stimuli, dims=dims, has_time=bins is not None, cls=cls)

    repeated = np.tile(signal, (n_repetitions, 1, 1))
    assembly = assemble(repeated + noise * generator.standard_normal(repeated.shape), n_repetitions)
    return assembly, assemble(signal, None)


def _presentation_coords(stimuli: StimulusSet, columns: Sequence[str], repetitions: int | None) -> Coords:
    n = repetitions or 1
    coords = {
        name: ("presentation", np.tile(np.asarray(stimuli[name]), n))
        for name in dict.fromkeys(["stimulus_id", *columns])
    }
    if repetitions is not None:
        coords["repetition"] = ("presentation", np.repeat(np.arange(n), len(stimuli)))
    return coords


def _neuroid_coords(n: int, values: Mapping[str, Any]) -> Coords:
    values = {"neuroid_id": [f"neuroid_{number:03d}" for number in range(n)], **values}
    arrays = {name: np.asarray(value) for name, value in values.items()}
    return {name: ("neuroid", np.repeat(array, n) if array.ndim == 0 else array) for name, array in arrays.items()}


def _assemble(
    values: Floats, coords: Coords, stimuli: StimulusSet, *, dims: Sequence[str], has_time: bool, cls: type[Any] | None
) -> Any:
    all_dims = ["presentation", "neuroid", "time_bin"]
    if not has_time:
        values, all_dims = values[:, :, 0], all_dims[:2]
    order = [name for name in dims if name in all_dims]
    values = np.transpose(values, [all_dims.index(name) for name in order])
    attrs = {"stimulus_set": stimuli, "stimulus_set_identifier": stimuli.identifier}
    return (cls or NeuroidAssembly)(values, coords=coords, dims=order, attrs=attrs)


def _signal(
    stimuli: StimulusSet,
    generator: np.random.Generator,
    n_neuroids: int,
    n_bins: int,
    n_dimensions: int,
    visible: float,
) -> Floats:
    """Return shape (n_stimuli, n_neuroids, n_bins), mean 0 and variance 1 over stimuli."""
    hidden = _whitened(generator.standard_normal((len(stimuli), n_dimensions)))
    seen = _whitened(_blocks(stimuli))[:, :n_dimensions] if visible > 0 else hidden
    sources = np.sqrt(visible) * seen + np.sqrt(1 - visible) * hidden
    early, late = (sources @ generator.standard_normal((n_dimensions, n_neuroids)) for _ in range(2))
    angles = np.linspace(0, np.pi / 2, n_bins)  # one bin: the early part
    signal = early[:, :, None] * np.cos(angles) + late[:, :, None] * np.sin(angles)
    scaled: Floats = (signal - signal.mean(axis=0)) / signal.std(axis=0)
    return scaled


def _blocks(stimuli: StimulusSet) -> Floats:
    """Return the mean grey of 8 x 8 blocks of each picture, shape (n_stimuli, 64)."""
    rows = []
    for stimulus_id in stimuli["stimulus_id"]:
        with Image.open(stimuli.get_stimulus(stimulus_id)) as image:
            rows.append(np.asarray(image.convert("L").resize((_GRID, _GRID), Image.Resampling.BOX), float).ravel())
    return np.stack(rows)


def _whitened(values: Floats) -> Floats:
    components, _, _ = np.linalg.svd(values - values.mean(axis=0), full_matrices=False)
    return cast("Floats", components * np.sqrt(len(values)))


def of_stimuli(assembly: Array, stimuli: StimulusSet, *, n_repetitions: int | None = None) -> Array:
    """Return the first `n_repetitions` (None: all) of the responses to some stimuli, now their stimulus set."""
    selected = np.isin(assembly["stimulus_id"].values, stimuli["stimulus_id"].to_numpy())
    if n_repetitions is not None:
        selected &= assembly["repetition"].values < n_repetitions
    part = assembly[{"presentation": np.flatnonzero(selected)}]
    part.attrs = {**assembly.attrs, "stimulus_set": stimuli, "stimulus_set_identifier": stimuli.identifier}
    return part


def as_features(recordings: Array) -> Array:
    """Return recordings as a model's features, copied with a little noise up to 30 neuroids."""
    n_neuroids = recordings.sizes["neuroid"]
    if n_neuroids >= 30:
        return recordings
    copies = recordings.isel(neuroid=np.arange(-(-30 // n_neuroids) * n_neuroids) % n_neuroids)
    noise = np.random.default_rng(0).standard_normal(copies.shape) * 0.05 * float(np.nanstd(recordings.values))
    return copies.copy(data=copies.values + noise)


def shuffled(truth: Array, seed: int = 0) -> Array:
    """Return the responses, assigned to stimuli at random."""
    order = np.random.default_rng(seed).permutation(truth.sizes["presentation"])
    return truth.copy(data=np.take(truth.values, order, axis=truth.dims.index("presentation")))
