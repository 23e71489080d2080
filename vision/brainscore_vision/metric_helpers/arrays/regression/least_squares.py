"""Compute ordinary least squares for many cross-validation splits from one factorisation.

Results equal scikit-learn's ``LinearRegression``, of smallest norm where several solutions fit equally well. Each
factorisation (Golub & Van Loan 2013, Matrix Computations, sections 5.3 and 5.5) is checked, and the next used where it
is ill-conditioned:

1. the fit of all stimuli, and deletion of those left out (see `split_fits`);
2. a factorisation for each split, over features, or over stimuli where features outnumber training stimuli;
3. a singular value decomposition for each split, of features rotated into at most as many columns as stimuli.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from brainscore_vision.metric_helpers.arrays.backend import Backend, resolve
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks, centred
from brainscore_vision.metric_helpers.arrays.correlation import ROUNDING
from brainscore_vision.metric_helpers.arrays.regression.gram import (
    centred_gram,
    factorise,
    gram_of_split,
    lifted_inverse_factor,
    solve_factorised,
    solve_inverted,
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

__all__ = ["least_squares_fit", "least_squares_split_fits"]

MEMORY_BYTES = 2**30  # linearly dependent features up to this size are decomposed without rotation


def least_squares_fit(
    source: ArrayLike | ColumnBlocks, target: ArrayLike, *, backend: str | Backend | None = None
) -> LinearMap | DualMap:
    """Minimise ``||target - source W - b||^2``, and of all solutions ``||W||``.

    Returns a `DualMap` where features outnumber stimuli.
    """
    blocks = ColumnBlocks.of(source)
    n, p = blocks.shape
    y, y_mean = centred(target)
    if p > n:
        lifted = lifted_inverse_factor(
            centred_gram(blocks, backend=backend), 0.0, resolve(backend), well_conditioned=True
        )
        if lifted is not None:
            return DualMap(source=source, dual=lifted[0].T @ (lifted[0] @ y), target_mean=y_mean)
        if 8 * n * p > MEMORY_BYTES:
            # With X = F Q^T, the coefficients are X^T d for the solution d on F.
            inverse = _pseudo_inverse(_rotated(blocks), p)
            return DualMap(source=source, dual=inverse.T @ (inverse @ y), target_mean=y_mean)
    x, x_mean = centred(blocks.to_array())
    equations = _normal_equations(x, x_mean) if p < n - 1 else None
    coefficients = equations.solve(x.T @ y) if equations else _pseudo_inverse(x, max(n, p)) @ y
    return LinearMap(coefficients=coefficients, source_mean=x_mean, target_mean=y_mean)


def least_squares_split_fits(
    source: ArrayLike | ColumnBlocks, splits: Splits, *, backend: str | Backend | None = None
) -> SplitFits:
    """Fit ordinary least squares to the training stimuli of every split, before any target is known."""
    return fit_splits(SOLVERS, source, splits, 0.0, backend)


def _each_by_stimuli(predictors: Predictors, splits: Sequence[SplitRows], _alpha: float) -> ProjectionFits:
    gram = predictors.backend.numpy(predictors.gram)
    rotated: Floats | None = None
    projections = []
    for split in splits:
        within, over = gram_of_split(gram, split.train, split.test)
        projection = _interpolation(within, over)
        if projection is None:
            rotated = _rotated(predictors.blocks) if rotated is None else rotated
            projection = _by_singular_values(rotated[split.train], rotated[split.test], predictors.blocks.shape[1])
        projections.append(projection)
    return ProjectionFits(splits, projections)


def _deletion_by_features(predictors: Predictors, splits: Sequence[SplitRows], _alpha: float) -> DeletionFits | None:
    x = predictors.features
    # The fit of all stimuli leads to those of the splits only if they too have a unique solution.
    unique = x.shape[1] < min(len(split.train) for split in splits) - 1
    if not unique or not all(split.by_deletion for split in splits):
        return None
    equations = _normal_equations(x, predictors.level)
    if equations is None:
        return None
    return deletion_by_features(x * equations.scale, equations.factor, splits, well_conditioned=True)


def _each_by_features(predictors: Predictors, splits: Sequence[SplitRows], _alpha: float) -> ProjectionFits:
    x, level = predictors.features, predictors.level
    return ProjectionFits(splits, [_projection(x[split.train], x[split.test], level) for split in splits])


def _projection(train: Floats, test: Floats, level: Floats) -> Floats:
    x, mean = centred(train)
    over = test - mean
    n, p = x.shape
    projection = None
    if p >= n - 1:
        projection = _interpolation(x @ x.T, over @ x.T)
    else:
        equations = _normal_equations(x, level)
        projection = (x @ equations.solve(np.ascontiguousarray(over.T))).T if equations else None
    return _by_singular_values(train, test, p) if projection is None else projection


def _interpolation(within: Floats, over: Floats) -> Floats | None:
    """Fit linearly independent stimuli exactly: ``K_test,train K_train^-1`` except for the constant direction."""
    lifted = lifted_inverse_factor(np.ascontiguousarray(within), 0.0, resolve("numpy"), well_conditioned=True)
    return None if lifted is None else solve_inverted(lifted[0], over.T).T


@dataclass(frozen=True)
class _NormalEquations:
    """Factorised normal equations of features scaled to unit length.

    The scale of a constant feature is zero; `factor` is the lower Cholesky factor.
    """

    scale: Floats
    factor: Floats

    def solve(self, values: Floats) -> Floats:
        return self.scale[:, None] * solve_factorised(self.factor, self.scale[:, None] * values)


def _normal_equations(x: Floats, level: Floats) -> _NormalEquations | None:
    """Factorise the normal equations of centred features with means `level`; None if they are ill-conditioned."""
    gram = x.T @ x
    size = np.sqrt(gram.diagonal())
    varies = size > ROUNDING * np.sqrt(len(x)) * np.abs(level)
    scale = np.divide(1.0, size, out=np.zeros_like(size), where=varies)
    gram *= scale
    gram *= scale[:, None]
    gram.flat[:: len(gram) + 1] = 1.0
    factor = factorise(gram, well_conditioned=True)
    return None if factor is None else _NormalEquations(scale, factor)


def _by_singular_values(train: Floats, test: Floats, n_features: int) -> Floats:
    x, mean = centred(train)
    projection: Floats = (test - mean) @ _pseudo_inverse(x, max(len(x), n_features))
    return projection


def _pseudo_inverse(x: Floats, longest: int) -> Floats:
    """Invert over directions with singular values above `longest` x epsilon of the largest."""
    left, sizes, right = np.linalg.svd(x, full_matrices=False)
    directions = sizes > longest * np.finfo(np.float64).eps * sizes.max(initial=0.0)
    inverse: Floats = (right[directions].T / sizes[directions]) @ left[:, directions].T
    return inverse


def _rotated(source: ColumnBlocks) -> Floats:
    """Return F of shape (n, n) with ``X = F Q^T`` for the centred X and some Q with orthonormal columns."""
    n, p = source.shape
    parts, seen, width = [], 0, 0
    for block in source.centred():
        parts.append(block)
        seen, width = seen + block.shape[1], width + block.shape[1]
        if width >= 2 * n or seen == p:  # rarely, since each decomposition repeats earlier work
            parts = [np.asarray(np.linalg.qr(np.hstack(parts).T, mode="r")).T]
            width = parts[0].shape[1]
    return parts[0]


SOLVERS: Solvers = {
    "stimuli": {"deletion": partial(deletion_by_stimuli, well_conditioned=True), "each split": _each_by_stimuli},
    "features": {"deletion": _deletion_by_features, "each split": _each_by_features},
}
