"""Compute how much the agreement of observers moves with the weight of each answer.

The *influence* of an answer (one subject, one stimulus) is the derivative of a weighted statistic by its weight (Hampel
1974, doi:10.1080/01621459.1974.10482962). Squared influences estimate the variance over new samples (Efron 1982,
chapter 6, doi:10.1137/1.9781611970319; for pairs of subjects Hoeffding 1948, doi:10.1214/aoms/1177730196; see
`uncertainty.crossed`). `counted`, shape (..., n_subjects, n_stimuli), is the weight of each answer; 0 if it does not
count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brainscore_vision.metric_helpers.arrays.behavior.agreement import kappa_of_counts

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats

__all__ = [
    "closeness_influences",
    "kappa_influences",
    "leave_one_out_influences",
    "pair_influences",
    "subject_influences",
]


def kappa_influences(first: ArrayLike, second: ArrayLike, counted: ArrayLike | None = None) -> Floats:
    """Compute how much `error_consistency` moves when each stimulus is left out.

    ``x[i] = (n - 1) / n (mean_j(kappa without j) - kappa without i)``

    Kappa is too far from linear for the derivative. Rows sum to 0. 0 for stimuli that do not count or without which
    kappa is undefined.

    Examples
    --------
    >>> kappa_influences([True, True, False, False], [True, True, False, True])
    array([ 0.0375,  0.0375,  0.3375, -0.4125])
    """
    one, two = np.broadcast_arrays(np.asarray(first, dtype=bool), np.asarray(second, dtype=bool))
    both = np.ones(one.shape, dtype=bool) if counted is None else np.broadcast_to(counted, one.shape)
    rows = [np.asarray(answers, dtype=np.float64) for answers in (both, one & both, two & both, (one == two) & both)]
    without = kappa_of_counts(*(row.sum(axis=-1, keepdims=True) - row for row in rows))
    defined = both & ~np.isnan(without)
    number = np.maximum(1, defined.sum(axis=-1, keepdims=True))
    mean = np.where(defined, without, 0.0).sum(axis=-1, keepdims=True) / number
    return np.where(defined, (mean - without) * (number - 1) / number, 0.0)


def closeness_influences(source: ArrayLike, target: ArrayLike, counted: ArrayLike) -> Floats:
    """Differentiate `accuracy_closeness` of two shares of right answers by the weight of each stimulus.

    Rows, shape (..., n_stimuli), sum to 0; those where nothing counts are 0. Closeness peaks at equal accuracies; there
    the derivative is that of approaching the peak.
    """
    source_right, target_right, number = np.broadcast_arrays(
        *(np.asarray(part, dtype=np.float64) for part in (source, target, counted))
    )
    total = number.sum(axis=-1, keepdims=True)
    weight = np.divide(number, total, out=np.zeros(number.shape), where=total > 0)
    s, t = ((weight * side).sum(axis=-1, keepdims=True) for side in (source_right, target_right))
    by_s, by_t = weight * (source_right - s), weight * (target_right - t)
    sign = np.where(s >= t, 1.0, -1.0)
    farthest = np.maximum(t, 1 - t)
    moved: Floats = -sign * (by_s - by_t) / farthest + np.abs(s - t) / farthest**2 * np.where(t > 0.5, by_t, -by_t)
    return moved


def subject_influences(values: ArrayLike, by_stimulus: ArrayLike, counted: ArrayLike) -> Floats:
    """Differentiate a mean over subjects by the weight of each answer, shape (..., n_subjects, n_stimuli).

    ``x[s, i] = (by_stimulus[s, i] + (values[s] - mean) * counted[s, i] / sum_i counted[s, i]) / n``

    Values that are NaN do not count; `by_stimulus` holds influences of stimuli on each. Sums over stimuli are
    influences of subjects, sums over subjects those of stimuli; the total is 0.
    """
    value = np.asarray(values, dtype=np.float64)[..., None]
    defined = ~np.isnan(value)
    n = np.maximum(1, defined.sum(axis=-2, keepdims=True))
    mean = np.where(defined, value, 0.0).sum(axis=-2, keepdims=True) / n
    deviation = np.where(defined, value - mean, 0.0)
    influences: Floats = (np.where(defined, by_stimulus, 0.0) + deviation * _shares(counted)) / n
    return influences


def pair_influences(table: ArrayLike, by_stimulus: ArrayLike, counted: ArrayLike) -> Floats:
    """Differentiate a mean over pairs of subjects by the weight of each answer, as `subject_influences`.

    A subject moves the mean by twice its pairs' deviation, a stimulus by its mean influence on all pairs. Its own part
    has the factor ``(n - 1) / (n - 2)`` of the jackknife. NaN for fewer than three subjects.

    The symmetric table holds the values of pairs; NaN and the diagonal do not count. `by_stimulus` holds the influences
    of stimuli on the mean over the pairs of each subject.
    """
    pairs = np.array(table, dtype=np.float64)
    np.fill_diagonal(pairs, np.nan)
    defined = ~np.isnan(pairs)
    weight = defined.sum(axis=1) / max(1, defined.sum())  # share of the pairs with a subject; sums to 1
    filled = np.where(defined, pairs, 0.0)
    mean = filled.sum() / max(1, defined.sum())
    moved = weight[:, None] * np.asarray(by_stimulus, dtype=np.float64)
    n = int(defined.any(axis=1).sum())
    enlarged = 2 * (n - 1) / (n - 2) if n > 2 else np.nan
    deviation = filled.sum(axis=1) / max(1, defined.sum()) - weight * mean
    # An answer's own part counts twice in its subject's pairs, the part shared by all once.
    present = np.asarray(counted) > 0
    number = np.maximum(1, present.sum(axis=0, keepdims=True))
    even = np.where(present, moved.sum(axis=0, keepdims=True) / number, 0.0)
    influences: Floats = enlarged * (moved - even + deviation[:, None] * _shares(counted)) + even
    return influences


def leave_one_out_influences(responses: ArrayLike, present: ArrayLike, *, itself: bool = False) -> Floats:
    """Differentiate the mean of `leave_one_out_correlations` by the weight of each answer, as `subject_influences`.

    If `itself`, the means that subjects are correlated with include the subject. Subjects with an undefined correlation
    do not count.
    """
    answered = np.asarray(present, dtype=bool)
    used = (answered & (answered.sum(axis=0) > 1)).astype(np.float64)
    y = np.where(answered, np.asarray(responses, dtype=np.float64), 0.0)
    number = np.maximum(answered.sum(axis=0) - (0 if itself else used), 1)  # subjects in the mean
    others = (y.sum(axis=0) - (0 if itself else y)) / number
    n = used.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        sides, scales = [], []
        for side in (y, others):
            centred = used * (side - (used * side).sum(axis=1, keepdims=True) / n)
            scales.append(np.sqrt((centred**2).sum(axis=1, keepdims=True) / n))
            sides.append(centred / scales[-1])
        a, b = sides
        r = (a * b).sum(axis=1, keepdims=True) / n
        direct = (a * b - r / 2 * (a**2 + b**2)) / n
        by_mean = (a - r * b) / (n * scales[1] * number)  # derivative of each correlation by the mean at each stimulus
    total, shifted = by_mean.sum(axis=0), (by_mean * others).sum(axis=0)
    if not itself:
        total, shifted = total - by_mean, shifted - by_mean * others
    through_means = np.where(used > 0, y * total - shifted, 0.0)
    return subject_influences(r[:, 0], direct + through_means, used)


def _shares(counted: ArrayLike) -> Floats:
    number = np.asarray(counted, dtype=np.float64)
    total = number.sum(axis=-1, keepdims=True)
    shares: Floats = np.divide(number, total, out=np.zeros(number.shape), where=total > 0)
    return shares
