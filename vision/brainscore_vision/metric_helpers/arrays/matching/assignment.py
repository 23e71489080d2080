"""Pair every neuroid of a target with a neuroid of the source that no other has, so that all correlate most.

``best = argmax_pi sum_j r(x_pi(j), y_j)`` over injective maps pi, with the correlations of the training stimuli: a
linear sum assignment. The response of its partner, as it is, predicts a neuroid. Where several of the target prefer the
same neuroid of the source, one gets it; `regression.single` gives it to all.

References
----------
Kuhn (1955), The Hungarian method for the assignment problem, doi:10.1002/nav.3800020109. Crouse (2016), On implementing
2D rectangular assignment algorithms, doi:10.1109/TAES.2016.140952, which SciPy uses. Li, Yosinski, Clune, Lipson &
Hopcroft (2016), Convergent learning: do different neural networks learn the same representations?, arXiv:1511.07543.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.arrays.regression.single import training_correlations

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices, Splits

__all__ = ["assign", "assigned_predict_splits", "partners"]

UNDEFINED = -2.0  # takes the place of a correlation that is not defined: below all that are


def assign(correlations: Floats) -> Indices:
    """Give each neuroid of the target a neuroid of the source of its own.

    Parameters
    ----------
    correlations : ndarray, shape (n_neuroids, n_features)
        NaN where undefined: such a pair is made only if nothing else is left.

    Returns
    -------
    ndarray of int, shape (n_neuroids,)
        Positions in the source, all different but for -1: the partner that was left has no correlation.

    Raises
    ------
    ValueError
        If the target has more neuroids than the source.

    Examples
    --------
    Both prefer the first; together they correlate most if the second neuroid leaves it to the other.

    >>> assign(np.array([[0.9, 0.1], [0.8, 0.7]]))
    array([0, 1])
    """
    from scipy.optimize import linear_sum_assignment  # scipy is loaded by those who use it

    q, p = correlations.shape
    if p < q:
        raise ValueError(
            f"Each of the {q} neuroids of the target needs one of the source for itself, which has only {p}. Record "
            "more of the model, or take load_metric('soft_matching'), whose neuroids are shared in parts."
        )
    defined = np.isfinite(correlations)
    _, columns = linear_sum_assignment(np.where(defined, correlations, UNDEFINED), maximize=True)
    assigned: Indices = np.where(defined[np.arange(q), columns], columns, -1)
    return assigned


def partners(source: ArrayLike | ColumnBlocks, target: ArrayLike) -> Indices:
    """Return what `assign` gives for the correlations over all stimuli.

    Parameters
    ----------
    source : array-like or ColumnBlocks, shape (n_stimuli, n_features)
        Finite.
    target : array-like, shape (n_stimuli, n_neuroids)
        Finite.
    """
    everything = np.arange(np.shape(target)[0], dtype=np.intp)
    (correlations,) = training_correlations(source, target, [(everything, everything[:0])])
    return assign(correlations)


def assigned_predict_splits(source: ArrayLike | ColumnBlocks, target: ArrayLike, splits: Splits) -> list[Floats]:
    """Predict held-out responses by those of the partner that a neuroid is given in training, for every split.

    Parameters
    ----------
    source : array-like or ColumnBlocks, shape (n_stimuli, n_features)
        Finite.
    target : array-like, shape (n_stimuli, n_neuroids)
        Responses to the same stimuli in the same order, finite.
    splits : sequence of (train, test)
        Indices of stimuli.

    Returns
    -------
    list of ndarray, shape (n_test, n_neuroids)
        In the order of the test indices; NaN for neuroids without a partner, see `assign`.

    Raises
    ------
    ValueError
        If a training set is empty, or the target has more neuroids than the source.
    """
    blocks = ColumnBlocks.of(source)
    chosen = [assign(correlations) for correlations in training_correlations(blocks, target, splits)]
    used, places = np.unique(np.concatenate(chosen), return_inverse=True)
    responses = blocks.columns(used[used >= 0]).astype(np.float64)
    if used[0] < 0:
        responses = np.column_stack([np.full(len(blocks), np.nan), responses])
    parts = np.split(places, len(chosen))
    tests = (np.asarray(test, dtype=np.intp) for _, test in splits)
    return [responses[np.ix_(test, part)] for test, part in zip(tests, parts, strict=True)]
