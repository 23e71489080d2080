"""Make small stimulus sets, assemblies and images for tests; ``seed`` determines all random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from brainscore_core.supported_data_standards.brainio.assemblies import (
    BehavioralAssembly,
    NeuroidAssembly,
    PropertyAssembly,
    SpikeTimesAssembly,
)
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = [
    "answers_of",
    "assembly_of",
    "make_behavioral_assembly",
    "make_images",
    "make_neuroid_assembly",
    "make_property_assembly",
    "make_spike_times_assembly",
    "make_stimulus_ids",
    "make_stimulus_set",
    "trials_of",
]

_OBJECTS = ("cat", "dog", "car", "boat")


def make_stimulus_ids(n_stimuli: int) -> list[str]:
    """Return ``['stimulus_000', 'stimulus_001', ...]``."""
    return [f"stimulus_{number:03d}" for number in range(n_stimuli)]


def make_images(folder: str | Path, n_images: int = 8, *, size_px: int = 16, seed: int = 0) -> dict[str, Path]:
    """Write square PNG images of random colours; return stimulus id -> file, see `make_stimulus_ids`."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(seed)
    paths = {}
    for stimulus_id in make_stimulus_ids(n_images):
        pixels = generator.integers(0, 256, size=(size_px, size_px, 3), dtype=np.uint8)
        paths[stimulus_id] = folder / f"{stimulus_id}.png"
        Image.fromarray(pixels).save(paths[stimulus_id])
    return paths


def make_stimulus_set(
    folder: str | Path, n_stimuli: int = 8, *, identifier: str = "Synthetic2026", size_px: int = 16, seed: int = 0
) -> StimulusSet:
    """Make a stimulus set with an image per stimulus, see `make_images`.

    Its columns are ``stimulus_id`` (text), ``object_name`` (text, four objects in turn), ``background_id`` (int) and
    ``s`` (float in [0.5, 1.5], the object's size).
    """
    paths = make_images(folder, n_stimuli, size_px=size_px, seed=seed)
    generator = np.random.default_rng([seed, 1])
    stimulus_set = StimulusSet(
        {
            "stimulus_id": list(paths),
            "object_name": _objects(n_stimuli),
            "background_id": np.arange(n_stimuli) % 3,
            "s": generator.uniform(0.5, 1.5, n_stimuli),
        }
    )
    stimulus_set.identifier = identifier
    stimulus_set.stimulus_paths = paths
    return stimulus_set


def make_neuroid_assembly(
    n_stimuli: int = 8,
    n_neuroids: int = 6,
    *,
    n_repetitions: int = 1,
    time_bins: Sequence[tuple[float, float]] | None = None,
    noise: float = 0.1,
    regions: Sequence[str] = ("V4", "IT"),
    identifier: str = "Synthetic2026",
    seed: int = 0,
) -> NeuroidAssembly:
    """Make responses of neuroids: a signal per stimulus and neuroid, plus noise in each repetition.

    Parameters
    ----------
    time_bins : sequence of (start, end), optional
        Edges in ms; None leaves the dimension out.
    noise
        Standard deviation of the noise; the signal's is 1.
    regions
        Assigned to neuroids in turn.

    Returns
    -------
    NeuroidAssembly
        Dims (presentation, neuroid[, time_bin]); presentation coordinates ``stimulus_id``, ``object_name``,
        ``repetition``; neuroid coordinates ``neuroid_id``, ``region``, ``subject``.
    """
    generator = np.random.default_rng(seed)
    bins = [(70.0, 170.0)] if time_bins is None else list(time_bins)
    signal = generator.standard_normal((n_stimuli, n_neuroids, len(bins)))
    shape = (n_stimuli * n_repetitions, n_neuroids, len(bins))
    values = np.tile(signal, (n_repetitions, 1, 1)) + noise * generator.standard_normal(shape)
    coords: dict[str, tuple[str, Any]] = {
        "stimulus_id": ("presentation", np.tile(make_stimulus_ids(n_stimuli), n_repetitions)),
        "object_name": ("presentation", np.tile(_objects(n_stimuli), n_repetitions)),
        "repetition": ("presentation", np.repeat(np.arange(n_repetitions), n_stimuli)),
        "neuroid_id": ("neuroid", [f"neuroid_{number:03d}" for number in range(n_neuroids)]),
        "region": ("neuroid", [regions[number % len(regions)] for number in range(n_neuroids)]),
        "subject": ("neuroid", [f"subject_{number % 2}" for number in range(n_neuroids)]),
    }
    dims = ["presentation", "neuroid"]
    if time_bins is None:
        values = values[:, :, 0]
    else:
        dims.append("time_bin")
        coords["time_bin_start"] = ("time_bin", [start for start, _ in bins])
        coords["time_bin_end"] = ("time_bin", [end for _, end in bins])
    return NeuroidAssembly(values, coords=coords, dims=dims, attrs=_identifiers(identifier))


def assembly_of(values: npt.ArrayLike, **coords: Any) -> NeuroidAssembly:  # coordinates hold anything
    """Label responses, shape (n_presentations, n_neuroids) or (n_presentations, n_neuroids, n_time_bins).

    Coordinates are added to, or replace, ``stimulus_id`` (s00, s01, ...), ``object_name`` (one for all), ``neuroid_id``
    (n0, n1, ...) and ``region`` (IT). A pair is (dimension, values); anything else is along presentation. None leaves
    the coordinate out.

    Examples
    --------
    >>> assembly_of([[1.0, 2.0], [3.0, 4.0]], subject=("neuroid", ["a", "b"]))["subject"].values.tolist()
    ['a', 'b']
    """
    array = np.asarray(values)
    n_presentations, n_neuroids = array.shape[:2]
    entries: dict[str, Any] = {
        "stimulus_id": [f"s{number:02d}" for number in range(n_presentations)],
        "object_name": ["o"] * n_presentations,
        "neuroid_id": ("neuroid", [f"n{number}" for number in range(n_neuroids)]),
        "region": ("neuroid", ["IT"] * n_neuroids),
        **coords,
    }
    dims = ["presentation", "neuroid", "time_bin"][: array.ndim]
    return NeuroidAssembly(array, coords=_placed(entries), dims=dims)


