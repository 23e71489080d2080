"""Score how alike two representations are after the rotation or reflection that brings them closest.

With centred responses X and Y over the same stimuli and the sum of singular values ``|.|_*``:

    ``score = |X^T Y|_* / (|X| |Y|)``, or with ``scale='angle'``: ``score = 1 - 2 arccos(|X^T Y|_* / (|X| |Y|)) / pi``

The arc cosine is a distance of shapes (Williams et al. 2021), suitable for clustering models.

- Input: as of all metrics.
- Output: Score in [0, 1]; 1 only for responses that are equal up to rotation, shift and scale; NaN if a side does not
  vary.
- Invariances: those of `cka`, and exchanging both sides.
- When: a distance is wanted, or `cka`, whose squares let the largest dimensions decide, is too coarse. Unrelated
  responses score above 0: compare models on the same stimuli and neuroids only, with several times as many stimuli as
  neuroids. No ceiling is right at every level of noise.

References
----------
Williams et al. (2021), NeurIPS, arXiv:2110.14739. Schoenemann (1966), doi:10.1007/BF02289451.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Score
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.geometry.procrustes import procrustes_influences
from brainscore_vision.metric_helpers.labelled.alignment import matching_order
from brainscore_vision.metric_helpers.labelled.rdms import read_responses
from brainscore_vision.metric_helpers.labelled.uncertainty import attach_geometry_error

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly

_SCALES = ("cosine", "angle")


class Procrustes(Metric):
    """Similarity of shapes."""

    quantity: ClassVar = "share"

    def __init__(self, scale: Literal["cosine", "angle"] = "cosine") -> None:
        if scale not in _SCALES:
            raise ValueError(f"The scale is one of {', '.join(_SCALES)}; got {scale!r}.")
        self._scale = scale

    def __call__(self, source: DataAssembly, target: DataAssembly) -> Score:
        """Compare; attrs also hold ``angle``, between the shapes, in radians. The error is to first order."""
        first, second = (read_responses(side, role=role) for side, role in ((source, "source"), (target, "target")))
        order = matching_order(second.stimuli, first.stimuli, what=Defaults.stimulus_coord)
        if len(order) < 2:
            raise AssemblyError("Shapes are made of at least two stimuli, got 1. Average over repetitions only.")
        cosine, influences = procrustes_influences(first.values[order], second.values)
        angle = float(np.arccos(cosine))
        score = Score(cosine if self._scale == "cosine" else 1 - 2 * angle / np.pi)
        score.attrs.update(n_stimuli=len(order), **second.notes, angle=angle, quantity=self.quantity)
        if influences is not None and self._scale == "angle":
            influences *= 2 / (np.pi * np.sqrt(1 - cosine**2)) if cosine < 1 else 0.0
        return attach_geometry_error(score, influences, second.stimuli, second.neuroids, scale="fisher")
