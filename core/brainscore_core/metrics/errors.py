"""Attach errors over new stimuli and units to scores, and average scores over units."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.errors import ContractError
from brainscore_core.metrics._score import Score
from brainscore_core.statistics.averages import Estimate
from brainscore_core.statistics.influence import Influence

if TYPE_CHECKING:
    from brainscore_core.statistics.influence import Scale

__all__ = ["attach_influence", "estimate_of", "mean_over_units"]


def estimate_of(score: Score) -> Estimate:
    """Return value, error and influences of a 0-d score."""
    influence, error = score.attrs.get("influence"), score.attrs.get("error")
    influence = influence if isinstance(influence, Influence) else None
    return Estimate(
        float(score),
        float("nan") if error is None else float(error),
        str(score.attrs.get("error_nan_reason", "")),
        float(score.attrs.get("error_df", "inf")) if influence is None else influence.degrees_of_freedom,
        influence,
    )


def attach_influence(score: Score, influence: Influence, *, scale: Scale = "identity") -> Score:
    """Write errors and interval of a 0-d score, from its influences, into its attributes, and return it.

    The attrs are ``error`` (standard error over new stimuli and units), ``error_over`` (such as
    ``['stimulus', 'neuroid']``), ``stimulus_error`` (over new stimuli alone), ``interval`` (95 %: low, high),
    ``influence``, and ``error_nan_reason`` if the error is NaN.
    """
    attrs: dict[str, object] = {
        "error": influence.error,
        "error_over": ["stimulus", influence.unit],
        "stimulus_error": influence.stimulus_error,
        "interval": influence.interval(float(score), scale=scale),
        "influence": influence,
    }
    if influence.why_unknown is not None:
        attrs["error_nan_reason"] = influence.why_unknown
    score.attrs.update(attrs)
    return score


def mean_over_units(scores: Mapping[str, Score], *, unit: str = "subject") -> Score:
    """Average the scores of sampled units, such as subjects.

    Parameters
    ----------
    scores : mapping of str to Score
        0-d scores of units; only the stimuli of their ``attrs['influence']`` count. If ``attrs['stimulus_set']``
        differs, equal names are different stimuli.

    Returns
    -------
    Score
        0-d, with attrs ``raw`` (Score, dims (`unit`)) and those of `attach_influence`.

    Raises
    ------
    ContractError
        If a score has no influences.
    """
    for name, score in scores.items():
        if not isinstance(score.attrs.get("influence"), Influence):
            raise ContractError(
                f"The score of {unit} {name!r} does not say how stimuli move it (attrs['influence']), so the mean has "
                "no error. Average the plain numbers, or use a metric with influences."
            )
    names, n = np.array(list(scores), dtype=object), len(scores)
    values = np.array([float(score) for score in scores.values()])
    sets = [score.attrs.get("stimulus_set") for score in scores.values()]
    whole = [score.attrs["influence"] for score in scores.values()]
    if len(set(sets)) > 1:
        whole = [influence.within(stimuli=f"{name}/") for influence, name in zip(whole, sets, strict=True)]
    margins = [
        Influence(influence.by_stimulus[:, None], influence.stimuli, names[[place]], unit)
        for place, influence in enumerate(whole)
    ]
    table = reduce(add, margins)
    influence = Influence.of_margins(
        table.stimuli,
        table.units,
        table.cells.sum(axis=1) / n,
        (values - values.mean()) / math.sqrt(max(n * (n - 1), 1)),
        table.cells / math.sqrt(max(n * (n - 1), 1)),
        unit=unit,
    )
    result = Score(values.mean())
    result.attrs["raw"] = Score(values, coords={unit: names.astype(str)}, dims=[unit])
    return attach_influence(result, influence)
