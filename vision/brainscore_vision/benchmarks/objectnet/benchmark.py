"""Ask a model for the category of objects in unusual places and views (Barbu, Mayo et al., 2019)."""

from brainscore_vision import load_stimulus_set
from brainscore_vision.benchmark_helpers.behaviour.labels import LabelAccuracy
from brainscore_vision.data_helpers import cite_data

BIBTEX = cite_data("barbumayo2019")

NUMBER_OF_TRIALS = 10


def objectnet_accuracy() -> LabelAccuracy:
    """Share of images named correctly among the 1000 categories of ImageNet; they fill the model's field of view."""
    return LabelAccuracy(
        "ObjectNet-top1",
        lambda: load_stimulus_set("BarbuMayo2019"),
        truth="synset",
        choices="imagenet",
        number_of_trials=NUMBER_OF_TRIALS,
        parent="engineering",
        bibtex=BIBTEX,
    )
