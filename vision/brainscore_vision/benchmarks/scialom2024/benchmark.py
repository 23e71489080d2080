"""Ask a model to name objects drawn with a part of their contours, and compare with people.

Lonnqvist, Scialom et al. (2025) showed 48 objects of 12 categories as photographs (``rgb``), ``contours``, and 12 to
100 % of the ``phosphenes`` or ``segments``; ``*-all`` join all levels with photographs and contours.
"""

from brainscore_vision import load_dataset, load_metric
from brainscore_vision.benchmark_helpers.behaviour.labels import AgreementWithPeople, LabelAccuracy
from brainscore_vision.data_helpers import cite_data

BIBTEX = cite_data("scialom2024")

VISUAL_DEGREES = 8


def error_consistency(dataset: str, *, published: bool = False) -> AgreementWithPeople:
    """Agreement with people on the drawings named wrongly, beyond that expected from equal accuracy.

    With `published`, the absolute value of the score, unbounded. `dataset` is for example ``'segments-all'``.
    """
    return AgreementWithPeople(
        f"Scialom2024_{dataset}BehavioralErrorConsistency",
        load_metric("error_consistency", compat=published),
        lambda: load_dataset(f"Scialom2024_{dataset}"),
        visual_degrees=VISUAL_DEGREES,
        bounded=not published,
        parent="Scialom2024",
        bibtex=BIBTEX,
    )


def accuracy_distance(dataset: str, *, published: bool = False) -> AgreementWithPeople:
    """Similarity of a model's accuracy to that of people.

    With `published`, drawings fill the model's field of view, whatever its size.
    """
    return AgreementWithPeople(
        f"Scialom2024_{dataset}BehavioralAccuracyDistance",
        load_metric("accuracy_distance", compat=published),
        lambda: load_dataset(f"Scialom2024_{dataset}"),
        visual_degrees=None if published else VISUAL_DEGREES,
        parent="Scialom2024",
        bibtex=BIBTEX,
    )


def engineering_accuracy(dataset: str) -> LabelAccuracy:
    """Share of drawings named correctly; they fill the model's field of view."""
    return LabelAccuracy(
        f"Scialom2024_{dataset}EngineeringAccuracy",
        lambda: load_dataset(f"Scialom2024_{dataset}").stimulus_set,
        number_of_trials=10,
        parent="Scialom2024-top1",
        bibtex=BIBTEX,
    )
