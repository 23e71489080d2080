"""Resample stimuli and neuroids by weights and draws, all resamples at once.

References
----------
Efron & Tibshirani (1993), An Introduction to the Bootstrap, doi:10.1201/9780429246593.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brainscore_vision.metric_helpers.arrays.correlation import ROUNDING

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices

__all__ = [
    "bootstrap_weights",
    "medians_of_draws",
    "weighted_correlations",
]

_BLOCK_VALUES = 2**21
"""Drawn values held at a time (16 MiB)."""


def bootstrap_weights(rng: np.random.Generator, n: int, n_resamples: int) -> Floats:
    """Draw how often each of n entries occurs in samples of size n with replacement, shape (n_resamples, n)."""
    return rng.multinomial(n, np.full(n, 1 / n), size=n_resamples).astype(np.float64)


def weighted_correlations(weights: ArrayLike, first: ArrayLike, second: ArrayLike) -> Floats:
    """Compute Pearson correlations of columns, shape (n_weightings, n_columns), under weightings of their rows.

    Weights, shape (n_weightings, n_stimuli), are not negative; integers count rows repeatedly. NaN where a column is
    constant under the weights.
    """
    w = np.asarray(weights, dtype=np.float64)
    total = w.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Standardising first saves the digits of mean square less squared mean.
        columns = [_standardized(np.asarray(side, dtype=np.float64)) for side in (first, second)]
        x, y = columns
        mean_x, mean_y = w @ x / total, w @ y / total
        covariance = w @ (x * y) / total - mean_x * mean_y
        variance_x = w @ (x * x) / total - mean_x**2
        variance_y = w @ (y * y) / total - mean_y**2
        r = covariance / np.sqrt(variance_x * variance_y)
    r[~((variance_x > ROUNDING) & (variance_y > ROUNDING))] = np.nan
    clipped: Floats = np.clip(r, -1.0, 1.0)
    return clipped


def _standardized(values: Floats) -> Floats:
    centred = values - values.mean(axis=0)
    scale = np.sqrt(np.mean(centred**2, axis=0))
    standardized: Floats = centred / np.where(scale > 0, scale, 1.0)
    return standardized


def medians_of_draws(values: ArrayLike, draws: Indices) -> Floats:
    """Take the median over drawn columns, ignoring NaN; for each draw there is a table of shape (n_rows, n_columns)."""
    table = np.asarray(values, dtype=np.float64)
    n_rows = table.shape[1]
    result = np.empty((len(draws), n_rows))
    with_nan = bool(np.isnan(table).any())
    step = max(1, _BLOCK_VALUES // max(1, n_rows * draws.shape[1]))
    for start in range(0, len(draws), step):
        rows = draws[start : start + step]
        drawn = np.take_along_axis(table[start : start + step], rows[:, None, :], axis=2)
        result[start : start + step] = _nan_median(drawn) if with_nan else np.median(drawn, axis=2)
    return result


def _nan_median(values: Floats) -> Floats:
    """Take medians over the last axis without NaN, which sorting puts last."""
    ordered = np.sort(values, axis=-1)
    count = np.sum(~np.isnan(ordered), axis=-1, keepdims=True)
    low, high = np.maximum(count - 1, 0) // 2, np.minimum(count // 2, values.shape[-1] - 1)
    middle: Floats = 0.5 * (np.take_along_axis(ordered, low, -1) + np.take_along_axis(ordered, high, -1))[..., 0]
    return middle
