"""Make the simulated data set from the photographs once, keep it, and load it as labelled data.

Stimuli and responses are stored under a key that holds the bytes of every photograph, all parameters and the source
code of this plugin, so that a change of any of them makes new data.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from brainscore_core.caching import atomic_directory, cached_file, content_digest, locked
from brainscore_core.config import settings
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

from . import patches, population

__all__ = ["IDENTIFIER", "WINDOW_MS", "load_assembly", "load_stimuli", "simulate"]

IDENTIFIER = "SimulatedCortex2026"
WINDOW_MS = (70, 170)
PARAMETERS = population.PopulationParameters()


def load_stimuli() -> StimulusSet:
    """Load the patches, cutting them on first use.

    Returns
    -------
    StimulusSet
        500 patches of 64 x 64 pixels with the columns ``stimulus_id``, ``object_name`` (the photograph), ``row_px`` and
        ``column_px`` (upper left corner in it), ``size_px``, and ``filename``.

    Raises
    ------
    MissingStimulusError
        If a photograph is not installed.
    """
    paths = patches.photograph_paths()
    folder = settings().cache_home / "simulatedcortex2026" / f"stimuli-{_key(paths)}"
    with locked(folder):
        if not _is_whole(folder):
            shutil.rmtree(folder, ignore_errors=True)
            with atomic_directory(folder) as temporary:
                _write_stimuli(_cut(paths), temporary)
    stimuli = StimulusSet.from_files(folder / "stimuli.csv", folder)
    stimuli.identifier = IDENTIFIER
    return stimuli


def load_assembly(*, noise_free: bool = False) -> NeuroidAssembly:
    """Load the responses of both populations, simulating them on first use.

    Parameters
    ----------
    noise_free : bool
        Whether to return the expected counts instead of spikes.

    Returns
    -------
    NeuroidAssembly
        Dims (presentation, neuroid, time_bin): spikes in the window of 70 to 170 ms. Presentations are stimuli x
        repetitions (stimuli only if ``noise_free``) with the stimulus columns and ``repetition``; neuroids have
        ``neuroid_id``, ``region`` (``'V1'``, ``'IT'``), ``subject`` and ``simulated``. Attributes: ``identifier``,
        ``stimulus_set``, ``stimulus_set_identifier``, ``simulated`` (True), ``seed``, ``number_of_trials``, ``units``.
    """
    stimuli = load_stimuli()
    paths = patches.photograph_paths()
    responses = cached_file(
        "simulatedcortex2026",
        _key(paths),
        ".npz",
        write=_write_arrays,
        read=_read_arrays,
        compute=lambda: simulate(patches.luminance(np.stack([patch.pixels for patch in _cut(paths)])), PARAMETERS),
    )
    kind = "expected" if noise_free else "counts"
    return _package(responses[f"V1_{kind}"], responses[f"IT_{kind}"], stimuli, noise_free=noise_free)


def simulate(images: np.ndarray, parameters: population.PopulationParameters) -> dict[str, np.ndarray]:
    """Return what both populations are expected to fire, and what they fire.

    Parameters
    ----------
    images : array of shape (n_images, size, size)
        Luminance, 0 to 1.

    Returns
    -------
    dict of str to array
        ``V1_expected``, ``IT_expected``: shape (n_images, n_neuroids); ``V1_counts``, ``IT_counts``: shape
        (repetitions, n_images, n_neuroids). Spikes in the window.
    """
    wiring, v1_spikes, it_spikes = (
        np.random.default_rng(seed) for seed in np.random.SeedSequence(parameters.seed).spawn(3)
    )
    energy = population.quadrature_energy(images, parameters)
    energy /= energy.mean()
    expected = {
        "V1": population.expected_counts(population.v1_drive(energy, parameters), parameters),
        "IT": population.expected_counts(population.it_drive(energy, parameters, wiring), parameters),
    }
    spikes = {"V1": v1_spikes, "IT": it_spikes}
    result = {f"{region}_expected": values for region, values in expected.items()}
    for region, values in expected.items():
        result[f"{region}_counts"] = population.poisson_counts(values, parameters.repetitions, spikes[region])
    return result


def _key(paths: Mapping[str, Path]) -> str:
    code = [Path(module.__file__) for module in (patches, population)] + [Path(__file__)]
    files = {**paths, **{path.name: path for path in code}}
    return content_digest(content_digest(files), asdict(PARAMETERS))


def _cut(paths: Mapping[str, Path]) -> list[patches.Patch]:
    return [
        patch for name in sorted(paths) for patch in patches.cut_patches(name, patches.load_photograph(paths[name]))
    ]


def _write_stimuli(cut: list[patches.Patch], folder: Path) -> None:
    rows = []
    for patch in cut:
        stimulus_id = f"{patch.photograph}_{patch.row_px:03d}_{patch.column_px:03d}"
        Image.fromarray(patch.pixels).save(folder / f"{stimulus_id}.png")
        rows.append(
            {
                "stimulus_id": stimulus_id,
                "object_name": patch.photograph,
                "row_px": patch.row_px,
                "column_px": patch.column_px,
                "size_px": patches.PATCH_PX,
                "filename": f"{stimulus_id}.png",
            }
        )
    pd.DataFrame(rows).to_csv(folder / "stimuli.csv", index=False)


def _is_whole(folder: Path) -> bool:
    """Tell whether no file has gone since the folder was made (a person may tidy a cache)."""
    table = folder / "stimuli.csv"
    return table.is_file() and all((folder / name).is_file() for name in pd.read_csv(table)["filename"])


def _write_arrays(arrays: Mapping[str, np.ndarray], path: Path) -> None:
    # Counts are small whole numbers: a quarter of the size, and exact.
    small = {name: values.astype(np.uint16) if name.endswith("counts") else values for name, values in arrays.items()}
    with path.open("wb") as stream:
        np.savez(stream, **small)


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    import zipfile  # only for its error

    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name].astype(float) for name in stored.files}
    except (zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{path} is not a whole archive of arrays: {error}") from error


def _package(v1: np.ndarray, it: np.ndarray, stimuli: StimulusSet, *, noise_free: bool) -> NeuroidAssembly:
    values = np.concatenate([v1, it], axis=-1)
    repetitions = 1 if noise_free else len(values)
    coords: dict[str, Any] = {
        column: ("presentation", np.tile(stimuli[column].to_numpy(), repetitions))
        for column in stimuli.columns
        if column != "filename"
    }
    if not noise_free:
        coords["repetition"] = ("presentation", np.repeat(np.arange(repetitions), len(stimuli)))
    regions = ["V1"] * v1.shape[-1] + ["IT"] * it.shape[-1]
    numbers = [*range(v1.shape[-1]), *range(it.shape[-1])]
    coords |= {
        "neuroid_id": ("neuroid", [f"simulated-{region}-{n:03d}" for region, n in zip(regions, numbers, strict=True)]),
        "region": ("neuroid", regions),
        "subject": ("neuroid", ["simulation"] * len(regions)),
        "simulated": ("neuroid", [True] * len(regions)),
        "time_bin_start": ("time_bin", [WINDOW_MS[0]]),
        "time_bin_end": ("time_bin", [WINDOW_MS[1]]),
    }
    return NeuroidAssembly(
        values.reshape(repetitions * len(stimuli), len(regions), 1),
        coords=coords,
        dims=("presentation", "neuroid", "time_bin"),
        attrs={
            "identifier": f"{IDENTIFIER}.truth" if noise_free else IDENTIFIER,
            "stimulus_set": stimuli,
            "stimulus_set_identifier": IDENTIFIER,
            "simulated": True,
            "seed": PARAMETERS.seed,
            "number_of_trials": PARAMETERS.repetitions,
            "units": "spikes",
        },
    )
