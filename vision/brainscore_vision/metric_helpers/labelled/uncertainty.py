"""Write errors and intervals from influences into scores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.metrics.errors import attach_influence
from brainscore_core.statistics.influence import TAIL_FACTOR, Influence, Scale, tail_freedom
from brainscore_vision.metric_helpers.labelled.alignment import coords_along
from brainscore_vision.metric_helpers.uncertainty.errors import declare_no_error, shaped_like

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brainscore_core.metrics import Score
    from brainscore_vision.metric_helpers.arrays.geometry.influences import Influences
    from brainscore_vision.metric_helpers.arrays.influence import OnMedians
    from brainscore_vision.metric_helpers.arrays.types import Labels

__all__ = ["attach_geometry_error", "attach_to_bins", "influence_on_medians", "on_both_sides", "unique_names"]


def attach_to_bins(score: Score, influences: Sequence[Influence]) -> Score:
    """Write error and interval of every time bin into a score's attributes, on Fisher's scale.

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
    score.attrs.pop("error_nan_reason", None)
    reasons = {influence.why_unknown for influence in influences} - {None}
    if reasons:
        score.attrs["error_nan_reason"] = "; ".join(sorted(str(reason) for reason in reasons))
    score.attrs.update(error_over=["stimulus", "neuroid"], influence=tuple(influences))
    return score


def influence_on_medians(influence: OnMedians, stimuli: Labels, neuroids: Labels) -> Influence:
    """Label the result of `median_of_columns` or `median_of_correlations`."""
    names = unique_names(neuroids)
    return Influence(
        influence.cells, stimuli, names, "neuroid", influence.columns, influence.of_neuroids, influence.freedom
    )


def unique_names(names: Labels) -> Labels:
    """Return names, or positions if one occurs twice: they identify influences."""
    return names if len(set(names.tolist())) == len(names) else np.arange(len(names))


def attach_geometry_error(
    score: Score,
    influences: Influences | None,
    stimuli: Labels,
    neuroids: Labels,
    *,
    scale: Scale,
    tails: float = TAIL_FACTOR,
) -> Score:
    """Write a standard error and an interval into a 0-d score as `attach_influence`, or the reason for their absence.

    The interval is symmetric on the given scale; `tails` is the factor of `tail_freedom`. Without influences, the score
    is undefined without some stimulus or neuroid.
    """
    if np.isnan(score.item()):
        return declare_no_error(score, "the score is undefined")
    if influences is None:
        return declare_no_error(score, "the score is undefined without some stimulus or neuroid")
    names = unique_names(neuroids) if influences.chosen is None else unique_names(neuroids)[influences.chosen]
    influence = Influence.of_margins(
        unique_names(stimuli), names, influences.stimuli, influences.neuroids, influences.cells
    )
    return attach_influence(
        score, replace(influence, interval_freedom=tail_freedom(influence.by_unit, tails)), scale=scale
    )


def on_both_sides(influence: Influence) -> Influence:
    """Return the influences on a comparison of two measurements of the same neuroids, given those of the second side.

    Over randomly drawn halves, neuroids move both sides of symmetric metrics alike. Stimuli already are those of both.
    """
    return Influence.of_margins(
        influence.stimuli,
        influence.units,
        influence.by_stimulus,
        2 * influence.by_unit,
        2 * influence.cells,
        unit=influence.unit,
    )
