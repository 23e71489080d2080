"""Propagate errors and intervals of a raw score and its ceiling to the normalised score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.metrics.errors import attach_influence
from brainscore_core.statistics.influence import Influence, fieller_interval

if TYPE_CHECKING:
    from brainscore_core.metrics import Score

__all__ = ["propagate"]

UNCERTAIN_CEILING = "the ceiling does not differ from 0, so that any ratio to it is possible"


def propagate(raw: Score, ceiling: Score, normalized: Score, *, squared: bool, chance: float = 0.0) -> bool:
    r"""Write error, interval and influences of a ratio, or of a square over a ceiling, into its attributes.

    A squared score is :math:`\operatorname{sign}(t) t^2` of :math:`t = r / \sqrt{\rho}`: its interval is that of t with
    squared ends; its variance :math:`4 t^2 V_t + 2 V_t^2` does not vanish at t = 0. A ceiling without influences counts
    as exact. Nothing is done unless all are 0-d.

    Parameters
    ----------
    squared : bool
        Whether the normalised score is ``raw * abs(raw) / ceiling`` instead of ``raw / ceiling``.
    chance : float
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
