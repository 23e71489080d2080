"""Ask a model for the category of the 50,000 validation images of ImageNet (Deng et al., 2009)."""

from brainscore_vision import load_stimulus_set
from brainscore_vision.benchmark_helpers.behaviour.labels import LabelAccuracy
from brainscore_vision.data_helpers import cite_data

BIBTEX = cite_data("deng2009")

NUMBER_OF_TRIALS = 10


def imagenet_accuracy() -> LabelAccuracy:
    """Share of images named correctly among 1000 categories; they fill the model's field of view."""
    return LabelAccuracy(
        "ImageNet-top1",
        lambda: load_stimulus_set("imagenet_val"),
        truth="synset",
        choices="imagenet",
        number_of_trials=NUMBER_OF_TRIALS,
        parent="ImageNet",
        bibtex=BIBTEX,
    )
