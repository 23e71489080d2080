"""Write the error of a comparison of geometries over new stimuli and new neuroids into its score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.metrics.errors import attach_influence
from brainscore_core.statistics.influence import Influence, Scale
from brainscore_vision.metric_helpers.labelled.uncertainty import unique_names
from brainscore_vision.metric_helpers.uncertainty.errors import declare_no_error

if TYPE_CHECKING:
    from brainscore_core.metrics import Score
    from brainscore_vision.metric_helpers.arrays.geometry.influences import Influences
    from brainscore_vision.metric_helpers.arrays.types import Labels

__all__ = ["attach_geometry_error", "on_both_sides"]


def attach_geometry_error(
    score: Score, influences: Influences | None, stimuli: Labels, neuroids: Labels, *, scale: Scale
) -> Score:
    """Write a standard error and an interval into a 0-d score as `attach_influence`, or the reason for their absence.

    The interval is symmetric on the given scale. Without influences, the score is undefined without some stimulus or
    neuroid.
    """
    if np.isnan(score.item()):
        return declare_no_error(score, "the score is undefined")
    if influences is None:
        return declare_no_error(score, "the score is undefined without some stimulus or neuroid")
    names = unique_names(neuroids) if influences.chosen is None else unique_names(neuroids)[influences.chosen]
    influence = Influence.of_margins(
        unique_names(stimuli), names, influences.stimuli, influences.neuroids, influences.cells
    )
    return attach_influence(score, influence, scale=scale)


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
