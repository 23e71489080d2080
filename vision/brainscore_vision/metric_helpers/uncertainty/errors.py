"""Estimate standard errors without draws, and write them into scores.

References
----------
Tukey (1958), Bias and confidence in not-quite large samples, Annals of Mathematical Statistics 29:614. Efron & Stein
(1981), The jackknife estimate of variance, doi:10.1214/aos/1176345462.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brainscore_vision.metric_helpers.arrays.influence import order_weights

if TYPE_CHECKING:
    from brainscore_core.metrics import Score
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats

__all__ = [
    "attach_split_error",
    "attach_standard_error",
    "declare_no_error",
    "jackknife_error",
    "note_error",
    "shaped_like",
    "standard_error",
    "standard_error_of_median",
    "standard_errors",
]


def standard_errors(values: ArrayLike, axis: int = 0) -> Floats:
    """Compute standard errors of means along an axis of independent units, ``std(values, ddof=1) / sqrt(n)``.

    NaN does not count; the result is NaN for fewer than two values.
    """
    array = np.asarray(values, dtype=np.float64)
    defined = ~np.isnan(array)
    n = defined.sum(axis=axis, keepdims=True)
    mean = np.where(defined, array, 0.0).sum(axis=axis, keepdims=True) / np.maximum(n, 1)
    squares = np.where(defined, (array - mean) ** 2, 0.0).sum(axis=axis, keepdims=True)
    variance = np.divide(squares, (n - 1) * n, out=np.full(n.shape, np.nan), where=n > 1)
    return np.asarray(np.sqrt(variance).squeeze(axis))


def standard_error(values: ArrayLike) -> float:
    """Compute the standard error of one mean; see `standard_errors`.

    Examples
    --------
    >>> standard_error([1.0, 3.0])
    1.0
    """
    return float(standard_errors(values))


def standard_error_of_median(values: ArrayLike) -> float:
    """Return the bootstrap standard error of the median of values that are not NaN, without drawing.

    It is the standard deviation of the values with their probabilities of being the median of a sample with replacement
    (`order_weights`; Maritz & Jarrett 1978, doi:10.1080/01621459.1978.10480027). For odd n this is the limit of the
    bootstrap. NaN for fewer than two values.

    Examples
    --------
    >>> round(standard_error_of_median([1., 2., 3.]), 4)
    0.7201
    """
    array = np.asarray(values, dtype=np.float64)
    ordered = np.sort(array[~np.isnan(array)])
    n = len(ordered)
    if n < 2:
        return float("nan")
    probability = order_weights(n)
    deviation = ordered - probability @ ordered
    return float(np.sqrt(probability @ deviation**2))


def jackknife_error(left_out: ArrayLike) -> float:
    """Compute the standard error of a statistic from its values without each unit.

    ``error = sqrt((n - 1) / n * sum_i (t_i - mean(t))^2)`` equals `standard_error` for a mean. NaN for fewer than two
    values, or if one is NaN.
    """
    values = np.asarray(left_out, dtype=np.float64)
    if len(values) < 2:
        return float("nan")
    return float(np.sqrt((len(values) - 1) * values.var()))


def attach_standard_error(score: Score, values: ArrayLike, over: str) -> Score:
    """Write the standard error of a mean of `values` along their first axis into its attributes.

    These are ``error``, a float, or a Score like the score if that has dimensions, ``error_over``, and
    ``error_nan_reason`` if the error is NaN throughout.
    """
    return note_error(score, standard_errors(values), over=over, n=len(np.asarray(values)))


def attach_split_error(score: Score, values: ArrayLike) -> Score:
    """Write the standard error of a mean over splits into the attribute ``split_error``.

    It is much smaller than the score's error, since splits share data.
    """
    errors = np.where(np.isnan(score.values), np.nan, standard_errors(values))
    score.attrs["split_error"] = shaped_like(score, errors)
    return score


def note_error(score: Score, error: float | Floats, *, over: str, n: int) -> Score:
    """Write a standard error of the score's shape into its attributes, or the reason for its absence."""
    # An undefined score has no error.
    errors = np.where(np.isnan(score.values), np.nan, error)
    score.attrs["error"] = shaped_like(score, errors)
    score.attrs["error_over"] = [over]
    if np.isnan(errors).all():
        few = f"a single {over}: fewer than two {over}s leave nothing to resample"
        score.attrs["error_nan_reason"] = few if n < 2 else f"undefined for the {n} {over}s"
    return score


def shaped_like(score: Score, values: ArrayLike) -> float | Score:
    """Label values of a score's shape like the score, without attributes; return a float for a 0-d score."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0:
        return float(array)
    shaped = score.copy(deep=False, data=array)
    shaped.attrs = {}
    return shaped


def declare_no_error(score: Score, reason: str) -> Score:
    """Set a score's error to NaN with a reason, such as ``'one subject'``; raise ValueError without a reason."""
    if not reason:
        raise ValueError("A score without an error needs a reason, such as 'a single subject: nothing to resample'.")
    score.attrs["error"] = float("nan")
    score.attrs["error_nan_reason"] = reason
    return score
