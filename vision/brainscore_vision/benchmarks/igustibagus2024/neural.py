"""Compare models with macaque IT that sees objects in styles other than photographs (Igustibagus et al. 2024).

Images with one background are never split between training and test. Sites have a split-half reliability above .7.
"""

import numpy as np
from numpy.typing import NDArray

from brainscore_core.supported_data_standards.brainio.assemblies import NeuronRecordingAssembly
from brainscore_vision import load_ceiling, load_dataset
from brainscore_vision.benchmark_helpers.neural.repeated import benchmark_of_repetitions
from brainscore_vision.benchmark_helpers.neural_common import NeuralBenchmark, average_repetition
from brainscore_vision.data_helpers import cite_data

VISUAL_DEGREES = 8
NUMBER_OF_TRIALS = 63
RELIABILITY_THRESHOLD = 0.7
SOURCES = ("COCOColor", "Art", "COCOGray", "TDW", "Silhouette")
STYLES = (
    "silhouettes", "edges", "original", "sketch", "textures", "painting", "mosaic", "grayscale", "convex_hull",
    "outline", "silhouette", "line_drawing", "cartoon",
)  # fmt: skip
BIBTEX = cite_data("igustibagus2024")

Positions = NDArray[np.intp]


def load_domain_transfer(average_repetitions: bool) -> NeuronRecordingAssembly:
    """Load reliable sites from 70 to 170 ms, dims (presentation, neuroid), and the compared images."""
    assembly = load_dataset("Igustibagus2024")
    assembly = assembly[{"time_bin": np.flatnonzero(assembly["time_bin_id"].values == 0)}].squeeze("time_bin")
    assembly = assembly.transpose("presentation", "neuroid")
    reliability = load_ceiling("internal_consistency", n_bootstrap=0)(assembly).attrs["raw"].mean("split").values
    assembly = assembly[{"neuroid": np.flatnonzero(reliability > RELIABILITY_THRESHOLD)}]
    stimuli = assembly.attrs["stimulus_set"]
    compared = stimuli[stimuli["stimulus_source"].isin(SOURCES) & stimuli["object_style"].isin(STYLES)]
    compared.identifier = stimuli.identifier
    recorded = np.isin(assembly["stimulus_id"].values, compared["stimulus_id"]) & ~np.isnan(assembly.values).all(axis=1)
    assembly = assembly[{"presentation": np.flatnonzero(recorded)}]
    assembly.attrs["stimulus_set"] = compared
    return average_repetition(assembly) if average_repetitions else assembly


def without_shared_backgrounds(
    train: Positions, test: Positions, assembly: NeuronRecordingAssembly
) -> tuple[Positions, Positions]:
    """Remove training images that share a background with a test image; number 0 means no background."""
    backgrounds = assembly["background_id"].values
    in_test = np.unique(backgrounds[test][backgrounds[test] != 0])
    return train[~np.isin(backgrounds[train], in_test)], test


def Igustibagus2024Ridge() -> NeuralBenchmark:
    """Predict IT; splits keep the proportions of objects."""
    options = {"stratification_coord": "object_label", "preprocess_indices": without_shared_backgrounds}
    return benchmark_of_repetitions(
        "Igustibagus2024-ridge",
        lambda: load_domain_transfer(average_repetitions=False),
        "ridge",
        crossvalidation_kwargs=options,
        compat=True,
        version=2,
        visual_degrees=VISUAL_DEGREES,
        number_of_trials=NUMBER_OF_TRIALS,
        timebins=[(70, 170)],
        parent="IT",
        bibtex=BIBTEX,
    )
