"""Correlate the scores of models on two benchmarks, with an interval over models."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from brainscore_core.errors import ContractError
from brainscore_core.statistics.influence import LEVEL, t_quantile

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["OverModels", "correlation_over_models"]


class OverModels(NamedTuple):
    """A correlation over models: how many have both scores, the correlation, and the ends of its interval."""

    n: int
    r: float
    low: float
    high: float


def correlation_over_models(
    x: npt.ArrayLike, y: npt.ArrayLike, *, ranked: bool = False, level: float = LEVEL
) -> OverModels:
    r"""Correlate scores of models that have both: Pearson's correlation, or Spearman's of their ranks.

    The interval is Fisher's, over a new draw of models: :math:`\tanh(\operatorname{artanh} r \pm z \sigma)` with
    :math:`\sigma^2 = 1 / (n - 3)`, for ranks :math:`(1 + r^2 / 2) / (n - 3)` (Bonett & Wright 2000, Sample size
    requirements for estimating Pearson, Kendall and Spearman correlations, Psychometrika 65:23). As on the page
    *Explore* of the leaderboard.

    Parameters
    ----------
    x, y : array-like, shape (n_models,)
        NaN: no score.
    ranked : bool
        Whether ranks are correlated; equal scores share the mean of theirs.
    level : float
        Of the interval, in (0, 1).

    Returns
    -------
    OverModels
        ``r`` is NaN for fewer than three models or where all have the same score, the interval for fewer than four.

    Raises
    ------
    ContractError
        If there are not as many of the one as of the other.

    Examples
    --------
    >>> correlation_over_models([1, 2, 3, 4, 5], [1, 3, 2, 5, 4], ranked=True).r
    0.8
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise ContractError(f"Scores of shape {first.shape} and {second.shape}; expected one of each for every model.")
    both = np.isfinite(first) & np.isfinite(second)
    pair, n = np.stack([first[both], second[both]]), int(both.sum())
    if ranked and n:
        from scipy.stats import rankdata  # takes longer to load than most commands

        pair = rankdata(pair, axis=1)
    nan = float("nan")
    if n < 3 or (np.ptp(pair, axis=1) == 0).any():
        return OverModels(n, nan, nan, nan)
    r = float(np.clip(np.corrcoef(pair[0], pair[1])[0, 1], -1, 1))
    if n < 4:
        return OverModels(n, r, nan, nan)
    margin = t_quantile(float("inf"), level) * np.sqrt((1 + r * r / 2 if ranked else 1) / (n - 3))
    with np.errstate(divide="ignore"):  # of a correlation of 1, the interval is 1
        low, high = np.tanh(np.arctanh(r) + np.array([-margin, margin]))
    return OverModels(n, r, float(low), float(high))
