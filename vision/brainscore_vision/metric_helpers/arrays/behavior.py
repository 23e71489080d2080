"""Compute how alike two observers decide.

References
----------
Cohen (1960), A coefficient of agreement for nominal scales, doi:10.1177/001316446002000104.
Geirhos, Meding & Wichmann (2020), Beyond accuracy: quantifying trial-by-trial behaviour of CNNs and humans by
measuring error consistency, NeurIPS 33, equations 1 to 3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["cohens_kappa", "error_consistency", "pairwise_error_consistency"]

Floats = NDArray[np.float64]


def cohens_kappa(observed: ArrayLike, expected: ArrayLike) -> Floats:
    """Compute agreement beyond chance, ``kappa = (observed - expected) / (1 - expected)``.

    Parameters
    ----------
    observed : array-like, any shape
        Part of the cases in which two observers agree, in [0, 1].
    expected : array-like, the same shape
        The part in which they would agree by chance, in [0, 1].

    Returns
    -------
    ndarray, the same shape
        At most 1; 0 means agreement at chance. NaN where chance already gives full agreement.

    Examples
    --------
    >>> cohens_kappa([0.7, 1.0], [0.5, 1.0])
    array([0.4, nan])
    """
    seen = np.asarray(observed, dtype=np.float64)
    chance = np.asarray(expected, dtype=np.float64)
    room = 1.0 - chance
    kappa: Floats = np.divide(seen - chance, room, out=np.full(np.shape(room), np.nan), where=room > 1e-12)
    return kappa


def error_consistency(first: ArrayLike, second: ArrayLike) -> Floats:
    """Compute Cohen's kappa on whether two observers are right about the same stimuli.

    With accuracies ``p1`` and ``p2``, agreement by chance is ``p1 p2 + (1 - p1)(1 - p2)``.

    Parameters
    ----------
    first : array-like of bool, shape (..., n_stimuli)
        True where the first observer's answer is right.
    second : array-like of bool, shape (..., n_stimuli)
        The same for the second observer, the same stimuli in the same order; leading axes broadcast.

    Returns
    -------
    ndarray, shape (...)
        Kappa, at most 1. NaN where both are always right or both always wrong, since then nothing can be told.

    Examples
    --------
    >>> error_consistency([True, True, False, False], [True, True, False, True])
    array(0.5)
    """
    one = np.asarray(first, dtype=bool)
    two = np.asarray(second, dtype=bool)
    accuracy_one, accuracy_two = one.mean(axis=-1), two.mean(axis=-1)
    expected = accuracy_one * accuracy_two + (1 - accuracy_one) * (1 - accuracy_two)
    return cohens_kappa((one == two).mean(axis=-1), expected)


def pairwise_error_consistency(correct: ArrayLike) -> Floats:
    """Compute the error consistency of every pair of observers.

    Parameters
    ----------
    correct : array-like of bool, shape (n_observers, n_stimuli)

    Returns
    -------
    ndarray, shape (n_observers (n_observers - 1) / 2,)
        Pairs in the order (0, 1), (0, 2), ..., (1, 2), ...
    """
    right = np.asarray(correct, dtype=bool)
    left, other = np.triu_indices(len(right), k=1)
    return error_consistency(right[left], right[other])
