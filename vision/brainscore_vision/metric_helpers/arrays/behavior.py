"""Measure how similarly two observers decide, and which objects they confuse.

References
----------
Cohen (1960), doi:10.1177/001316446002000104. Geirhos et al. (2020), Beyond accuracy: quantifying
trial-by-trial behaviour of CNNs and humans by measuring error consistency, NeurIPS 33, equations 1 to 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Integers

__all__ = [
    "accuracy_closeness",
    "center_by_task",
    "choice_rates",
    "cohens_kappa",
    "confusion_matrices",
    "error_consistency",
    "image_dprimes",
    "kappa_of_counts",
    "masked_correlations",
    "object_dprimes",
    "object_means",
    "off_diagonal",
    "pairwise_accuracies",
    "pairwise_error_consistency",
    "relative_closeness",
    "two_way_rates",
]

ROUNDING = 1e-15  # of a difference of shares


def cohens_kappa(observed: ArrayLike, expected: ArrayLike) -> Floats:
    """Compute agreement beyond chance, ``kappa = (observed - expected) / (1 - expected)``, from shares in [0, 1].

    At most 1; NaN where chance gives full agreement.

    Examples
    --------
    >>> cohens_kappa([0.7, 1.0], [0.5, 1.0])
    array([0.4, nan])
    """
    seen = np.asarray(observed, dtype=np.float64)
    chance = np.asarray(expected, dtype=np.float64)
    room, beyond = 1.0 - chance, seen - chance
    beyond = np.where(np.abs(beyond) < ROUNDING, 0.0, beyond)
    kappa: Floats = np.divide(beyond, room, out=np.full(np.shape(room), np.nan), where=room > 1e-12)
    return kappa


def error_consistency(first: ArrayLike, second: ArrayLike, counted: ArrayLike | None = None) -> Floats:
    """Compute Cohen's kappa on whether two observers are right about the same stimuli.

    With accuracies ``p1`` and ``p2``, agreement by chance is ``p1 p2 + (1 - p1)(1 - p2)``.

    Parameters
    ----------
    first, second, counted : array-like of bool, shapes (..., n_stimuli) that broadcast
        Whether each observer is right, and both judged a stimulus; None: all.

    Returns
    -------
    ndarray, shape (...)
        At most 1. NaN where both are always right or both always wrong, or no stimulus counts.

    Examples
    --------
    >>> error_consistency([True, True, False, False], [True, True, False, True])
    array(0.5)
    """
    one = np.asarray(first, dtype=bool)
    two = np.asarray(second, dtype=bool)
    if counted is None:
        n, one_right, two_right = one.shape[-1], one.sum(axis=-1), two.sum(axis=-1)
        agree = (one == two).sum(axis=-1)
    else:
        both = np.asarray(counted, dtype=bool)
        n, one_right, two_right = both.sum(axis=-1), (one & both).sum(axis=-1), (two & both).sum(axis=-1)
        agree = ((one == two) & both).sum(axis=-1)
    return kappa_of_counts(n, one_right, two_right, agree)


def pairwise_error_consistency(correct: ArrayLike, judged: ArrayLike | None = None) -> Floats:
    """Compute the error consistency of every pair of observers by three matrix products.

    Observers are on the first axis; each pair is compared on the stimuli that both judged (None: all). Pairs are
    ordered (0, 1), (0, 2), ..., (1, 2), ...
    """
    right = np.asarray(correct, dtype=bool)
    seen = np.ones_like(right) if judged is None else np.asarray(judged, dtype=bool)
    counts, hits = seen.astype(np.float64), (right & seen).astype(np.float64)
    pairs = np.triu_indices(len(right), k=1)
    common = (counts @ counts.T)[pairs]
    among_common = hits @ counts.T  # right answers of the row's observer to stimuli that the column's judged
    one_right, two_right = among_common[pairs], among_common.T[pairs]
    both_right = (hits @ hits.T)[pairs]
    return kappa_of_counts(common, one_right, two_right, common - one_right - two_right + 2 * both_right)


def kappa_of_counts(n: ArrayLike, one_right: ArrayLike, two_right: ArrayLike, agree: ArrayLike) -> Floats:
    """Compute the error consistency from numbers of stimuli: total, right ones of each observer, and agreed ones.

    Examples
    --------
    >>> kappa_of_counts(4, 2, 3, 3)
    array(0.5)
    """
    with np.errstate(invalid="ignore"):
        total = np.asarray(n, dtype=np.float64)
        one, two = np.asarray(one_right) / total, np.asarray(two_right) / total
        return cohens_kappa(np.asarray(agree) / total, one * two + (1 - one) * (1 - two))


def accuracy_closeness(source: ArrayLike, target: ArrayLike) -> Floats:
    """Compute how close one accuracy in [0, 1] is to another, relative to the largest possible distance.

    ``1 - |source - target| / max(target, 1 - target)``, in [0, 1].

    Examples
    --------
    >>> accuracy_closeness([0.5, 0.75, 0.0], 0.75)
    array([0.66666667, 1.        , 0.        ])
    """
    accuracy, reference = np.asarray(source, dtype=np.float64), np.asarray(target, dtype=np.float64)
    closeness: Floats = 1.0 - np.abs(accuracy - reference) / np.maximum(reference, 1.0 - reference)
    return closeness


def relative_closeness(source: ArrayLike, target: ArrayLike) -> Floats:
    """Compute how close one quantity on a ratio scale is to another, relative to the other.

    ``closeness = max(1 - |source - target| / |target|, 0)``, in [0, 1]; NaN where `target` is 0.

    Examples
    --------
    >>> relative_closeness([10.0, 30.0, 90.0], 20.0)
    array([0.5, 0.5, 0. ])
    """
    quantity, size = np.asarray(source, dtype=np.float64), np.abs(np.asarray(target, dtype=np.float64))
    off = np.abs(quantity - np.asarray(target, dtype=np.float64))
    ratio = np.divide(off, size, out=np.full(np.broadcast(off, size).shape, np.nan), where=size > 0)
    closeness: Floats = np.maximum(1.0 - ratio, 0.0)
    return closeness


def pairwise_accuracies(right: ArrayLike, judged: ArrayLike) -> Floats:
    """Compute the accuracy of every observer on the stimuli of every other one.

    Given numbers of right and of all answers, shape (n_observers, n_stimuli), entry ``(i, j)`` is the accuracy of ``i``
    on stimuli that ``j`` judged too, weighted by the answers of ``j``. NaN where they share no stimulus.

    Examples
    --------
    >>> pairwise_accuracies([[1, 1, 0], [1, 0, 0]], [[1, 1, 1], [1, 1, 0]])
    array([[0.66666667, 1.        ],
           [0.5       , 0.5       ]])
    """
    hits, counts = np.asarray(right, dtype=np.float64), np.asarray(judged, dtype=np.float64)
    seen = counts > 0
    share = np.divide(hits, counts, out=np.zeros(hits.shape), where=seen)
    number = seen.astype(np.float64) @ counts.T
    accuracies: Floats = np.divide(share @ counts.T, number, out=np.full(number.shape, np.nan), where=number > 0)
    return accuracies


# -- object patterns ---------------------------------------------------------------------------------------------------
# Compute which objects observers confuse: confusion matrices and image-level signal detection.
#
# Objects are numbered from 0; each image shows one. `truth`, shape (n_images,) or (n_trials,), holds the object shown.
#
# References
# ----------
# Rajalingham et al. (2018), doi:10.1523/JNEUROSCI.0388-18.2018. Schrimpf, Kubilius et
# al. (2018), Brain-Score, doi:10.1101/407007, for false alarms per object.

_MOST_DPRIME = 5.0


def confusion_matrices(
    truth: ArrayLike, answer: ArrayLike, n_objects: int, group: ArrayLike | None = None, n_groups: int = 1
) -> Integers:
    """Count how often each object was taken for each other one, per group of trials (observer).

    Rows are true objects, columns answers, shape (n_groups, n_objects, n_objects); negative numbers do not count.

    Examples
    --------
    >>> confusion_matrices([0, 0, 1], [0, 1, 1], 2)
    array([[[1, 1],
            [0, 1]]])
    """
    objects, answers = np.asarray(truth), np.asarray(answer)
    who = np.zeros(objects.shape, dtype=np.intp) if group is None else np.asarray(group)
    counted = (objects >= 0) & (answers >= 0)
    cell = (who[counted] * n_objects + objects[counted]) * n_objects + answers[counted]
    counts: Integers = np.bincount(cell, minlength=n_groups * n_objects**2)
    return counts.reshape(n_groups, n_objects, n_objects)


def off_diagonal(matrices: ArrayLike) -> Floats:
    """Return the off-diagonal entries row by row: shape (..., n, n) becomes (..., n (n - 1))."""
    values = np.asarray(matrices, dtype=np.float64)
    return values[..., ~np.eye(values.shape[-1], dtype=bool)]


def two_way_rates(probabilities: ArrayLike, truth: ArrayLike) -> Floats:
    """Compute how often each distractor would win in a choice between it and the true object.

    ``rate[i, c] = p[i, c] / (p[i, c] + p[i, truth_i])``; rows of the probabilities, shape (n_images, n_objects), need
    not sum to one. NaN for the true object, and where both are 0.

    Examples
    --------
    >>> two_way_rates([[0.6, 0.2, 0.2]], [0])
    array([[ nan, 0.25, 0.25]])
    """
    p = np.asarray(probabilities, dtype=np.float64)
    rows, objects = np.arange(len(p)), np.asarray(truth)
    total = p + p[rows, objects][:, None]
    rates: Floats = np.divide(p, total, out=np.full(p.shape, np.nan), where=total > 0)
    rates[rows, objects] = np.nan
    return rates


def choice_rates(
    image: ArrayLike,
    chosen: ArrayLike,
    offered: tuple[ArrayLike, ArrayLike],
    truth: ArrayLike,
    n_objects: int,
    group: ArrayLike | None = None,
    n_groups: int = 1,
) -> Floats:
    """Compute how often each distractor was chosen in trials that offer two objects.

    `group`, shape (..., n_trials), is the part of each trial, such as a half; leading axes are other divisions of the
    same trials. Rates, shape (..., n_groups, n_images, n_objects), are NaN for the true object and for objects never
    offered with the image.
    """
    objects = np.asarray(truth)
    shape = (len(objects), n_objects)
    part = np.zeros(np.shape(image), dtype=np.intp) if group is None else np.asarray(group)
    leading = part.shape[:-1]
    division = np.arange(int(np.prod(leading))).reshape((*leading, 1)) * n_groups
    cells = int(np.prod(leading)) * n_groups * shape[0] * shape[1]
    offset = (division + part) * (shape[0] * shape[1])
    row = np.asarray(image) * n_objects

    def count(column: ArrayLike) -> Integers:
        counts: Integers = np.bincount((offset + (row + np.asarray(column))).ravel(), minlength=cells)
        return counts.reshape((*leading, n_groups, *shape))

    number = count(offered[0]) + count(offered[1])
    rates: Floats = np.divide(count(chosen), number, out=np.full(number.shape, np.nan), where=number > 0)
    rates[..., np.arange(shape[0]), objects] = np.nan
    return rates


def object_means(rates: ArrayLike, truth: ArrayLike) -> Floats:
    """Average rates, shape (..., n_images, n_objects), over the images of each object, ignoring NaN.

    Rows of the result, shape (..., n_objects, n_objects), are true objects; NaN without any value.
    """
    values = np.asarray(rates, dtype=np.float64)
    member = np.asarray(truth) == np.arange(values.shape[-1])[:, None]
    defined = ~np.isnan(values)
    total, number = member @ np.where(defined, values, 0.0), member @ defined.astype(np.float64)
    means: Floats = np.divide(total, number, out=np.full(total.shape, np.nan), where=number > 0)
    return means


def image_dprimes(rates: ArrayLike, truth: ArrayLike) -> Floats:
    """Compute how well each image is discriminated from each distractor (I2 of Rajalingham et al., 2018).

    ``d'[i, c] = z(1 - rate[i, c]) - z(mean of rate[j, t_i] over the images j of object c)``

    ``rate[i, c]``, shape (..., n_images, n_objects), is how often distractor ``c`` is chosen for image ``i``. Values
    are clipped to [-5, 5], since rates of 0 and 1 have infinite z. NaN where the rate or the reverse one is unknown, or
    both are infinite with the same sign.
    """
    values = np.asarray(rates, dtype=np.float64)
    reverse = np.swapaxes(object_means(values, truth)[..., :, np.asarray(truth)], -1, -2)
    with np.errstate(invalid="ignore"):
        dprimes: Floats = np.clip(ndtri(1.0 - values) - ndtri(reverse), -_MOST_DPRIME, _MOST_DPRIME)
    return dprimes


def object_dprimes(rates: ArrayLike, truth: ArrayLike) -> Floats:
    """Compute how well each pair of objects is discriminated (O2 of Rajalingham et al., 2018), as `image_dprimes`.

    ``d'[a, b] = z(1 - rate(b taken for a)) - z(rate(a taken for b))``, with rates averaged over the images of an
    object.
    """
    means = object_means(rates, truth)
    with np.errstate(invalid="ignore"):
        dprimes: Floats = np.clip(ndtri(1.0 - np.swapaxes(means, -1, -2)) - ndtri(means), -_MOST_DPRIME, _MOST_DPRIME)
    return dprimes


def center_by_task(patterns: ArrayLike, truth: ArrayLike) -> Floats:
    """Subtract, for each pair of true object and distractor, the mean over the object's images (I2n from I2)."""
    values = np.asarray(patterns, dtype=np.float64)
    centered: Floats = values - object_means(values, truth)[..., np.asarray(truth), :]
    return centered


