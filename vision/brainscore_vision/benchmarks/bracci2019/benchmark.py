"""Compare the geometry of models with human fMRI of animals, objects, and objects like animals (Bracci et al. 2019).

The mean pattern over conditions is subtracted from the voxels of each subject. The mean over subjects is divided by the
highest possible value.
"""

from functools import cache

import numpy as np

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision import load_ceiling, load_dataset, load_stimulus_set
from brainscore_vision.benchmark_helpers.neural_common import RSABenchmark
from brainscore_vision.data_helpers import cite_data
from brainscore_vision.utils import LazyLoad

VISUAL_DEGREES = 8
NUMBER_OF_TRIALS = 1
REGIONS = {"V1": (0, "V1"), "posteriorVTC": (1, "IT"), "anteriorVTC": (2, "IT")}
"""Number of a region of interest in the data, and the model region compared with it."""
BIBTEX = cite_data("bracci2019")


def average_subjects(patterns: NeuroidAssembly) -> NeuroidAssembly:
    """Average n-th voxels over subjects, as subject ``'average'``."""
    voxels, of_voxel = np.unique(patterns["voxels"].values, return_inverse=True)
    weights = np.eye(len(voxels))[of_voxel] / np.bincount(of_voxel)
    coords = {
        "stimulus_id": ("presentation", patterns["stimulus_id"].values),
        "voxels": ("neuroid", voxels),
        "subject": ("neuroid", ["average"] * len(voxels)),
    }
    return NeuroidAssembly(patterns.values @ weights, coords=coords, dims=patterns.dims, attrs=patterns.attrs)


def Bracci2019RSA(region: str, *, published: bool = False, identifier: str | None = None) -> RSABenchmark:
    """Compare with ``'V1'``, ``'posteriorVTC'`` or ``'anteriorVTC'``; only the last is published, and in averages."""

    @cache
    def patterns() -> NeuroidAssembly:
        assembly = load_dataset("Bracci2019")
        assembly = assembly.sel(neuroid=assembly["roi"] == REGIONS[region][0]).transpose("presentation", "neuroid")
        stimuli = load_stimulus_set("Bracci2019")
        centred = assembly.copy(data=assembly.values - assembly.values.mean(axis=0))  # each voxel has mean 0
        centred.attrs.update(stimulus_set=stimuli, stimulus_set_identifier=stimuli.identifier)
        return centred

    ceiling = load_ceiling("rsa_ceiling", **({"bound": "lower", "compat": True} if published else {}))
    benchmark = RSABenchmark(
        identifier=identifier or f"Bracci2019.{region}-rdm",
        version=1,  # same scores: only identifiers change
        assembly=LazyLoad(lambda: average_subjects(patterns()) if published else patterns()),
        region=REGIONS[region][1],
        visual_degrees=VISUAL_DEGREES,
        number_of_trials=NUMBER_OF_TRIALS,
        ceiler=lambda _: ceiling(patterns()),
        parent="Bracci2019",
        bibtex=BIBTEX,
    )
    if region != "anteriorVTC":
        benchmark.parent = None
    return benchmark
