"""Attach errors over new stimuli and units to scores, also normalised ones, and average scores over units."""

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
from brainscore_core.statistics.influence import Influence, fieller_interval

if TYPE_CHECKING:
    from brainscore_core.statistics.influence import Scale

__all__ = ["attach_influence", "estimate_of", "mean_over_units", "propagate"]


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
    score.attrs.pop("error_nan_reason", None)
    if influence.why_unknown is not None:
        attrs["error_nan_reason"] = influence.why_unknown
    score.attrs.update(attrs)
    return score


def mean_over_units(scores: Mapping[str, Score], *, unit: str = "subject") -> Score:
    """Average the scores of sampled units, such as subjects.

    Parameters
    ----------
    scores
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


UNCERTAIN_CEILING = "the ceiling does not differ from 0, so that any ratio to it is possible"


def propagate(raw: Score, ceiling: Score, normalized: Score, *, squared: bool, chance: float = 0.0) -> bool:
    r"""Write error, interval and influences of a ratio, or of a square over a ceiling, into its attributes.

    A squared score is :math:`\operatorname{sign}(t) t^2` of :math:`t = r / \sqrt{\rho}`: its interval is that of t with
    squared ends; its variance :math:`4 t^2 V_t + 2 V_t^2` does not vanish at t = 0. A ceiling without influences counts
    as exact. Nothing is done unless all are 0-d.

    Parameters
    ----------
    squared
        Whether the normalised score is ``raw * abs(raw) / ceiling`` instead of ``raw / ceiling``.
    chance
        Subtracted from raw score and ceiling.

    Returns
    -------
    bool
        Whether the raw score has influences. Otherwise only its interval is propagated, if the ceiling is exact.
    """
    of_raw, of_ceiling = (score.attrs.get("influence") for score in (raw, ceiling))
    if normalized.ndim or not np.isfinite(float(normalized)):
        return False
    score, top = float(raw) - chance, float(ceiling) - chance
    divisor = np.sqrt(top) if squared else top
    if not isinstance(of_raw, Influence):
        if "interval" in raw.attrs and not isinstance(of_ceiling, Influence):
            low, high = ((float(end) - chance) / divisor for end in raw.attrs["interval"])
            normalized.attrs["interval"] = (low * abs(low), high * abs(high)) if squared else (low, high)
        return False
    ratio = score / divisor
    influence = of_raw * (1 / divisor)
    if isinstance(of_ceiling, Influence):
        of_divisor = of_ceiling * (1 / (2 * divisor)) if squared else of_ceiling
        influence = influence - of_divisor * (ratio / divisor)
        low, high = fieller_interval(score, divisor, of_raw, of_divisor)
    else:
        low, high = ((float(end) - chance) / divisor for end in raw.attrs.get("interval", of_raw.interval(score)))
    attach_influence(normalized, influence * (2 * abs(ratio)) if squared else influence)
    if squared:
        normalized.attrs["error"] = float(np.sqrt(4 * ratio**2 * influence.error**2 + 2 * influence.error**4))
        low, high = low * abs(low), high * abs(high)
    normalized.attrs["interval"] = (low, high)
    if np.isnan((low, high)).any() and "error_nan_reason" not in normalized.attrs:
        normalized.attrs["interval_nan_reason"] = UNCERTAIN_CEILING
    return True
