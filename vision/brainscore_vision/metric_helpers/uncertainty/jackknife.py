"""Estimate standard errors by leaving out one unit at a time, without any draw.

References
----------
Tukey (1958), Bias and confidence in not-quite large samples, Annals of Mathematical Statistics 29:614.
Efron & Stein (1981), The jackknife estimate of variance, doi:10.1214/aos/1176345462.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["jackknife_error", "mean_error", "pair_mean_error"]

Floats = NDArray[np.float64]


def mean_error(values: ArrayLike) -> float:
    """Compute the standard error of a mean, ``std(values, ddof=1) / sqrt(n)``.

    Parameters
    ----------
    values : array-like, shape (n,)
        One value for each independent unit; NaN does not count.

    Returns
    -------
    float
        NaN for fewer than two values.

    Examples
    --------
    >>> mean_error([1.0, 3.0])
    1.0
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    return float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else float("nan")


def jackknife_error(left_out: ArrayLike) -> float:
    """Compute the standard error of a statistic from its values without one unit each.

    ``error = sqrt((n - 1) / n * sum_i (t_i - mean(t))^2)``

    Parameters
    ----------
    left_out : array-like, shape (n,)
        The statistic over all units but the i-th.

    Returns
    -------
    float
        For a mean the same as `mean_error`. NaN for fewer than two units, or if a value is NaN.

    Examples
    --------
    >>> jackknife_error([3.0, 1.0])  # the mean of 1 and 3, each left out in turn
    1.0
    """
    values = np.asarray(left_out, dtype=np.float64)
    if len(values) < 2:
        return float("nan")
    return float(np.sqrt((len(values) - 1) * values.var()))


def pair_mean_error(values: ArrayLike) -> float:
    """Compute the standard error of the mean over pairs of units, by leaving out one unit with all its pairs.

    Pairs that share a unit are not independent, so that the standard deviation over pairs says little.

    Parameters
    ----------
    values : array-like, shape (n, n)
        One value for each ordered pair; NaN does not count. For unordered pairs fill the upper triangle alone.

    Returns
    -------
    float
        NaN for fewer than three units, or if leaving one out leaves nothing.
    """
    table = np.asarray(values, dtype=np.float64)
    if len(table) < 3:
        return float("nan")
    known = ~np.isnan(table)
    filled = np.where(known, table, 0.0)
    diagonal = np.diagonal(filled), np.diagonal(known)
    total = filled.sum() - filled.sum(axis=0) - filled.sum(axis=1) + diagonal[0]
    number = known.sum() - known.sum(axis=0) - known.sum(axis=1) + diagonal[1]
    left_out = np.divide(total, number, out=np.full(len(table), np.nan), where=number > 0)
    return jackknife_error(left_out)
