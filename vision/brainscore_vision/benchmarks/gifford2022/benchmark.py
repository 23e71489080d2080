"""Compare models with EEG of people who looked at objects of THINGS.

Each electrode in each bin of 10 ms from 0 to 600 ms after onset is a neuroid, predicted separately for each person. EEG
has no region; it is compared with IT.
"""

from typing import Literal

import numpy as np

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly, walk_coords
from brainscore_vision import load_dataset, load_metric
from brainscore_vision.benchmark_helpers.neural.given_split import train_test_benchmark
from brainscore_vision.benchmark_helpers.neural_common import (
    TrainTestNeuralBenchmark,
    average_repetition,
    flatten_timebins_into_neuroids,
)
from brainscore_vision.benchmark_helpers.recordings import name_neuroids_apart
from brainscore_vision.data_helpers import cite_data

BIBTEX = cite_data("gifford2022")

VISUAL_DEGREES = 7
WINDOW_MS = (0, 600)
# Few: each of ten people has 1,020 neuroids and 16,540 stimuli.
ALPHAS = [
    *(0.01, 0.1, 0.5, 1, 10, 50, 100, 500, 1000, 5000),
    *(1e4, 3.25e4, 5.5e4, 7.75e4),
    *(1e5, 3.25e5, 5.5e5, 7.75e5),
    *(1e6, 3.25e6, 5.5e6, 7.75e6, 1e7),
]


def load_assembly(region: str, split: Literal["train", "test"], average_repetitions: bool = True) -> NeuroidAssembly:
    """Load electrodes and time bins as neuroids, dims (presentation, neuroid), in single precision.

    Repetitions are averaged while reading: the training data exceed the memory of many machines.
    """
    assembly = load_dataset(f"Gifford2022_{split}")
    coords = {name: (dims, values) for name, dims, values in walk_coords(assembly)}
    for name in ("time_bin_start", "time_bin_end"):  # seconds
        coords[name] = ("time_bin", np.rint(coords[name][1] * 1000).astype(int))
    assembly = NeuroidAssembly(assembly.values, coords=coords, dims=assembly.dims, attrs=dict(assembly.attrs))
    starts = assembly["time_bin_start"].values
    assembly = assembly[{"time_bin": np.flatnonzero((starts >= WINDOW_MS[0]) & (starts < WINDOW_MS[1]))}]
    if average_repetitions:
        assembly = average_repetition(assembly)
    assembly = flatten_timebins_into_neuroids(assembly.astype(np.float32)).squeeze("time_bin")
    assembly["region"] = "neuroid", [region] * assembly.sizes["neuroid"]
    return name_neuroids_apart(assembly, by="recording_time")


def Gifford2022(region: str, metric_type: str, **kwargs) -> TrainTestNeuralBenchmark:
    """Predict responses by ``ridge`` or ``ridgecv``."""
    return train_test_benchmark(
        f"Gifford2022.{region}-{metric_type}",
        lambda split: load_assembly(region, split, average_repetitions=split == "train"),
        load_metric(f"{metric_type}_split", alphas=ALPHAS),
        version=3,
        visual_degrees=VISUAL_DEGREES,
        number_of_trials=1,
        alpha_coord="subject",
        parent=region,
        bibtex=BIBTEX,
        **kwargs,
    )
