"""Pair every target neuroid with a different source neuroid, for the largest sum of correlations.

``best = argmax_pi sum_j r(x_pi(j), y_j)`` over injective maps pi, with training correlations: a linear sum assignment.
Unlike in `regression.single`, no partner is shared.

References
----------
Kuhn (1955), doi:10.1002/nav.3800020109. Crouse (2016), doi:10.1109/TAES.2016.140952, which SciPy uses. Li
et al. (2016), arXiv:1511.07543.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment

from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.arrays.regression.single import training_correlations

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices, Splits

__all__ = ["assign", "assigned_predict_splits", "partners"]

UNDEFINED = -2.0  # replaces undefined correlations; below all defined ones


def assign(correlations: Floats) -> Indices:
    """Assign a source neuroid of its own to each target neuroid; return its position.

    Undefined (NaN) correlations, shape (n_neuroids, n_features), are a last resort; neuroids that only have these left
    get -1. ValueError if the target has more neuroids than the source.

    Examples
    --------
    >>> assign(np.array([[0.9, 0.1], [0.8, 0.7]]))
    array([0, 1])
    """
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
    """Return the result of `assign` for correlations over all stimuli."""
    everything = np.arange(np.shape(target)[0], dtype=np.intp)
    (correlations,) = training_correlations(source, target, [(everything, everything[:0])])
    return assign(correlations)


def assigned_predict_splits(source: ArrayLike | ColumnBlocks, target: ArrayLike, splits: Splits) -> list[Floats]:
    """Predict held-out responses by those of the assigned partner, for every split; NaN without a partner."""
    blocks = ColumnBlocks.of(source)
    assignments = [assign(correlations) for correlations in training_correlations(blocks, target, splits)]
    used, places = np.unique(np.concatenate(assignments), return_inverse=True)
    responses = blocks.columns(used[used >= 0]).astype(np.float64)
    if used[0] < 0:
        responses = np.column_stack([np.full(len(blocks), np.nan), responses])
    parts = np.split(places, len(assignments))
    tests = (np.asarray(test, dtype=np.intp) for _, test in splits)
    return [responses[np.ix_(test, part)] for test, part in zip(tests, parts, strict=True)]
