"""Estimate the uncertainty of a regression's score over other stimuli and neuroids, without refitting.

A stimulus influences the correlations of the splits that test it. Its effect as a training stimulus is omitted: near
the best weights it is of second order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.metrics.errors import attach_influence
from brainscore_vision.metric_helpers.arrays.influence import median_of_correlations
from brainscore_vision.metric_helpers.labelled.uncertainty import attach_to_bins, influence_on_medians
from brainscore_vision.metric_helpers.uncertainty.errors import declare_no_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brainscore_core.metrics import Score
    from brainscore_core.statistics.influence import Influence
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices, Labels
    from brainscore_vision.metric_helpers.regression.problem import Pair

__all__ = ["note_uncertainty"]

NOT_KEPT = "predictions are too large to keep: half_sample_interval of uncertainty.intervals estimates an error"


def note_uncertainty(
    score: Score,
    pairs: Sequence[Pair] | None,
    r: Floats,
    *,
    tests: Sequence[Indices],
    stimuli: Labels,
    neuroids: Labels,
    bins: Indices | None = None,
) -> Score:
    """Write error, interval and influences into the attributes of a mean over splits of the median over neuroids.

    Pairs and r are results of `RegressionProblem.correlations`; without pairs, the error is NaN. `tests` are the tested
    presentations of every split; those of one stimulus count as one. `bins` holds the measurement bin of each score
    bin.
    """
    if pairs is None:
        return declare_no_error(score, NOT_KEPT)
    names, place = np.unique(stimuli, return_inverse=True)
    rows = [place[test] for test in tests]

    def influence(bin_: int | None) -> Influence:
        bin_pairs = [pair if bin_ is None else (pair[0][bin_], pair[1][bin_]) for pair in pairs]
        parts = ((*pair, row) for pair, row in zip(bin_pairs, rows, strict=True))
        medians = median_of_correlations(parts, len(names), r if bin_ is None else r[:, bin_])
        return influence_on_medians(medians, names, neuroids)

    if score.ndim == 0:
        return attach_influence(score, influence(None), scale="fisher")
    order = range(len(score)) if bins is None else bins
    return attach_to_bins(score, [influence(int(index)) for index in order])
