"""Predict a model's features from macaque V4 and IT (Muzellec and Kar 2025).

Recordings are the public ones of Majaj, Hong et al. (2015). A score is divided by the split-half reliability of single
neurons, as published; it may exceed 1.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuronRecordingAssembly
from brainscore_vision import load_ceiling, load_dataset
from brainscore_vision.benchmark_helpers.neural.given_split import of_region
from brainscore_vision.benchmark_helpers.neural.repeated import benchmark_of_repetitions
from brainscore_vision.benchmark_helpers.neural_common import NeuralBenchmark, average_repetition
from brainscore_vision.data_helpers import cite_plugin

VISUAL_DEGREES = 8
NUMBER_OF_TRIALS = 50
BIBTEX = cite_plugin("metrics/regression_correlation", "BIBTEX_REVERSE_PLS")


def load_assembly(average_repetitions: bool, region: str, access: str = "public") -> NeuronRecordingAssembly:
    """Load the responses of one region, dims (presentation, neuroid)."""
    assembly = of_region(load_dataset(f"MajajHong2015.{access}"), region)
    return average_repetition(assembly) if average_repetitions else assembly


def _benchmark(region: str) -> NeuralBenchmark:
    return benchmark_of_repetitions(
        f"MajajHong2015public.{region}-reverse_pls",
        lambda: load_assembly(average_repetitions=False, region=region),
        "reverse_pls",
        crossvalidation_kwargs={"stratification_coord": "object_name"},
        stimulus_cluster="object_name",
        compat=True,
        ceiler=load_ceiling("predictor_consistency"),
        version=4,
        visual_degrees=VISUAL_DEGREES,
        number_of_trials=NUMBER_OF_TRIALS,
        parent=region,
        bibtex=BIBTEX,
    )


def MajajHongV4PublicBenchmark() -> NeuralBenchmark:
    """Predict a model from V4."""
    return _benchmark("V4")


def MajajHongITPublicBenchmark() -> NeuralBenchmark:
    """Predict a model from IT."""
    return _benchmark("IT")
