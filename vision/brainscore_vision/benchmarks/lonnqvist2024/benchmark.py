"""Let a model learn to judge curves that cross, and compare its accuracy with people's."""

from brainscore_vision import load_dataset, load_metric, load_stimulus_set
from brainscore_vision.benchmark_helpers.behaviour.labels import AgreementWithPeople, LabelAccuracy
from brainscore_vision.data_helpers import cite_data

BIBTEX = cite_data("lonnqvist2024")

VISUAL_DEGREES = 17.70753


def accuracy_distance(kind: str, dataset: str) -> AgreementWithPeople:
    """Compare accuracies with the people of one experiment, such as ``'inlab-instructions'``."""
    return AgreementWithPeople(
        f"Lonnqvist2024_{kind}BehavioralAccuracyDistance",
        load_metric("accuracy_distance"),
        lambda: load_dataset(f"Lonnqvist2024_{dataset}"),
        load_fitting_stimuli=lambda: load_stimulus_set("Lonnqvist2024_train"),
        visual_degrees=VISUAL_DEGREES,
        parent="Lonnqvist2024",
        bibtex=BIBTEX,
    )


def engineering_accuracy() -> LabelAccuracy:
    """Share of right answers."""
    return LabelAccuracy(
        "Lonnqvist2024_EngineeringAccuracy",
        lambda: load_stimulus_set("Lonnqvist2024_test"),
        load_fitting_stimuli=lambda: load_stimulus_set("Lonnqvist2024_train"),
        visual_degrees=VISUAL_DEGREES,
        parent="Lonnqvist2024",
        bibtex=BIBTEX,
    )
