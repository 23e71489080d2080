"""Ask a model to name images with one object's shape and another's texture (Hermann et al. 2020).

With the shares ``s`` of answers that name the shape and ``t`` of those that name the texture, shape match is ``s`` and
shape bias ``s / (s + t)`` (Geirhos et al., 2019, doi:10.48550/arXiv.1811.12231). The ceiling is 1.
"""

from typing import Literal

import numpy as np

from brainscore_core.errors import StimulusError
from brainscore_vision import load_stimulus_set
from brainscore_vision.benchmark_helpers.behaviour.choices import named_choices
from brainscore_vision.benchmarks import BenchmarkBase, ceil_score
from brainscore_vision.metric_helpers.uncertainty.errors import note_error, standard_error
from brainscore_vision.metrics import Score
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.utils import LazyLoad, loaded

BIBTEX = """@inproceedings{hermann2020origins,
  title={The origins and prevalence of texture bias in convolutional neural networks},
  author={Hermann, Katherine and Chen, Ting and Kornblith, Simon},
  booktitle={Advances in Neural Information Processing Systems}, volume={33}, pages={19000--19015}, year={2020},
  url={https://proceedings.neurips.cc/paper/2020/hash/db5f9f42a7157abe65bb145000b5871a-Abstract.html}
}"""


class CueConflict(BenchmarkBase):
    """Share of answers by shape, for images whose shape and texture conflict.

    ``'shape_bias'`` is relative to answers that name shape or texture, ``'shape_match'`` to all.
    """

    def __init__(self, measure: Literal["shape_bias", "shape_match"]) -> None:
        self._measure = measure
        self._stimulus_set = LazyLoad(lambda: load_stimulus_set("Geirhos2021_cue-conflict"))
        super().__init__(
            f"Hermann2020cueconflict-{measure}", ceiling=1.0, version=1, parent="Hermann2020", bibtex=BIBTEX
        )

    def __call__(self, candidate: BrainModel) -> Score:
        """Score a candidate; the images fill its field of view.

        A shape bias is NaN if no answer names either; `StimulusError` if shape and texture agree in all images.
        """
        stimuli = loaded(self._stimulus_set)
        answers = named_choices(candidate, stimuli, stimuli["truth"])
        shape, texture = (answers[f"{cue}_image_category"].values.astype(str) for cue in ("original", "conflict"))
        conflict = shape != texture
        if not conflict.any():
            raise StimulusError(
                f"Shape and texture agree in all {len(stimuli)} images; at least one image with a conflict is needed."
            )
        is_shape, is_texture = ((answers.values == cue)[conflict] for cue in (shape, texture))
        counted = is_shape if self._measure == "shape_match" else is_shape[is_shape | is_texture]
        score = Score(counted.mean() if len(counted) else np.nan)
        score.attrs.update(
            shape_match=float(is_shape.mean()),
            texture_match=float(is_texture.mean()),
            n_stimuli=int(conflict.sum()),
            quantity="share",
        )
        note_error(score, standard_error(counted) if len(counted) > 1 else np.nan, over="stimulus", n=len(counted))
        return ceil_score(score, self.ceiling)
