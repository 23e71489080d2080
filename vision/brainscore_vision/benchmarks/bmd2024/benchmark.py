"""Compare accuracies with people who name textured or dotted objects."""

from brainscore_vision import load_dataset, load_metric
from brainscore_vision.benchmark_helpers.behaviour.labels import AgreementWithPeople
from brainscore_vision.data_helpers import cite_data

BIBTEX = cite_data("bmd2024")


def accuracy_distance(dataset: str) -> AgreementWithPeople:
    """Compare accuracies on a set of images, such as ``'texture_1'``."""
    return AgreementWithPeople(
        f"BMD2024.{dataset}Behavioral-accuracy_distance",
        load_metric("accuracy_distance"),
        lambda: load_dataset(f"BMD2024.{dataset}"),
        visual_degrees=8,
        parent="BMD2024",
        bibtex=BIBTEX,
    )
