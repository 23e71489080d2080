"""Compute the reliability of measurements from their repetitions.

References
----------
Spearman (1910), Correlation calculated from faulty data, doi:10.1111/j.2044-8295.1910.tb00206.x.
Brown (1910), Some experimental results in the correlation of mental abilities,
doi:10.1111/j.2044-8295.1910.tb00207.x.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brainscore_vision.metric_helpers.arrays.correlation import pearson_columns

__all__ = ["spearman_brown", "split_half_correlations", "step_up"]

Floats = NDArray[np.float64]


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

    Parameters
    ----------
    responses : array-like, shape (n_repetitions, n_stimuli, n_neuroids)
        Finite where present.
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
    n_repetitions, n_stimuli, n_neuroids = values.shape
    flat = values.reshape(n_repetitions, n_stimuli * n_neuroids)
    if present is None or np.all(present):
        shown = None
    else:
        shown = np.asarray(present, dtype=bool)
        flat = np.where(np.repeat(shown, n_neuroids, axis=1), flat, 0.0)
    result = np.empty((len(first), n_neuroids))
    for index, half in enumerate(first):
        means = [(part @ flat).reshape(n_stimuli, n_neuroids) for part in (half.astype(float), (~half).astype(float))]
        if shown is not None:
            counts = [shown[half].sum(axis=0), shown[~half].sum(axis=0)]
            both = (counts[0] > 0) & (counts[1] > 0)
            means = [total[both] / count[both][:, None] for total, count in zip(means, counts, strict=True)]
        result[index] = pearson_columns(*means)
    return result
