"""Compare models with macaque V4 and IT for HvM, BOLD5000 or Rust2012, recorded the same way (Sanghavi et al. 2020)."""

import numpy as np

from brainscore_core.supported_data_standards.brainio.assemblies import NeuronRecordingAssembly
from brainscore_vision import load_dataset
from brainscore_vision.benchmark_helpers.neural.given_split import of_region
from brainscore_vision.benchmark_helpers.neural.repeated import benchmark_of_repetitions
from brainscore_vision.benchmark_helpers.neural_common import NeuralBenchmark, average_repetition
from brainscore_vision.data_helpers import cite_plugin


def load_assembly(dataset: str, average_repetitions: bool, region: str) -> NeuronRecordingAssembly:
    """Load the responses of one region from 70 to 170 ms, dims (presentation, neuroid)."""
    assembly = load_dataset(dataset)
    early = np.flatnonzero(assembly["time_bin_id"].values == 0)
    assembly = of_region(assembly[{"time_bin": early}], region)
    return average_repetition(assembly) if average_repetitions else assembly


def _benchmark(
    dataset: str, region: str, *, visual_degrees: float, number_of_trials: int, cluster: str | None, bibtex: str
) -> NeuralBenchmark:
    return benchmark_of_repetitions(
        f"{dataset}.{region}-pls",
        lambda: load_assembly(dataset, average_repetitions=False, region=region),
        "pls",
        crossvalidation_kwargs={"stratification_coord": cluster},
        stimulus_cluster=cluster,
        compat=True,
        version=2,
        visual_degrees=visual_degrees,
        number_of_trials=number_of_trials,
        timebins=[(70, 170)],
        parent=region,
        bibtex=bibtex,
    )


def Sanghavi2020(region: str) -> NeuralBenchmark:
    """Predict V4 or IT that sees the objects of HvM; splits keep their proportions."""
    bibtex = cite_plugin("data/sanghavi2020", "BIBTEX_SANGHAVI")
    return _benchmark(
        "Sanghavi2020", region, visual_degrees=8, number_of_trials=28, cluster="object_name", bibtex=bibtex
    )


def SanghaviJozwik2020(region: str) -> NeuralBenchmark:
    """Predict V4 or IT that sees natural images of BOLD5000."""
    bibtex = cite_plugin("data/sanghavi2020", "BIBTEX_SANGHAVIJOZWIK")
    return _benchmark("SanghaviJozwik2020", region, visual_degrees=8, number_of_trials=37, cluster=None, bibtex=bibtex)


def SanghaviMurty2020(region: str) -> NeuralBenchmark:
    """Predict V4 or IT that sees the natural images of Rust2012."""
    bibtex = cite_plugin("data/sanghavi2020", "BIBTEX_SANGHAVIMURTY")
    return _benchmark("SanghaviMurty2020", region, visual_degrees=5, number_of_trials=50, cluster=None, bibtex=bibtex)
