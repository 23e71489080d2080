"""Compare models with V1 and V2 of macaques that saw textures and noise of equal spectra (Freeman, Ziemba et al. 2013).

Images of 4 degrees in a soft aperture, 20 times each; spikes 50 to 200 ms after onset. Textures and noise are in every
fold.
"""

from functools import partial

import numpy as np

from brainscore_vision import load_dataset
from brainscore_vision.benchmark_helpers.neural.repeated import benchmark_of_repetitions
from brainscore_vision.benchmark_helpers.neural_common import NeuralBenchmark, apply_keep_attrs, average_repetition
from brainscore_vision.data_helpers import cite_data
from brainscore_vision.model_helpers.brain_transformation.temporal import assembly_time_align

BIBTEX = cite_data("freemanziemba2013")

VISUAL_DEGREES = 4
NUMBER_OF_TRIALS = 20
TIME_WINDOW = (50, 200)  # ms after onset


def FreemanZiemba2013(region: str, *, access: str = "private", metric: str = "pls") -> NeuralBenchmark:
    """Make a benchmark on V1 or V2; ``access`` is that of `load_assembly`.

    Only ``pls`` is published, so other metrics are outside all averages: they would count the experiment twice.
    """
    public = access == "public"
    return benchmark_of_repetitions(
        f"FreemanZiemba2013{'public' if public else ''}.{region}-{metric}",
        lambda: load_assembly(False, region, access),
        metric,
        crossvalidation_kwargs={"stratification_coord": "texture_type"},
        compat=True,
        version=1 if public else 3,
        visual_degrees=VISUAL_DEGREES,
        number_of_trials=NUMBER_OF_TRIALS,
        parent=region if metric == "pls" and not public else None,
        bibtex=BIBTEX,
    )


def load_assembly(average_repetitions: bool, region: str, access: str = "private"):
    """Load mean spikes of one region in `TIME_WINDOW`, dims (presentation, neuroid)."""
    assembly = load_dataset(f"FreemanZiemba2013.{access}")
    assembly = assembly[{"neuroid": np.flatnonzero(assembly["region"].values == region)}]
    assembly = apply_keep_attrs(assembly, lambda spikes: assembly_time_align(spikes, [TIME_WINDOW]))
    assembly = assembly.squeeze("time_bin").transpose("presentation", "neuroid")
    return average_repetition(assembly) if average_repetitions else assembly


# Names that published code imports.
MovshonFreemanZiemba2013V1PLS = partial(FreemanZiemba2013, "V1")
MovshonFreemanZiemba2013V2PLS = partial(FreemanZiemba2013, "V2")
