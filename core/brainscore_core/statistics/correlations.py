"""Correlate the scores of models on benchmarks, with an interval over models."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from brainscore_core.errors import ContractError
from brainscore_core.statistics.influence import t_quantile

if TYPE_CHECKING:
    import numpy.typing as npt

    Bools = npt.NDArray[np.bool_]
    Floats = npt.NDArray[np.float64]
    Indices = npt.NDArray[np.intp]

__all__ = ["OverModels", "correlation_over_models", "rank_correlations"]


class OverModels(NamedTuple):
    """Number of models with both scores, their correlation, and the ends of its interval."""

    n: int
    r: float
    low: float
    high: float


def correlation_over_models(x: npt.ArrayLike, y: npt.ArrayLike, *, ranked: bool = False) -> OverModels:
    r"""Correlate the scores (Pearson) or ranks (Spearman) of models that have both.

    The interval is Fisher's, for a new sample of models: :math:`\tanh(\operatorname{artanh} r \pm z \sigma)` with
    :math:`\sigma^2 = 1 / (n - 3)`, for ranks :math:`(1 + r^2 / 2) / (n - 3)` (Bonett & Wright 2000, Psychometrika
    65:23).

    Parameters
    ----------
    x, y : array-like, shape (n_models,)
        NaN: no score.
    ranked
        Whether to correlate ranks; equal scores share the mean of their ranks.

    Returns
    -------
    OverModels
        ``r`` is NaN for fewer than three models or equal scores, the interval for fewer than four models.

    Examples
    --------
    >>> round(correlation_over_models([1, 2, 3, 4, 5], [1, 3, 2, 5, 4], ranked=True).r, 6)
    0.8
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise ContractError(f"Scores of shape {first.shape} and {second.shape}; expected one of each for every model.")
    both = np.isfinite(first) & np.isfinite(second)
    n, r = int(both.sum()), _correlation(first[both], second[both], ranked=ranked)
    if n < 4 or np.isnan(r):
        return OverModels(n, r, float("nan"), float("nan"))
    margin = t_quantile(float("inf")) * np.sqrt((1 + r * r / 2 if ranked else 1) / (n - 3))
    with np.errstate(divide="ignore"):  # the interval of a correlation of 1 is 1
        low, high = np.tanh(np.arctanh(r) + np.array([-margin, margin]))
    return OverModels(n, r, float(low), float(high))


def _correlation(first: Floats, second: Floats, *, ranked: bool) -> float:
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    pair = (_ranks(first), _ranks(second)) if ranked else (first, second)
    return float(np.clip(np.corrcoef(*pair)[0, 1], -1, 1))


def _ranks(values: Floats) -> Floats:
    ordered = np.sort(values)
    ranks: Floats = (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right") + 1) / 2
    return ranks


def rank_correlations(scores: Floats) -> tuple[Floats, npt.NDArray[np.intp]]:
    """Return the rank correlations (Spearman) of all pairs of benchmarks, and their numbers of models with both scores.

    Parameters
    ----------
    scores : ndarray, shape (n_benchmarks, n_models)
        NaN: no score.
    """
    present = np.isfinite(scores)
    counts = present.astype(np.float32) @ present.T.astype(np.float32)  # exact: far below 2**24
    r = np.full(counts.shape, np.nan)
    order = np.argsort(scores, axis=1, kind="stable")
    has_ties = (np.diff(np.take_along_axis(scores, order, axis=1), axis=1) == 0).any(axis=1)
    for first in range(len(scores)):
        others = first + np.flatnonzero(counts[first, first:] >= 3)
        tied = has_ties[others] | has_ties[first]
        for second in others[tied].tolist():
            both = present[first] & present[second]
            r[first, second] = _correlation(scores[first, both], scores[second, both], ranked=True)
        others = others[~tied]
        if len(others):
            r[first, others] = _without_ties(present[first] & present[others], order[first], order[others])
        r[first:, first] = r[first, first:]
    return r, counts.astype(np.intp)


def _without_ties(both: Bools, first: Indices, others: Indices) -> Floats:
    """Correlate the ranks on one benchmark with those on others where no two models have the same score.

    `first` and `others` are models in the order of their scores.
    """
    # A rank counts the models with both scores along the order.
    ranks = np.empty((2, *both.shape), dtype=np.int32)
    ranks[0][:, first] = np.cumsum(both[:, first], axis=1, dtype=np.int32)
    np.put_along_axis(ranks[1], others, np.cumsum(np.take_along_axis(both, others, 1), axis=1, dtype=np.int32), axis=1)
    distance = np.where(both, ranks[0] - ranks[1], 0).astype(np.float64)
    n = both.sum(axis=1).astype(np.float64)
    r: Floats = 1 - 6 * np.vecdot(distance, distance) / (n * (n**2 - 1))
    return r
