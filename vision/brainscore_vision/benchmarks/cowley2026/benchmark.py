"""Predict neurons in V4 of macaques from four sessions (Cowley et al. 2026).

Sessions have their own images and neurons: each is predicted and divided by its reliability separately, and the mean
over sessions is the score. Images have no categories to keep in proportion.
"""

from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision import load_ceiling, load_dataset
from brainscore_vision.benchmark_helpers.multi_subject import MultiSubjectNeuralBenchmark
from brainscore_vision.benchmark_helpers.neural.given_split import of_region
from brainscore_vision.benchmark_helpers.neural.repeated import benchmark_of_repetitions
from brainscore_vision.benchmark_helpers.neural_common import NeuralBenchmark, average_repetition
from brainscore_vision.data_helpers import cite_data

BIBTEX = cite_data("cowley2026")

SESSIONS = ("190923", "201025", "210225", "211022")  # of three animals, one recorded twice


def Cowley2026V4PLS() -> MultiSubjectNeuralBenchmark:
    """Average over sessions, each with the benchmark that `predict_session` makes."""
    return MultiSubjectNeuralBenchmark("Cowley2026.V4-pls", SESSIONS, predict_session, unit="session")


def predict_session(session: str) -> NeuralBenchmark:
    """Predict the neurons of one session; splits are over images in stored order, as published."""
    return benchmark_of_repetitions(
        f"Cowley2026.{session}.V4-pls",
        lambda: of_region(load_dataset(f"Cowley2026.{session}"), "V4"),
        "pls",
        crossvalidation_kwargs={"stratification_coord": None},
        ceiler=reliability,
        compat=True,
        timebins=[(50, 150)],  # ms; only the file of the first session states it
        visual_degrees=11.2,
        number_of_trials=14,  # the most frequent number of repetitions of an image
        parent="V4",
        bibtex=BIBTEX,
    )


def reliability(repetitions: NeuroidAssembly) -> Score:
    """Return the reliability from even and odd repetitions: halves of each image, however often it was shown."""
    halves = repetitions.assign_coords(half=("presentation", repetitions["repetition"].values % 2))
    return load_ceiling("internal_consistency", split_coord="half")(average_repetition(halves))
