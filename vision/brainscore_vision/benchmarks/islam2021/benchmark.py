"""Record a model that sees pairs of images with the same shape or texture (Islam et al., 2021).

Each image is the first of one pair; the second has the same shape or the same texture. The metric is
``factor_dimensionality``, the ceiling 1.
"""

import random
from collections import defaultdict

import numpy as np

from brainscore_core.errors import StimulusError
from brainscore_vision import load_metric, load_stimulus_set
from brainscore_vision.benchmark_helpers.recordings import squeeze_single_timebin
from brainscore_vision.benchmark_helpers.screen import presented
from brainscore_vision.benchmarks import BenchmarkBase, ceil_score
from brainscore_vision.data_helpers import cite_data
from brainscore_vision.metric_helpers.labelled.alignment import matching_order
from brainscore_vision.metrics import Score
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.utils import LazyLoad, loaded

BIBTEX = cite_data("islam2021")

TIME_BIN = (70, 170)
SEED = 1751  # published


class FactorDimensionality(BenchmarkBase):
    """Share of a region's units that code ``'shape'``, or ``'texture'``."""

    def __init__(self, factor: str, region: str) -> None:
        self._metric = load_metric("factor_dimensionality", factor=factor)
        self._region = region
        self._stimulus_set = LazyLoad(lambda: load_stimulus_set("Islam2021"))
        super().__init__(
            f"Islam2021-{factor}_{region.lower()}_dimensionality",
            ceiling=1.0,
            version=1,
            parent="Islam2021",
            bibtex=BIBTEX,
        )

    def __call__(self, candidate: BrainModel) -> Score:
        """Score a candidate; the images fill its field of view."""
        stimuli = loaded(self._stimulus_set)
        candidate.start_recording(self._region, time_bins=[TIME_BIN])
        recorded = squeeze_single_timebin(presented(candidate).look_at(stimuli, number_of_trials=1))
        recorded = recorded.transpose("presentation", "neuroid")
        order = matching_order(
            stimuli["stimulus_id"].to_numpy().astype(str), recorded["stimulus_id"].values.astype(str)
        )
        factors, second = pairs(stimuli)
        in_order = np.array_equal(order, np.arange(len(order)))  # then the first members need no copy
        first = recorded if in_order else recorded[{"presentation": order}]
        members = (first, recorded[{"presentation": order[second]}])
        members = [member.assign_coords(factor=("presentation", factors)) for member in members]
        score = ceil_score(self._metric(*members), self.ceiling)
        score.attrs["n_stimuli"] = len(stimuli)
        return score


def pairs(stimuli, seed: int = SEED):
    """Draw a second member for each image: its row, and the factor that both share.

    The columns ``shape``, ``texture`` and ``original_image_id`` (the picture that got a texture) describe
    an image. `StimulusError` if there are fewer than two shapes or textures, or a partner is missing.
    """
    shape, texture = (stimuli[name].astype(str).to_list() for name in ("shape", "texture"))
    picture = stimuli["original_image_id"].to_list()
    shapes, textures = sorted(set(shape)), sorted(set(texture))
    if min(len(shapes), len(textures)) < 2:
        raise StimulusError(f"Pairs need at least two shapes and two textures; found {shapes} and {textures}.")
    same_picture = {key: row for row, key in enumerate(zip(picture, texture, strict=True))}
    looks_alike = defaultdict(list)
    for row, key in enumerate(zip(shape, texture, strict=True)):
        looks_alike[key].append(row)
    draw = random.Random(seed)  # noqa: S311 - the published pairs come from this generator, whose results are fixed
    factors, second = [], []
    for row in range(len(stimuli)):
        factors.append(draw.choice(["shape", "texture"]))
        if factors[-1] == "shape":
            key = picture[row], draw.choice([other for other in textures if other != texture[row]])
            partners = [same_picture[key]] if key in same_picture else []
        else:
            key = draw.choice([other for other in shapes if other != shape[row]]), texture[row]
            partners = looks_alike[key]
        if not partners:
            raise StimulusError(
                f"No image shares the {factors[-1]} of row {row} and shows {key}; every combination is needed."
            )
        second.append(partners[0] if factors[-1] == "shape" else draw.choice(partners))
    return np.array(factors), np.array(second)
