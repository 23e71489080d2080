"""Predict left-out stimuli for many cross-validation splits from fits made before any target is known.

Least-squares fits with an intercept are linear smoothers: predictions are a matrix, which depends only on the source,
times the training responses. With ``H`` the smoother of all stimuli, the prediction for stimuli left out is (Cook &
Weisberg 1982, Residuals and Influence in Regression, section 3.2)

    ``prediction_out = y_out - [(I - H)_out,out]^-1 [(I - H) y]_out``       (`DeletionFits`)

at the cost of one small solve. Such a fit predicts training stimuli by ``H y'``, where predictions replace the
responses left out: these add nothing to the squared error. Otherwise (repeated training stimuli, a singular fit of all)
a split has its own matrix:

    ``prediction_test = mean(y_train) + T (y_train - mean(y_train))``       (`ProjectionFits`)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dlauum

from brainscore_vision.metric_helpers.arrays.backend import Backend, resolve
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks, centred
from brainscore_vision.metric_helpers.arrays.regression.gram import (
    centred_gram,
    factorise,
    lifted_inverse_factor,
    solve_factorised,
    solve_inverted,
)

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import Array, ArrayLike, Floats, Indices, Splits

__all__ = [
    "DeletionFits",
    "Predictors",
    "ProjectionFits",
    "Solvers",
    "SplitFits",
    "SplitRows",
    "as_splits",
    "deletion_by_features",
    "deletion_by_stimuli",
    "fit_splits",
]


@dataclass(frozen=True)
class SplitRows:
    """Positions of the stimuli of one split: train and test in the caller's order, all others of `n` stimuli sorted."""

    train: Indices
    test: Indices
    left_out: Indices
    n: int

    @property
    def predicts_training(self) -> bool:
        """Whether training stimuli are also predicted."""
        return bool(np.isin(self.test, self.train).any())

    @property
    def by_deletion(self) -> bool:
        """Whether deletion from a fit of all stimuli gives this split, for less work than its own fit."""
        return len(self.train) + len(self.left_out) == self.n and 2 * len(self.left_out) <= self.n


def as_splits(splits: Splits, n: int) -> list[SplitRows]:
    """Turn pairs of indices into splits of `n` stimuli; raise ValueError if a training set is empty."""
    result = []
    for number, (train, test) in enumerate(splits):
        rows = np.asarray(train, dtype=np.intp)
        if len(rows) == 0:
            raise ValueError(f"Split {number} of {len(splits)} has no training stimuli.")
        left_out = np.setdiff1d(np.arange(n), rows)
        result.append(SplitRows(rows, np.asarray(test, dtype=np.intp), left_out, n))
    return result


class SplitFits(Protocol):
    """Fits on the training stimuli of several splits, before any target is known."""

    def predict(self, target: ArrayLike) -> list[Floats]:
        """Predict the test stimuli of each split from responses to all stimuli; a block of neuroids is enough."""
        ...


@dataclass(frozen=True)
class DeletionFits:
    """Fits that follow from the smoother of all stimuli by deletion.

    Factors are lower Cholesky factors of the blocks of ``(I - H) / scale`` for left-out stimuli; `residual` maps
    centred responses to ``(I - H) y / scale``, and `residual_of` the responses of some stimuli, as if others were 0.
    """

    splits: Sequence[SplitRows]
    factors: Sequence[Floats]
    residual: Callable[[Floats], Floats]
    residual_of: Callable[[Indices, Floats], Floats]
    scale: float = 1.0

    def predict(self, target: ArrayLike) -> list[Floats]:
        """See `SplitFits`."""
        y, mean = centred(target)
        residual = self.residual(y)
        predictions = []
        for split, factor in zip(self.splits, self.factors, strict=True):
            missed = solve_factorised(factor, residual[split.left_out])
            if split.predicts_training:
                predicted = y + self.scale * (self.residual_of(split.left_out, missed) - residual) + mean
                predicted[split.left_out] -= missed
                predictions.append(predicted[split.test])
                continue
            missed = missed[np.searchsorted(split.left_out, split.test)]
            np.subtract(y[split.test], missed, out=missed)
            missed += mean
            predictions.append(missed)
        return predictions


@dataclass(frozen=True)
class ProjectionFits:
    """Separate fits of all splits; projections have shape (n_test, n_train)."""

    splits: Sequence[SplitRows]
    projections: Sequence[Floats]

    def predict(self, target: ArrayLike) -> list[Floats]:
        """See `SplitFits`."""
        values = np.asarray(target, dtype=np.float64)
        predictions = []
        for split, projection in zip(self.splits, self.projections, strict=True):
            y, mean = centred(values[split.train])
            predictions.append(projection @ y + mean)
        return predictions


