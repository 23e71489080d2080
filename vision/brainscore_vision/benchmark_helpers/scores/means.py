"""Errors of means over subjects and over folds."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.metrics.errors import attach_influence, mean_over_units
from brainscore_core.statistics.influence import Influence
from brainscore_vision.metric_helpers.uncertainty.errors import (
    attach_split_error,
    attach_standard_error,
    declare_no_error,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from brainscore_core.metrics import Score

__all__ = ["note_error_over_folds", "note_error_over_units"]


def note_error_over_units(score: Score, scores: Mapping[str, Score], unit: str) -> Score:
    """Attach the error of a mean over sampled units, such as subjects, to that mean.

    If all scores state how single stimuli influence them, it is over new stimuli and new units (`mean_over_units`);
    otherwise the standard error over the units, which lacks the effect of shared stimuli. For a single unit it is NaN.
    """
    if len(scores) > 1 and all(
        isinstance(unit_score.attrs.get("influence"), Influence) for unit_score in scores.values()
    ):
        attrs = mean_over_units(scores, unit=unit).attrs
        score.attrs.update({name: value for name, value in attrs.items() if name != "raw"})
        return score
    return attach_standard_error(score, np.array([float(unit_score) for unit_score in scores.values()]), over=unit)


def note_error_over_folds(score: Score, scores: Sequence[Score]) -> Score:
    """Attach the error of a mean over folds of one data set to that mean.

    If all scores state how single stimuli and units influence them, ``error`` and ``interval`` follow from the mean
    influence; otherwise ``error`` is NaN, because folds share their data. ``split_error`` is over folds.
    """
    attach_split_error(score, np.array([float(fold_score) for fold_score in scores]))
    influences = [fold_score.attrs.get("influence") for fold_score in scores]
    stated = [influence for influence in influences if isinstance(influence, Influence)]
    if not influences or len(stated) < len(influences):
        return declare_no_error(score, "folds share their data, and their scores do not say how stimuli move them")
    return attach_influence(score, reduce(add, stated) * (1 / len(stated)))