def masked_correlations(first: ArrayLike, second: ArrayLike, counted: ArrayLike) -> tuple[Floats, Floats]:
    """Correlate tables over entries that count, and again without each row.

    Parameters
    ----------
    first, second : array-like, shapes (..., n_rows, n_columns) that broadcast
    counted : array-like of bool, shape (..., n_rows, n_columns)
        Other entries may be NaN.

    Returns
    -------
    correlations : ndarray, shape (...)
        Pearson correlation over all entries; NaN if one side does not vary.
    left_out : ndarray, shape (..., n_rows)
        Without the entries of each row.
    """
    keep = np.asarray(counted, dtype=bool)
    number = keep.sum(axis=(-2, -1), keepdims=True)
    sides = []
    for side in (first, second):
        values = np.where(keep, np.asarray(side, dtype=np.float64), 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            centered = np.where(keep, values - values.sum(axis=(-2, -1), keepdims=True) / number, 0.0)
        # Rounding residue of a constant side is zero.
        negligible = np.abs(centered) <= 1e-13 * np.abs(values).max(axis=(-2, -1), keepdims=True, initial=0.0)
        sides.append(np.where(negligible, 0.0, centered))
    x, y = sides
    terms = (x, y, x * x, y * y, x * y)
    rows = np.stack([keep.sum(axis=-1, dtype=np.float64), *(term.sum(axis=-1) for term in terms)])
    total = rows.sum(axis=-1)
    return _correlation_of_sums(total), _correlation_of_sums(total[..., None] - rows)


def _correlation_of_sums(sums: Floats) -> Floats:
    n, x, y, xx, yy, xy = sums
    with np.errstate(invalid="ignore", divide="ignore"):
        spread_x, spread_y = xx - x * x / n, yy - y * y / n
        varies = (spread_x > 1e-13 * xx) & (spread_y > 1e-13 * yy)
        scale = np.sqrt(np.where(varies, spread_x * spread_y, np.nan))
        correlation: Floats = np.clip((xy - x * y / n) / scale, -1.0, 1.0)
    return correlation
