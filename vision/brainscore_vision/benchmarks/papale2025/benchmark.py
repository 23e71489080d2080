"""Compare models with multi-unit activity of two macaques that see THINGS (Papale et al. 2025).

A mapping is fitted to each monkey. Sites have a reliability above .3.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision import load_dataset, load_metric
from brainscore_vision.benchmark_helpers.neural.given_split import of_region, train_test_benchmark
from brainscore_vision.benchmark_helpers.neural_common import TrainTestNeuralBenchmark, average_repetition
from brainscore_vision.data_helpers import cite_data

# Images filled 17.3 degrees for one monkey, 18.6 for the other. Models with a smaller field of view see their centre.
VISUAL_DEGREES = 18
NUMBER_OF_TRIALS = 1
RELIABILITY_THRESHOLD = 0.3
BIBTEX = cite_data("papale2025")


def load_assembly(
    region: str, split: str, average_repetitions: bool, reliability_threshold: float = RELIABILITY_THRESHOLD
) -> NeuroidAssembly:
    """Load the reliable sites of one region, dims (presentation, neuroid); ``split`` is ``'train'`` or ``'test'``."""
    assembly = of_region(load_dataset(f"Papale2025_{split}"), region, above=("reliability", reliability_threshold))
    return average_repetition(assembly) if average_repetitions else assembly


def Papale2025(region: str, metric: str) -> TrainTestNeuralBenchmark:
    """Predict a region by ``'ridge'`` with a penalty of 1, or by ``'ridgecv'`` with a penalty for each monkey."""
    return train_test_benchmark(
        f"Papale2025.{region}-{metric}",
        lambda split: load_assembly(region, split, average_repetitions=False),
        load_metric(f"{metric}_split"),
        version=3,
        alpha_coord="subject",
        visual_degrees=VISUAL_DEGREES,
        number_of_trials=NUMBER_OF_TRIALS,
        parent=region,
        bibtex=BIBTEX,
    )