@dataclass(frozen=True)
class Predictors:
    """Centred predictors: `gram`, inner products, where features outnumber stimuli; `features` otherwise.

    `level` holds the means of the features before centring, which tell rounding from variation.
    """

    blocks: ColumnBlocks
    backend: Backend
    gram: Array
    features: Floats
    level: Floats

    @classmethod
    def of(cls, source: ArrayLike | ColumnBlocks, backend: str | Backend | None) -> Predictors:
        """Centre a source, and take inner products if features outnumber stimuli."""
        blocks, used = ColumnBlocks.of(source), resolve(backend)
        if blocks.shape[1] > blocks.shape[0]:
            return cls(blocks, used, centred_gram(blocks, backend=used), np.empty((0, 0)), np.empty(0))
        return cls(blocks, used, None, *centred(blocks.to_array()))


Solver = Callable[[Predictors, Sequence[SplitRows], float], SplitFits | None]  # None where it does not apply
Solvers = Mapping[Literal["stimuli", "features"], Mapping[str, Solver]]


def fit_splits(
    solvers: Solvers, source: ArrayLike | ColumnBlocks, splits: Splits, alpha: float, backend: str | Backend | None
) -> SplitFits:
    """Fit the training stimuli of every split by the first solver, the fastest, that applies; the last always does.

    Solvers of ``'stimuli'`` factorise n_stimuli x n_stimuli and are used where features outnumber stimuli; those of
    ``'features'`` n_features x n_features. The penalty is not negative.
    """
    blocks = ColumnBlocks.of(source)
    pairs = as_splits(splits, len(blocks))
    predictors = Predictors.of(blocks, backend)
    applicable = solvers["features" if predictors.gram is None else "stimuli"].values()
    return next(fits for solver in applicable if (fits := solver(predictors, pairs, alpha)) is not None)


def deletion_by_stimuli(
    predictors: Predictors, splits: Sequence[SplitRows], alpha: float, *, well_conditioned: bool = False
) -> DeletionFits | None:
    """Delete left-out stimuli from ridge regression on all, given inner products of stimuli.

    ``I - H = alpha (G + alpha I)^-1`` less its part along the constant, divided by alpha throughout, so that `alpha`
    may be zero (the least-squares fit of smallest norm, if the stimuli are linearly independent). None if a split does
    not follow by deletion, or a matrix cannot be factorised as required (see `factorise`).
    """
    if not all(split.by_deletion for split in splits):
        return None
    # A copy is factorised: solvers that follow need the matrix itself.
    lifted = lifted_inverse_factor(predictors.gram + 0.0, alpha, predictors.backend, well_conditioned=well_conditioned)
    if lifted is None:
        return None
    inverse, constant = lifted
    factors = []
    for split in splits:
        rows = inverse.T[split.left_out]
        factor = factorise(rows @ rows.T - constant, well_conditioned=well_conditioned)
        if factor is None:
            return None
        factors.append(factor)

    @cache
    def whole() -> Floats:
        product = np.tril(dlauum(inverse, lower=1)[0])
        matrix: Floats = product + np.tril(product, -1).T - constant
        return matrix

    return DeletionFits(
        splits, factors, partial(solve_inverted, inverse), lambda rows, values: whole()[:, rows] @ values, alpha
    )


def deletion_by_features(
    x: Floats, factor: Floats, splits: Sequence[SplitRows], *, well_conditioned: bool = False
) -> DeletionFits | None:
    """Delete left-out stimuli from the fit with factorised normal equations; None as for `deletion_by_stimuli`.

    `factor` is the lower Cholesky factor of ``X^T X`` of centred features, plus the penalty if any.
    """
    n, p = x.shape
    of_training = any(split.predicts_training for split in splits)
    used = np.arange(n) if of_training else np.unique(np.concatenate([split.left_out for split in splits]))
    whitened = np.asarray(dtrsm(1.0, factor, x[used].T, lower=1, overwrite_b=1)).T
    factors = []
    for split in splits:
        rows = whitened[np.searchsorted(used, split.left_out)]
        block = rows @ rows.T
        block += 1.0 / n
        np.negative(block, out=block)
        block.flat[:: len(block) + 1] += 1.0
        block_factor = factorise(block, well_conditioned=well_conditioned)
        if block_factor is None:
            return None
        factors.append(block_factor)

    smoother = whitened @ whitened.T if of_training and 2 * p > n else None

    def residual_of(rows: Indices, values: Floats) -> Floats:
        explained = whitened @ (whitened[rows].T @ values) if smoother is None else smoother[:, rows] @ values
        residual: Floats = -explained - values.sum(axis=0) / n
        residual[rows] += values
        return residual

    return DeletionFits(splits, factors, lambda y: y - x @ solve_factorised(factor, x.T @ y), residual_of)
