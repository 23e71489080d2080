"""Ask a model for the category of corrupted images of ImageNet (Hendrycks & Dietterich, 2019, arXiv:1903.12261).

Each group, such as blur, has three or four corruptions of the 50,000 validation images, at five levels each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brainscore_vision import load_stimulus_set
from brainscore_vision.benchmark_helpers.behaviour.labels import LabelAccuracy
from brainscore_vision.data_helpers import cite_data

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

BIBTEX = cite_data("hendrycks2019")

NUMBER_OF_TRIALS = 10
SAMPLING_FACTOR = 10


def corrupted_accuracy(category: str, *, sampling_factor: int = SAMPLING_FACTOR) -> LabelAccuracy:
    """Mean accuracy over corruptions and their levels; images fill the model's field of view.

    Every `sampling_factor`-th image is used, in the order of categories, the same for every corruption. 1: all, a
    million for most groups.
    """
    return LabelAccuracy(
        f"ImageNet-C-{category}-top1",
        lambda: sampled(load_stimulus_set(f"imagenet_c.{category}"), sampling_factor),
        truth="synset",
        choices="imagenet",
        conditions=["noise_type", "noise_level"],
        unit="origin",
        number_of_trials=NUMBER_OF_TRIALS,
        version=2,
        parent="Hendrycks2019-top1",
        bibtex=BIBTEX,
    )


def sampled(stimulus_set: StimulusSet, factor: int) -> StimulusSet:
    """Return every `factor`-th original, with all its corruptions; the column ``origin`` names it."""
    names = stimulus_set["filename"].astype(str)
    stimulus_set["origin"] = names.str.extract(r"(ILSVRC2012_val_\d+)", expand=False).fillna(names)
    originals = stimulus_set[["synset", "origin"]].drop_duplicates().sort_values(["synset", "origin"])
    origins = set(originals["origin"].iloc[::factor])
    return stimulus_set[[origin in origins for origin in stimulus_set["origin"]]]
