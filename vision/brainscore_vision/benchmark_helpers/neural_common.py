"""Published plugins import this from here."""

from brainscore_core.benchmarks import explained_variance
from brainscore_core.supported_data_standards.brainio.transform import average_repetition
from brainscore_vision.benchmark_helpers.neural.benchmark import NeuralBenchmark, TrainTestNeuralBenchmark
from brainscore_vision.benchmark_helpers.neural.rsa import RSABenchmark
from brainscore_vision.benchmark_helpers.recordings import (
    DEFAULT_TIMEBINS,
    apply_keep_attrs,
    filter_reliable_neuroids,
    flatten_timebins_into_neuroids,
    timebins_from_assembly,
)
from brainscore_vision.benchmark_helpers.scores.normalization import bound_score, neuroid_wise_explained_var
from brainscore_vision.benchmark_helpers.screen import place_on_screen

__all__ = [
    "DEFAULT_TIMEBINS",
    "NeuralBenchmark",
    "RSABenchmark",
    "TrainTestNeuralBenchmark",
    "apply_keep_attrs",
    "average_repetition",
    "bound_score",
    "explained_variance",
    "filter_reliable_neuroids",
    "flatten_timebins_into_neuroids",
    "neuroid_wise_explained_var",
    "place_on_screen",
    "timebins_from_assembly",
]
