"""Compute least squares, with and without a ridge penalty, for many cross-validation splits from one factorisation.

With an unpenalised intercept these are linear smoothers: one factorisation, over features or over stimuli where
features outnumber them (Saunders et al. 1998, ICML), predicts all splits (see `linear_maps`). A penalty is given, or
chosen by leaving one stimulus out.

References
----------
Hoerl & Kennard (1970), doi:10.1080/00401706.1970.10488634.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import qr, solve_triangular

from brainscore_vision.metric_helpers.arrays.backend import Backend, resolve
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks, centred
from brainscore_vision.metric_helpers.arrays.correlation import ROUNDING
from brainscore_vision.metric_helpers.arrays.regression.linear_maps import (
    DeletionFits,
    DualMap,
    LinearMap,
    Predictors,
    ProjectionFits,
    Solvers,
    SplitFits,
    SplitRows,
    as_splits,
    centred_gram,
    deletion_by_features,
    deletion_by_stimuli,
    factorise,
    fit_splits,
    gram_factor,
    gram_of_split,
    lifted_inverse_factor,
    solve_factorised,
    solve_inverted,
)

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Splits

__all__ = [
    "Spectrum",
    "check_alphas",
    "least_squares_fit",
    "least_squares_split_fits",
    "ridge_cv_fit",
    "ridge_cv_iterate",
    "ridge_cv_predict_splits",
    "ridge_fit",
    "ridge_split_fits",
    "spectrum_of_gram",
]

# Compute ordinary least squares for many cross-validation splits from one factorisation.
#
# Results equal scikit-learn's ``LinearRegression``, of smallest norm where several solutions fit equally well. Each
# factorisation (Golub & Van Loan 2013, Matrix Computations, sections 5.3 and 5.5) is checked, and the next used where
# it is ill-conditioned:
#
# 1. the fit of all stimuli, and deletion of those left out (see `linear_maps`);
# 2. a factorisation for each split, over features, or over stimuli where features outnumber training stimuli;
# 3. a singular value decomposition for each split, of features rotated into at most as many columns as stimuli.


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
    return fit_splits(UNPENALISED, source, splits, 0.0, backend)


def _unpenalised_by_stimuli(predictors: Predictors, splits: Sequence[SplitRows], _alpha: float) -> ProjectionFits:
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


def _unpenalised_by_deletion(predictors: Predictors, splits: Sequence[SplitRows], _alpha: float) -> DeletionFits | None:
    x = predictors.features
    # The fit of all stimuli leads to the splits' fits only if they too have a unique solution.
    unique = x.shape[1] < min(len(split.train) for split in splits) - 1
    if not unique or not all(split.by_deletion for split in splits):
        return None
    equations = _normal_equations(x, predictors.level)
    if equations is None:
        return None
    return deletion_by_features(x * equations.scale, equations.factor, splits, well_conditioned=True)


def _unpenalised_by_features(predictors: Predictors, splits: Sequence[SplitRows], _alpha: float) -> ProjectionFits:
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


UNPENALISED: Solvers = {
    "stimuli": {"deletion": partial(deletion_by_stimuli, well_conditioned=True), "each split": _unpenalised_by_stimuli},
    "features": {"deletion": _unpenalised_by_deletion, "each split": _unpenalised_by_features},
}


# Ridge regression with a given penalty.


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
    return fit_splits(PENALISED, source, splits, alpha, backend)


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


PENALISED: Solvers = {
    "stimuli": {"deletion": deletion_by_stimuli, "each split": _each_by_stimuli},
    "features": {"deletion": _deletion_by_features, "each split": _each_by_features},
}


# Compute ridge regression with the penalty selected by leave-one-out cross-validation, from one eigendecomposition.
#
# With ``X = U S V^T`` (centred) the residuals of ridge regression and the diagonal of ``I - H`` are
#
# ``r(alpha) = y_rest + U diag(g) U^T y,   d(alpha) = d_rest + (U * U) g,   g = alpha / (S^2 + alpha)``
#
# where the rest lies outside the span of the features, and ``r / d`` is the leave-one-out error. The alpha of least
# mean squared error is selected over all neuroids together, as in scikit-learn's ``RidgeCV``, or for each.
#
# The many g lie nearly in the span of a few, found by an interpolative decomposition. Where neuroids outnumber stimuli,
# a common alpha needs only ``Y Y^T``.
#
# References
# ----------
# Golub et al. (1979), doi:10.1080/00401706.1979.10489751. Rifkin & Lippert (2007), Notes on regularized least squares,
# MIT-CSAIL-TR-2007-025. Cheng et al. (2005), On the compression of low rank matrices, doi:10.1137/030602678.


BASIS_TOLERANCE = 1e-13  # of the span of the shrinkage factors
UNRELIABLE = 1e-8  # eigenvalues of X^T X below this share of the largest have too inexact eigenvectors
NEGLIGIBLE = 1e-8  # squared singular values below this share of the smallest penalty count as zero
WORK_BYTES = 16 * 2**20  # memory for residuals of all penalties


def ridge_cv_fit(
    source: ArrayLike | ColumnBlocks,
    target: ArrayLike | ColumnBlocks,
    alphas: ArrayLike,
    *,
    alpha_per_target: bool = False,
    backend: str | Backend | None = None,
) -> tuple[LinearMap | DualMap, Floats]:
    """Fit ridge regression with the penalty that predicts each stimulus best from the others.

    Candidate penalties are larger than zero (otherwise ValueError); the first of equally good ones counts. Also return
    the selected penalty of all neuroids together or, with `alpha_per_target`, of each. The fit is a `DualMap` where
    there are at least as many features as stimuli.
    """
    penalties = check_alphas(alphas)
    blocks, responses = ColumnBlocks.of(source), ColumnBlocks.of(target)
    n, p = blocks.shape
    used = resolve(backend)
    if p >= n:
        decomposed = spectrum_of_gram(used.numpy(centred_gram(blocks, backend=used)), used)
    else:
        x, x_mean = centred(blocks.to_array())
        decomposed = _from_features(x, float(penalties.min()), used)
    alpha = decomposed.choose(responses, penalties, per_target=alpha_per_target)
    shrunk, y_mean = decomposed.shrunk(responses, alpha)
    if p >= n:
        return DualMap(source=source, dual=decomposed.left @ shrunk, target_mean=y_mean), alpha
    return LinearMap(coefficients=decomposed.right @ shrunk, source_mean=x_mean, target_mean=y_mean), alpha


def ridge_cv_predict_splits(
    source: ArrayLike | ColumnBlocks,
    target: ArrayLike | ColumnBlocks,
    splits: Splits,
    alphas: ArrayLike,
    *,
    alpha_per_target: bool = False,
    backend: str | Backend | None = None,
) -> list[Floats]:
    """Predict held-out responses with the penalty selected inside each training set, as by `ridge_cv_fit`."""
    q = np.shape(target)[1] if not isinstance(target, ColumnBlocks) else target.shape[1]
    predictions = [np.empty((len(np.asarray(test)), q)) for _, test in splits]
    parts = ridge_cv_iterate(source, target, splits, alphas, alpha_per_target=alpha_per_target, backend=backend)
    for index, columns, part in parts:
        predictions[index][:, columns] = part
    return predictions


def ridge_cv_iterate(
    source: ArrayLike | ColumnBlocks,
    target: ArrayLike | ColumnBlocks,
    splits: Splits,
    alphas: ArrayLike,
    *,
    alpha_per_target: bool = False,
    backend: str | Backend | None = None,
) -> Iterator[tuple[int, slice, Floats]]:
    """Yield the result of `ridge_cv_predict_splits` in parts."""
    penalties = check_alphas(alphas)
    blocks, responses = ColumnBlocks.of(source), ColumnBlocks.of(target)
    n, p = blocks.shape
    used = resolve(backend)
    shared = used.numpy(centred_gram(blocks, backend=used)) if p >= n else blocks.to_array()
    parts = as_splits(splits, n)
    for index, split in enumerate(parts):
        if p >= n:
            within, over = gram_of_split(shared, split.train, split.test)
            if index == len(parts) - 1:  # not needed again, and as large as each array of the decomposition
                shared = np.empty((0, 0))
            decomposed = spectrum_of_gram(within, used)
            del within  # overwritten
            tested = over @ decomposed.left
        else:
            x, mean = centred(shared[split.train])
            test = shared[split.test] - mean
            if p >= len(x):
                decomposed = spectrum_of_gram(x @ x.T, used)
                tested = (test @ x.T) @ decomposed.left
            else:
                decomposed = _from_features(x, float(penalties.min()), used)
                tested = test @ decomposed.right
        train = responses.rows(split.train)
        alpha = decomposed.choose(train, penalties, per_target=alpha_per_target)
        for columns, y, mean in _blocks(train):
            prediction = tested @ decomposed.shrink(y, alpha if len(alpha) == 1 else alpha[columns])
            prediction += mean
            yield index, columns, prediction


def check_alphas(alphas: ArrayLike) -> Floats:
    """Return penalties as an array; raise ValueError if there are none, or one is not larger than zero."""
    penalties = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    if penalties.ndim != 1 or penalties.size == 0 or not (penalties > 0).all():
        raise ValueError(f"The candidate penalties must be numbers larger than zero; alphas is {alphas!r}.")
    return penalties


@dataclass(frozen=True)
class Spectrum:
    """A centred source, by its singular vectors.

    Attributes
    ----------
    left, squares : ndarray, shapes (n_train, n_directions) and (n_directions,)
        U, whose columns are orthogonal to the constant, and squared singular values S^2.
    right : ndarray, shape (n_features, n_directions), or (0, 0)
        V S, where features are fewer than stimuli.
    """

    left: Floats
    squares: Floats
    right: Floats

    @property
    def spans(self) -> bool:
        """Whether the directions and the constant span all responses."""
        return self.right.size == 0

    def shrink(self, y: Floats, alpha: Floats) -> Floats:
        """Return ``diag(1 / (S^2 + alpha)) U^T y``, shape (n_directions, width), for one alpha or one per column."""
        result: Floats = self.left.T @ y
        result /= self.squares[:, None] + alpha
        return result

    def shrunk(self, target: ColumnBlocks, alpha: Floats) -> tuple[Floats, Floats]:
        """Apply `shrink` to all targets; also return their means."""
        result, means = np.empty((len(self.squares), target.shape[1])), np.empty(target.shape[1])
        for columns, y, mean in _blocks(target):
            result[:, columns] = self.shrink(y, alpha if len(alpha) == 1 else alpha[columns])
            means[columns] = mean
        return result, means

    def choose(self, target: ColumnBlocks, alphas: Floats, *, per_target: bool) -> Floats:
        """Return the alphas of least mean squared leave-one-out error, shape (n_neuroids,) or (1,)."""
        if len(alphas) == 1:
            return np.repeat(alphas, target.shape[1] if per_target else 1)
        if per_target or target.shape[1] <= len(target):
            total = self.losses((y for _, y, _ in _blocks(target)), alphas)
        else:  # fewer columns with the same ``Y Y^T``
            total = self.losses([gram_factor(centred_gram(target, backend="numpy"), backend="numpy")], alphas)
        selected: Floats = alphas[(total if per_target else total.sum(axis=0, keepdims=True)).argmin(axis=1)]
        return selected

    def losses(self, responses: Iterable[Floats], alphas: Floats) -> Floats:
        """Return sums of squared leave-one-out errors, shape (n_neuroids, n_alphas), for blocks of centred targets."""
        basis, mixing = _shrinkage(self.squares, alphas)
        shrinkage = alphas / (self.squares[:, None] + alphas)
        rows = max(1, WORK_BYTES // (8 * self.left.shape[1]))  # squares of all rows would take another n^2
        diagonal = np.concatenate(
            [self.left[first : first + rows] ** 2 @ shrinkage for first in range(0, len(self.left), rows)]
        )
        if not self.spans:
            rest = 1.0 - 1.0 / len(self.left) - np.einsum("ia,ia->i", self.left, self.left)
            diagonal += np.clip(rest, 0.0, None)[:, None]
        weights = 1.0 / np.maximum(diagonal, np.finfo(np.float64).eps)
        return np.concatenate([loss for y in responses for loss in self._losses(y, basis, mixing, weights)])

    def _losses(self, y: Floats, basis: Floats, mixing: Floats, weights: Floats) -> Iterator[Floats]:
        n, (k, m) = len(y), mixing.shape
        along = self.left.T @ y
        rest = None if self.spans else y - self.left @ along
        width = max(1, WORK_BYTES // (8 * n * (m + k)))
        for first in range(0, y.shape[1], width):
            columns = slice(first, first + width)
            mixed = along[:, columns, None] * basis[:, None, :]
            errors = ((self.left @ mixed.reshape(len(mixed), -1)).reshape(-1, k) @ mixing).reshape(n, -1, m)
            if rest is not None:
                errors += rest[:, columns, None]
            errors *= weights[:, None, :]
            yield np.einsum("ija,ija->ja", errors, errors)


def _shrinkage(squares: Floats, alphas: Floats) -> tuple[Floats, Floats]:
    """Write ``g = alpha / (S^2 + alpha)``, shape (n_directions, n_alphas), as ``basis @ mixing``."""
    factors = alphas / (squares[:, None] + alphas)
    sizes = factors.max(axis=0)
    factors /= sizes
    triangle, order = qr(factors, mode="r", pivoting=True)
    pivots = np.abs(triangle.diagonal())
    rank = int((pivots > BASIS_TOLERANCE * pivots[0]).sum())
    mixing = np.empty((rank, len(alphas)))
    mixing[:, order] = solve_triangular(triangle[:rank, :rank], triangle[:rank])
    return factors[:, order[:rank]], mixing * sizes


def _blocks(target: ColumnBlocks) -> Iterator[tuple[slice, Floats, Floats]]:
    for columns, block in target.placed():
        yield columns, *centred(block)


def spectrum_of_gram(gram: Floats, used: Backend) -> Spectrum:
    """Decompose a source by the Gram matrix of its stimuli, shape (n_train, n_train), rows and columns of sum 0.

    `gram` is overwritten.
    """
    n = len(gram)
    # The constant's eigenvalue, zero like perhaps others, is lifted above all of them.
    gram += (2.0 * float(np.linalg.norm(gram)) or 1.0) / n
    values, vectors = used.eigh(used.asarray(gram))
    directions = slice(0, max(1, n - 1))
    return Spectrum(
        used.numpy(vectors)[:, directions], np.clip(used.numpy(values)[directions], 0.0, None), np.empty((0, 0))
    )


def _from_features(x: Floats, smallest_alpha: float, used: Backend) -> Spectrum:
    values, vectors = used.xp.linalg.eigh(used.asarray(x.T @ x))
    squares, right = used.numpy(values), used.numpy(vectors)
    rounding = max(NEGLIGIBLE * smallest_alpha, len(squares) * np.finfo(np.float64).eps * float(squares[-1]))
    directions = squares > rounding
    if (squares[directions] < UNRELIABLE * squares[-1]).any():
        _, sizes, transposed = np.linalg.svd(x, full_matrices=False)
        squares, right = sizes * sizes, transposed.T
        directions = squares > rounding
    directions[-1] = True  # a constant source keeps one empty direction
    size = np.sqrt(np.clip(squares[directions], np.finfo(np.float64).tiny, None))
    right = right[:, directions]
    return Spectrum(x @ (right / size), squares[directions], right * size)
