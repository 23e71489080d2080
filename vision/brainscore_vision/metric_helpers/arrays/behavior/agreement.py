"""Measure how alike two observers decide.

References
----------
Cohen (1960), doi:10.1177/001316446002000104. Geirhos et al. (2020), Beyond accuracy: quantifying
trial-by-trial behaviour of CNNs and humans by measuring error consistency, NeurIPS 33, equations 1 to 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats

__all__ = [
    "accuracy_closeness",
    "cohens_kappa",
    "error_consistency",
    "kappa_of_counts",
    "pairwise_accuracies",
    "pairwise_error_consistency",
    "relative_closeness",
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
