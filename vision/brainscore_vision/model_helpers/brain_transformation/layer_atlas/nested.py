r"""Choose among layers by nested cross-validation.

The best of many scores is biased upwards. For each of K folds of the stimuli a layer is chosen by cross-validation
among the other folds, and scored on the fold:

.. math::
   \hat{s} = \frac{1}{K} \sum_i s_i(l_i), \quad l_i = \operatorname{argmax}_l \frac{1}{K-1} \sum_{j \ne i} s_{ij}(l)

where :math:`s_i(l)` is the score of layer l on fold i, fitted on all other folds, and :math:`s_{ij}(l)` that on fold j,
fitted without the folds i and j. One fit gives both :math:`s_{ij}` and :math:`s_{ji}`.

References
----------
Varma & Simon (2006), doi:10.1186/1471-2105-7-91.
Bates et al. (2024), doi:10.1080/01621459.2023.2197686 (fits without two folds).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices

__all__ = ["Nested", "best", "choose_nested", "fold_pairs", "nested_splits"]


class Nested(NamedTuple):
    """Result of nested cross-validation."""

    score: float  # mean over folds of the layer chosen without the fold
    layers: Indices  # (n_folds,), those layers


def fold_pairs(n_folds: int) -> list[tuple[int, int]]:
    """Return every pair of folds once, in the order of `nested_splits`."""
    return list(combinations(range(n_folds), 2))


def nested_splits(folds: Sequence[Indices]) -> list[tuple[Indices, Indices]]:
    """Return the splits (train, test) of a nested cross-validation.

    First for each fold: all others, and the fold. Then for each of `fold_pairs`: all others, and the two folds. `folds`
    are positions of stimuli, together all once.
    """

    def without(*left_out: int) -> Indices:
        return np.sort(np.concatenate([fold for index, fold in enumerate(folds) if index not in left_out]))

    single = [(without(index), fold) for index, fold in enumerate(folds)]
    pairs = [(without(i, j), np.concatenate([folds[i], folds[j]])) for i, j in fold_pairs(len(folds))]
    return single + pairs


def choose_nested(outer: Floats, inner: Floats) -> Nested:
    """Choose a layer without each fold, and score it on the fold.

    Parameters
    ----------
    outer : ndarray, shape (n_layers, n_folds)
        Score on each fold, fitted on all others. NaN: the layer cannot be scored.
    inner : ndarray, shape (n_layers, n_folds, n_folds)
        At [l, i, j] the score on fold j, fitted without the folds i and j. The diagonal is ignored.

    Examples
    --------
    >>> outer = np.array([[0.5, 0.5, 0.5], [0.9, 0.1, 0.1]])
    >>> inner = np.repeat(outer[:, None, :], 3, axis=1)
    >>> choose_nested(outer, inner)
    Nested(score=0.3666666666666667, layers=array([0, 1, 0]))
    """
    n_folds = outer.shape[1]
    others = ~np.eye(n_folds, dtype=bool)
    means = np.stack([inner[:, i, others[i]].mean(axis=1) for i in range(n_folds)], axis=1)
    layers = np.asarray([best(means[:, i]) for i in range(n_folds)])
    return Nested(float(outer[layers, np.arange(n_folds)].mean()), layers)


def best(scores: Floats) -> int:
    """Return the position of the first highest score, ignoring NaN."""
    return int(np.argmax(np.where(np.isnan(scores), -np.inf, scores)))
