"""Say how sure means over subjects and over folds are."""

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
    """Write into the attributes of a mean over sampled units, such as subjects, how sure it is.

    Parameters
    ----------
    score : Score
        The mean of `scores`. Its attributes are written to.
    scores : mapping of str to Score
        Of each unit, 0-d.

    Returns
    -------
    Score
        The score given. If all scores say how single stimuli move them, ``error`` and ``interval`` are over new stimuli
        and new units (`mean_over_units`); else ``error`` is the standard error over the units, which lacks what
        stimuli that they share have in common. Of a single unit it is NaN, with ``error_nan_reason``.
    """
    if len(scores) > 1 and all(isinstance(each.attrs.get("influence"), Influence) for each in scores.values()):
        found = mean_over_units(scores, unit=unit).attrs
        score.attrs.update({name: value for name, value in found.items() if name != "raw"})
        return score
    return attach_standard_error(score, np.array([float(each) for each in scores.values()]), over=unit)


def note_error_over_folds(score: Score, scores: Sequence[Score]) -> Score:
    """Write into the attributes of a mean over folds of one data set how sure it is.

    Returns
    -------
    Score
        The score given, with ``split_error``, the standard error over folds. If all scores say how single stimuli and
        units move them, ``error`` and ``interval`` follow from the mean of these influences; else ``error`` is NaN,
        with ``error_nan_reason``, because folds share their data.
    """
    attach_split_error(score, np.array([float(each) for each in scores]))
    influences = [each.attrs.get("influence") for each in scores]
    known = [each for each in influences if isinstance(each, Influence)]
    if not influences or len(known) < len(influences):
        return declare_no_error(score, "folds share their data, and their scores do not say how stimuli move them")
    return attach_influence(score, reduce(add, known) * (1 / len(known)))