def trials_of(values: npt.ArrayLike, **coords: Any) -> NeuroidAssembly:  # coordinates hold anything
    """Label trials, shape (n_repetitions, n_stimuli, n_neuroids), see `assembly_of`."""
    array = np.asarray(values)
    repetition, stimulus = np.indices(array.shape[:2]).reshape(2, -1)
    ids = [f"s{number:02d}" for number in stimulus]
    return assembly_of(array.reshape(len(ids), -1), **{"stimulus_id": ids, "repetition": repetition, **coords})


def answers_of(values: npt.ArrayLike, **coords: Any) -> BehavioralAssembly:  # coordinates hold anything
    """Label answers.

    Parameters
    ----------
    values : array-like, shape (n_presentations,), (1, n_presentations) or (n_presentations, n_choices)
        The last shape needs a coordinate ``choice``.
    **coords
        The only coordinates, as of `assembly_of`.

    Examples
    --------
    >>> answers_of([[0.2, 0.8]], stimulus_id=["a"], choice=("choice", ["cat", "dog"])).dims
    ('presentation', 'choice')
    """
    array = np.asarray(values)
    dims = ["choice", "presentation"] if array.ndim > 1 and "choice" not in coords else ["presentation", "choice"]
    return BehavioralAssembly(array, coords=_placed(coords), dims=dims[: array.ndim])


def _placed(entries: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {
        name: entry if isinstance(entry, tuple) else ("presentation", entry)
        for name, entry in entries.items()
        if entry is not None
    }


def make_behavioral_assembly(
    n_stimuli: int = 8,
    *,
    n_subjects: int = 3,
    accuracy: float = 0.75,
    probabilities: bool = False,
    identifier: str = "Synthetic2026",
    seed: int = 0,
) -> BehavioralAssembly:
    """Make choices of each subject among four objects for every stimulus, or a distribution over them per stimulus.

    Parameters
    ----------
    accuracy
        Probability of the right choice; the wrong ones are equally likely.
    probabilities
        Whether the values are probabilities (then there are no subjects).

    Returns
    -------
    BehavioralAssembly
        Choices: text, dims (presentation,), coordinates ``stimulus_id``, ``truth``, ``subject``. Probabilities: dims
        (presentation, choice), coordinates ``stimulus_id``, ``truth`` and ``choice``.
    """
    generator = np.random.default_rng(seed)
    ids, truth = np.array(make_stimulus_ids(n_stimuli)), np.array(_objects(n_stimuli))
    wrong = (1 - accuracy) / (len(_OBJECTS) - 1)
    chances = np.where(truth[:, np.newaxis] == np.array(_OBJECTS), accuracy, wrong)
    if probabilities:
        coords = {
            "stimulus_id": ("presentation", ids),
            "truth": ("presentation", truth),
            "choice": ("choice", list(_OBJECTS)),
        }
        return BehavioralAssembly(chances, coords, ["presentation", "choice"], attrs=_identifiers(identifier))
    repeated = np.tile(chances, (n_subjects, 1))
    picked = (generator.random((len(repeated), 1)) > repeated.cumsum(axis=1)[:, :-1]).sum(axis=1)
    coords = {
        "stimulus_id": ("presentation", np.tile(ids, n_subjects)),
        "truth": ("presentation", np.tile(truth, n_subjects)),
        "subject": ("presentation", np.repeat([f"subject_{number}" for number in range(n_subjects)], n_stimuli)),
    }
    return BehavioralAssembly(np.array(_OBJECTS)[picked], coords, ["presentation"], attrs=_identifiers(identifier))


def make_property_assembly(
    n_neuroids: int = 20, *, property_name: str = "preferred_orientation", seed: int = 0
) -> PropertyAssembly:
    """Make one property, uniform in [0, 1), per neuroid: dims (neuroid, neuronal_property)."""
    values = np.random.default_rng(seed).random((n_neuroids, 1))
    coords = {
        "neuroid_id": ("neuroid", [f"neuroid_{number:03d}" for number in range(n_neuroids)]),
        "region": ("neuroid", ["V1"] * n_neuroids),
        "neuronal_property": ("neuronal_property", [property_name]),
    }
    return PropertyAssembly(values, coords, ["neuroid", "neuronal_property"])


def make_spike_times_assembly(n_events: int = 50, *, n_neuroids: int = 4, seed: int = 0) -> SpikeTimesAssembly:
    """Make sorted spike times in ms, uniform in [0, 1000): dims (event,), coordinate ``neuroid_id``."""
    generator = np.random.default_rng(seed)
    times = np.sort(generator.uniform(0, 1000, n_events))
    neuroids = [f"neuroid_{number:03d}" for number in generator.integers(0, n_neuroids, n_events)]
    return SpikeTimesAssembly(times, {"neuroid_id": ("event", neuroids)}, ["event"])


def _objects(n_stimuli: int) -> list[str]:
    return [_OBJECTS[number % len(_OBJECTS)] for number in range(n_stimuli)]


def _identifiers(identifier: str) -> dict[str, str]:
    return {"identifier": identifier, "stimulus_set_identifier": identifier}
