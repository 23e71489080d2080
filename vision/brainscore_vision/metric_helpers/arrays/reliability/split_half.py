"""Compute the reliability of measurements from their repetitions.

References
----------
Spearman (1910), Correlation calculated from faulty data, doi:10.1111/j.2044-8295.1910.tb00206.x.
Brown (1910), Some experimental results in the correlation of mental abilities,
doi:10.1111/j.2044-8295.1910.tb00207.x.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brainscore_vision.metric_helpers.arrays.correlation import pearson_columns

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, NDArray

__all__ = ["random_halves", "spearman_brown", "split_half_correlations", "step_up"]

_BLOCK_VALUES = 2**24
"""How many sums of halves are held at a time."""

_SMALL = 1e-8
"""Part of all squares below which the squares of a half are not had as a difference."""

_ROUNDING = 1e-20
"""Part of the squared mean below which squares may be what rounding leaves of a constant."""


def random_halves(rng: np.random.Generator, n_halves: int, n: int) -> NDArray[np.bool_]:
    """Choose half of n units, rounded down, again and again; shape (n_halves, n), True for the first half."""
    chosen: NDArray[np.bool_] = rng.random((n_halves, n)).argsort(axis=1).argsort(axis=1) < n // 2
    return chosen


def spearman_brown(correlation: ArrayLike, factor: float = 2.0) -> Floats:
    """Predict the reliability of a measurement that is `factor` times as long.

    ``reliability = factor r / (1 + (factor - 1) r)``

    Parameters
    ----------
    correlation : array-like, any shape
        Reliability of the short measurement, in (-1, 1].
    factor : float
        2 when halves stand for the whole.

    Returns
    -------
    ndarray, the same shape
        At most 1; unbounded below for negative correlations.

    Examples
    --------
    >>> spearman_brown([0.5, 0.0])
    array([0.66666667, 0.        ])
    """
    r = np.asarray(correlation, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):  # r = -1 has the limit -inf
        stepped: Floats = factor * r / (1.0 + (factor - 1.0) * r)
    return stepped


def step_up(correlation: ArrayLike, first_size: int, second_size: int) -> Floats:
    """Predict the reliability of the mean of all repetitions from the correlation of two unequal parts.

    With single-repetition reliability ``x``, parts of ``a`` and ``b`` repetitions correlate with
    ``r = sqrt(a b) x / sqrt((1 + (a - 1) x)(1 + (b - 1) x))``. The formula solves this for ``x``, then applies
    Spearman-Brown with factor ``a + b``. For ``a = b`` it is the usual ``2 r / (1 + r)``.

    Parameters
    ----------
    correlation : array-like, any shape
        Correlation between the mean over `first_size` and the mean over `second_size` other repetitions.
    first_size, second_size : int
        Numbers of repetitions, at least 1.

    Returns
    -------
    ndarray, the same shape
        Reliability of the mean over all ``first_size + second_size`` repetitions.

    Examples
    --------
    >>> float(step_up(0.5, 3, 3).round(6)), float(step_up(0.5, 1, 2).round(6))
    (0.666667, 0.686141)
    """
    a, b = first_size, second_size
    r = np.asarray(correlation, dtype=np.float64)
    if a == b:
        return spearman_brown(r)
    leading = a * b - r * r * (a - 1) * (b - 1)
    linear = np.abs(r) * (a + b - 2)
    root = np.sqrt(linear * linear + 4 * leading)
    single = np.abs(r) * (linear + np.copysign(root, r)) / (2 * leading)
    return spearman_brown(single, a + b)


def split_half_correlations(responses: ArrayLike, halves: ArrayLike, present: ArrayLike | None = None) -> Floats:
    """Correlate, per neuroid, the mean over some repetitions with the mean over all the others.

    The sums over all first halves and over all repetitions are one matrix product; the second halves are what is left.
    With ``f`` the centred sum of a half and ``t`` that of all repetitions,
    ``r = (f.t - f.f) / sqrt(f.f (t.t - 2 f.t + f.f))``.

    Parameters
    ----------
    responses : array-like, shape (n_repetitions, n_stimuli, n_neuroids)
        Finite where present. Not copied if it is a C-contiguous array of float64 and all are present.
    halves : array-like of bool, shape (n_splits, n_repetitions)
        True for the repetitions of the first half; the others are the second half.
    present : array-like of bool, shape (n_repetitions, n_stimuli), or None
        Whether a stimulus was shown in a repetition; None if all were. A stimulus that is missing from a half
        altogether does not count in that split.

    Returns
    -------
    ndarray, shape (n_splits, n_neuroids)
        Pearson correlations over stimuli; NaN for constant responses.
    """
    values = np.asarray(responses, dtype=np.float64)
    first = np.asarray(halves, dtype=bool)
    if not len(first) or not values.shape[1]:
        return np.full((len(first), values.shape[2]), np.nan)
    if present is not None and not np.all(present):
        return _incomplete_halves(values, first, np.asarray(present, dtype=bool))
    total = values.sum(axis=0)
    total_centred = total - total.mean(axis=0)
    step = max(1, _BLOCK_VALUES // total.size)
    blocks = [_complete_halves(values, first[i : i + step], total, total_centred) for i in range(0, len(first), step)]
    return np.concatenate(blocks)


def _complete_halves(values: Floats, first: NDArray[np.bool_], total: Floats, total_centred: Floats) -> Floats:
    """Correlate halves that hold all stimuli; (splits, neuroids)."""
    n_repetitions, n_stimuli, n_neuroids = values.shape
    sums = first.astype(np.float64) @ values.reshape(n_repetitions, -1)
    sums = sums.reshape(len(first), n_stimuli, n_neuroids)
    mean = sums.mean(axis=1, keepdims=True)
    sums -= mean
    ff = np.einsum("snq,snq->sq", sums, sums)
    ft = np.einsum("snq,nq->sq", sums, total_centred)
    tt = np.einsum("nq,nq->q", total_centred, total_centred)
    gg = tt - 2 * ft + ff
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # what is not well defined is redone below
        r = np.clip((ft - ff) / (np.sqrt(ff) * np.sqrt(gg)), -1.0, 1.0)
        # Differences lose digits where one half varies little beside the other; and is it constant, beside its mean?
        level = n_stimuli * (mean[:, 0] ** 2 + total.mean(axis=0) ** 2)
        least = np.maximum(_SMALL * (ff + tt), _ROUNDING * level)
        delicate = ~((ff > least) & (gg > least) & np.isfinite(r))
    for split in np.flatnonzero(delicate.any(axis=1)):
        columns = np.flatnonzero(delicate[split])
        part = values[:, :, columns]
        one, two = (np.tensordot(half.astype(np.float64), part, 1) for half in (first[split], ~first[split]))
        r[split, columns] = pearson_columns(one, two)
    return np.asarray(r, dtype=np.float64)


def _incomplete_halves(values: Floats, first: NDArray[np.bool_], shown: NDArray[np.bool_]) -> Floats:
    """Correlate halves in which some presentations are missing; (splits, neuroids)."""
    n_repetitions, n_stimuli, n_neuroids = values.shape
    flat = np.where(shown[:, :, None], values, 0.0).reshape(n_repetitions, -1)
    result = np.empty((len(first), n_neuroids))
    for row, half in zip(result, first, strict=True):
        weights = np.stack([half, ~half]).astype(np.float64)
        counts = weights @ shown
        both = (counts > 0).all(axis=0)
        means = (weights @ flat).reshape(2, n_stimuli, n_neuroids)[:, both] / counts[:, both, None]
        row[:] = pearson_columns(*means)
    return result
