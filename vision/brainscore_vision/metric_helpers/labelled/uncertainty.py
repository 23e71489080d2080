"""Write errors and intervals that follow from influences into the attributes of scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.statistics.influence import Influence
from brainscore_vision.metric_helpers.labelled.alignment import coords_along
from brainscore_vision.metric_helpers.uncertainty.errors import shaped_like

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brainscore_core.metrics import Score
    from brainscore_vision.metric_helpers.arrays.influence import OnMedians
    from brainscore_vision.metric_helpers.arrays.types import Labels

__all__ = ["attach_to_bins", "influence_on_medians", "unique_names"]


def attach_to_bins(score: Score, influences: Sequence[Influence]) -> Score:
    """Write error and interval of every time bin into the attributes of a score, on Fisher's scale.

    Influences are those of the bins, in the order of the score. Attributes are ``error`` (Score, dims (time_bin)),
    ``interval`` (Score, dims (time_bin, bound)), ``influence`` (tuple), ``error_over``, and ``error_nan_reason`` if
    some bins have no error.
    """
    coords = coords_along(score, "time_bin")
    pairs = zip(influences, score.values, strict=True)
    intervals = [influence.interval(float(value), scale="fisher") for influence, value in pairs]
    score.attrs["error"] = shaped_like(score, [influence.error for influence in influences])
    score.attrs["interval"] = type(score)(
        np.array(intervals), coords={**coords, "bound": ("bound", ["low", "high"])}, dims=["time_bin", "bound"]
    )
    reasons = {influence.why_unknown for influence in influences} - {None}
    if reasons:
        score.attrs["error_nan_reason"] = "; ".join(sorted(str(reason) for reason in reasons))
    score.attrs.update(error_over=["stimulus", "neuroid"], influence=tuple(influences))
    return score


def influence_on_medians(influence: OnMedians, stimuli: Labels, neuroids: Labels) -> Influence:
    """Label the result of `median_of_columns` or `median_of_correlations` with stimuli and neuroids."""
    names = unique_names(neuroids)
    return Influence(
        influence.cells, stimuli, names, "neuroid", influence.columns, influence.of_neuroids, influence.freedom
    )


def unique_names(names: Labels) -> Labels:
    """Return names, or their positions if one occurs twice: influences are identified by name."""
    return names if len(set(names.tolist())) == len(names) else np.arange(len(names))
