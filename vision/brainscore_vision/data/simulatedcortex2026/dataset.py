"""Simulate the data set once, store it, and load it as labelled data.

The storage key covers photographs, parameters and the source code of this plugin.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd
from PIL import Image

from brainscore_core.config import settings
from brainscore_core.files import atomic_directory, locked
from brainscore_core.identity.digest import content_digest
from brainscore_core.identity.store import cached_file
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

from . import patches, population

__all__ = ["IDENTIFIER", "WINDOW_MS", "load_assembly", "load_stimuli", "simulate"]

IDENTIFIER = "SimulatedCortex2026"
WINDOW_MS = (70, 170)
PARAMETERS = population.PopulationParameters()
# Regions between V1 and IT are like stages: they combine two, three, and in IT four inputs.
V2 = replace(PARAMETERS, it_inputs=2, it_subunits=12, it_neuroids=80)
V4 = replace(PARAMETERS, it_inputs=3, it_subunits=12, it_neuroids=96)
REGIONS = ("V1", "V2", "V4", "IT")
TIME_BINS_MS = ((70, 90), (90, 110), (110, 130), (130, 150), (150, 170))


def load_stimuli() -> StimulusSet:
    """Load the patches, cutting them on first use: 500 patches of 64 x 64 pixels.

    Columns are ``stimulus_id``, ``object_name`` (the photograph), ``row_px`` and ``column_px`` (upper left corner in
    it), ``size_px``, and ``filename``.
    """
    paths = patches.photograph_paths()
    folder = settings().cache_home / "simulatedcortex2026" / f"stimuli-{_key(paths)}"
    with locked(folder):
        table = folder / "stimuli.csv"  # users may delete cached files
        if not (table.is_file() and all((folder / name).is_file() for name in pd.read_csv(table)["filename"])):
            shutil.rmtree(folder, ignore_errors=True)
            with atomic_directory(folder) as temporary:
                _write_stimuli(_cut(paths), temporary)
    stimuli = StimulusSet.from_files(table, folder)
    stimuli.identifier = IDENTIFIER
    return stimuli


def load_assembly(*, noise_free: bool = False, temporal: bool = False) -> NeuroidAssembly:
    """Load the responses of all populations, simulating them on first use.

    Spikes from 70 to 170 ms, or expected counts if `noise_free`; if `temporal`, IT in five bins of 20 ms. Dims
    (presentation, neuroid, time_bin); presentations are stimuli x repetitions (stimuli only if `noise_free`).
    Attributes also hold ``simulated`` (True), ``seed``, ``number_of_trials`` and ``units``.
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
    identifier = IDENTIFIER + (".temporal" if temporal else "") + (".truth" if noise_free else "")
    if temporal:
        return _package({"IT": responses[f"temporal_{kind}"]}, TIME_BINS_MS, stimuli, identifier, noise_free=noise_free)
    counts = {region: responses[f"{region}_{kind}"][..., np.newaxis] for region in REGIONS}
    return _package(counts, (WINDOW_MS,), stimuli, identifier, noise_free=noise_free)


def simulate(images: np.ndarray, parameters: population.PopulationParameters) -> dict[str, np.ndarray]:
    """Return expected and drawn spike counts of all populations for luminance images, shape (n_images, size, size).

    ``V1_expected`` and so on for all regions have shape (n_images, n_neuroids); ``V1_counts`` and so on (repetitions,
    n_images, n_neuroids). ``temporal_expected`` and ``temporal_counts`` are IT in five time bins, the last axis.
    """
    # The seeds of IT and V1 come first: their responses predate V2 and V4.
    names = ("IT wiring", "V1", "IT", "V2 wiring", "V4 wiring", "V2", "V4", "late")
    seeds = np.random.SeedSequence(parameters.seed).spawn(len(names))
    random = {name: np.random.default_rng(seed) for name, seed in zip(names, seeds, strict=True)}
    energy = population.quadrature_energy(images, parameters)
    energy /= energy.mean()
    drives = {"V1": population.v1_drive(energy, parameters)}
    for region, stage in (("V2", V2), ("V4", V4), ("IT", parameters)):
        drives[region] = population.it_drive(energy, stage, random[f"{region} wiring"])
    expected = {region: population.expected_counts(drive, parameters) for region, drive in drives.items()}
    courses = population.time_course(expected["V4"][:, : parameters.it_neuroids], expected["IT"])
    result = {f"{region}_expected": values for region, values in expected.items()} | {"temporal_expected": courses}
    for region, values in expected.items():
        result[f"{region}_counts"] = population.poisson_counts(values, parameters.repetitions, random[region])
    result["temporal_counts"] = population.poisson_counts(courses, parameters.repetitions, random["late"])
    return result


def _key(paths: Mapping[str, Path]) -> str:
    code = [Path(module.__file__) for module in (patches, population)] + [Path(__file__)]
    files = {**paths, **{path.name: path for path in code}}
    return content_digest(content_digest(files), [asdict(stage) for stage in (PARAMETERS, V2, V4)])


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


def _write_arrays(arrays: Mapping[str, np.ndarray], path: Path) -> None:
    # Counts are small whole numbers: a quarter of the size, and exact.
    small = {name: values.astype(np.uint16) if name.endswith("counts") else values for name, values in arrays.items()}
    with path.open("wb") as stream:
        np.savez(stream, **small)


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name].astype(float) for name in stored.files}
    except (BadZipFile, EOFError) as error:
        raise ValueError(f"{path} is not a complete archive of arrays: {error}") from error


def _package(
    counts: Mapping[str, np.ndarray],
    time_bins: Sequence[tuple[int, int]],
    stimuli: StimulusSet,
    identifier: str,
    *,
    noise_free: bool,
) -> NeuroidAssembly:
    """Label counts of regions, shape ([repetitions,] n_images, n_neuroids, n_time_bins)."""
    values = np.concatenate(list(counts.values()), axis=-2)
    repetitions = 1 if noise_free else len(values)
    coords: dict[str, Any] = {
        column: ("presentation", np.tile(stimuli[column].to_numpy(), repetitions))
        for column in stimuli.columns
        if column != "filename"
    }
    if not noise_free:
        coords["repetition"] = ("presentation", np.repeat(np.arange(repetitions), len(stimuli)))
    numbered = [(region, number) for region, responses in counts.items() for number in range(responses.shape[-2])]
    coords |= {
        "neuroid_id": ("neuroid", [f"simulated-{region}-{number:03d}" for region, number in numbered]),
        "region": ("neuroid", [region for region, _ in numbered]),
        "subject": ("neuroid", ["simulation"] * len(numbered)),
        "simulated": ("neuroid", [True] * len(numbered)),
        "time_bin_start": ("time_bin", [start for start, _ in time_bins]),
        "time_bin_end": ("time_bin", [end for _, end in time_bins]),
    }
    return NeuroidAssembly(
        values.reshape(repetitions * len(stimuli), len(numbered), len(time_bins)),
        coords=coords,
        dims=("presentation", "neuroid", "time_bin"),
        attrs={
            "identifier": identifier,
            "stimulus_set": stimuli,
            "stimulus_set_identifier": IDENTIFIER,
            "simulated": True,
            "seed": PARAMETERS.seed,
            "number_of_trials": PARAMETERS.repetitions,
            "units": "spikes",
        },
    )
