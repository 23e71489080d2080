"""Compare models with macaque IT that sees letters, words and non-words (Rajalingham et al. 2020)."""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuronRecordingAssembly
from brainscore_vision import load_dataset
from brainscore_vision.benchmark_helpers.neural.given_split import of_region
from brainscore_vision.benchmark_helpers.neural.repeated import benchmark_of_repetitions
from brainscore_vision.benchmark_helpers.neural_common import NeuralBenchmark, average_repetition
from brainscore_vision.data_helpers import cite_data

VISUAL_DEGREES = 8
NUMBER_OF_TRIALS = 33
BIBTEX = cite_data("rajalingham2020")


def load_assembly(average_repetitions: bool, region: str) -> NeuronRecordingAssembly:
    """Load the responses of one region, dims (presentation, neuroid)."""
    assembly = of_region(load_dataset("Rajalingham2020"), region)
    return average_repetition(assembly) if average_repetitions else assembly


def DicarloRajalingham2020ITPLS() -> NeuralBenchmark:
    """Predict IT; images have no categories that splits could keep in proportion."""
    return benchmark_of_repetitions(
        "Rajalingham2020.IT-pls",
        lambda: load_assembly(average_repetitions=False, region="IT"),
        "pls",
        crossvalidation_kwargs={"stratification_coord": None},
        compat=True,
        version=2,
        visual_degrees=VISUAL_DEGREES,
        number_of_trials=NUMBER_OF_TRIALS,
        timebins=[(70, 170)],
        parent="IT",
        bibtex=BIBTEX,
    )
