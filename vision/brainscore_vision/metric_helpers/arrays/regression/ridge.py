"""Compute ridge regression for many cross-validation splits from one factorisation.

With an unpenalised intercept it is a linear smoother: one factorisation, over features or over stimuli where features
outnumber them (Saunders et al. 1998, ICML), predicts all splits (see `split_fits`). For many penalties see
`ridge_cv`.

References
----------
Hoerl & Kennard (1970), doi:10.1080/00401706.1970.10488634.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from brainscore_vision.metric_helpers.arrays.backend import Backend, resolve
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks, centred
from brainscore_vision.metric_helpers.arrays.regression.gram import (
    centred_gram,
    factorise,
    gram_of_split,
    solve_factorised,
)
from brainscore_vision.metric_helpers.arrays.regression.linear_maps import DualMap, LinearMap
from brainscore_vision.metric_helpers.arrays.regression.split_fits import (
    DeletionFits,
    Predictors,
    ProjectionFits,
    Solvers,
    SplitFits,
    SplitRows,
    deletion_by_features,
    deletion_by_stimuli,
    fit_splits,
)

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Splits

__all__ = ["ridge_fit", "ridge_split_fits"]


def ridge_fit(
    source: ArrayLike | ColumnBlocks, target: ArrayLike, alpha: float = 1.0, *, backend: str | Backend | None = None
) -> LinearMap | DualMap:
    """Minimise ``||target - source W - b||^2 + alpha ||W||^2``.

    The penalty, in squared units of `source`, is larger than zero (otherwise ValueError). Returns a `DualMap` where
    features outnumber stimuli.
    """
    check_alpha(alpha)
    blocks = ColumnBlocks.of(source)
    n, p = blocks.shape
    y, y_mean = centred(target)
    if p > n:
        gram = resolve(backend).numpy(centred_gram(blocks, backend=backend))
        gram.flat[:: n + 1] += alpha
        return DualMap(source=source, dual=_solve_positive(gram, y), target_mean=y_mean)
    x, x_mean = centred(blocks.to_array())
    gram = x.T @ x
    gram.flat[:: p + 1] += alpha
    return LinearMap(coefficients=_solve_positive(gram, x.T @ y), source_mean=x_mean, target_mean=y_mean)


def ridge_split_fits(
    source: ArrayLike | ColumnBlocks, splits: Splits, alpha: float = 1.0, *, backend: str | Backend | None = None
) -> SplitFits:
    """Fit ridge regression as `ridge_fit` to the training stimuli of every split, before any target is known."""
    check_alpha(alpha)
    return fit_splits(SOLVERS, source, splits, alpha, backend)


def _deletion_by_features(predictors: Predictors, splits: Sequence[SplitRows], alpha: float) -> DeletionFits | None:
    if not all(split.by_deletion for split in splits):
        return None
    x = predictors.features
    gram = x.T @ x
    gram.flat[:: len(gram) + 1] += alpha
    factor = factorise(gram)
    return None if factor is None else deletion_by_features(x, factor, splits)


def _each_by_stimuli(predictors: Predictors, splits: Sequence[SplitRows], alpha: float) -> ProjectionFits:
    gram = predictors.backend.numpy(predictors.gram)
    projections = []
    for split in splits:
        within, over = gram_of_split(gram, split.train, split.test)
        within.flat[:: len(within) + 1] += alpha
        projections.append(_solve_positive(within, over.T).T)
    return ProjectionFits(splits, projections)


def _each_by_features(predictors: Predictors, splits: Sequence[SplitRows], alpha: float) -> ProjectionFits:
    x = predictors.features
    p = x.shape[1]
    projections = []
    for split in splits:
        train, mean = centred(x[split.train])
        test = x[split.test] - mean
        if p > len(train):
            gram, right = train @ train.T, train @ test.T
            gram.flat[:: len(train) + 1] += alpha
            projections.append(_solve_positive(gram, right).T)
        else:
            gram = train.T @ train
            gram.flat[:: p + 1] += alpha
            projections.append((train @ _solve_positive(gram, np.ascontiguousarray(test.T))).T)
    return ProjectionFits(splits, projections)


def _solve_positive(matrix: Floats, right: Floats) -> Floats:
    """Solve a positive definite system; where rounding made it indefinite, without the affected directions."""
    factor = factorise(matrix.copy())
    if factor is not None:
        return solve_factorised(factor, right)
    values, vectors = np.linalg.eigh(matrix)
    positive = values > len(matrix) * np.finfo(np.float64).eps * values[-1]
    vectors = vectors[:, positive]
    solution: Floats = vectors @ ((vectors.T @ right) / values[positive, None])
    return solution


def check_alpha(alpha: float) -> None:
    """Raise ValueError unless the penalty is larger than zero."""
    if not alpha > 0:
        raise ValueError(f"The ridge penalty alpha is {alpha!r}; it must be larger than zero.")


SOLVERS: Solvers = {
    "stimuli": {"deletion": deletion_by_stimuli, "each split": _each_by_stimuli},
    "features": {"deletion": _deletion_by_features, "each split": _each_by_features},
}
