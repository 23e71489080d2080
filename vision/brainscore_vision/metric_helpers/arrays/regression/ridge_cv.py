"""Compute ridge regression with the penalty selected by leave-one-out cross-validation, from one eigendecomposition.

With ``X = U S V^T`` (centred) the residuals of ridge regression and the diagonal of ``I - H`` are

    ``r(alpha) = y_rest + U diag(g) U^T y,   d(alpha) = d_rest + (U * U) g,   g = alpha / (S^2 + alpha)``

where the rest lies outside the span of the features, and ``r / d`` is the leave-one-out error. The alpha of least mean
squared error is selected over all neuroids together, as in scikit-learn's ``RidgeCV``, or for each.

The many g lie nearly in the span of a few, found by an interpolative decomposition. Where neuroids outnumber stimuli, a
common alpha needs only ``Y Y^T``.

References
----------
Golub et al. (1979), doi:10.1080/00401706.1979.10489751. Rifkin & Lippert (2007), Notes on regularized least
squares, MIT-CSAIL-TR-2007-025. Cheng et al. (2005), On the compression of low rank matrices,
doi:10.1137/030602678.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import qr, solve_triangular

from brainscore_vision.metric_helpers.arrays.backend import Backend, resolve
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks, centred
from brainscore_vision.metric_helpers.arrays.regression.gram import centred_gram, gram_factor, gram_of_split
from brainscore_vision.metric_helpers.arrays.regression.linear_maps import DualMap, LinearMap
from brainscore_vision.metric_helpers.arrays.regression.split_fits import as_splits

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Splits

__all__ = [
    "Spectrum",
    "check_alphas",
    "ridge_cv_fit",
    "ridge_cv_iterate",
    "ridge_cv_predict_splits",
    "spectrum_of_gram",
]

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
    for index, split in enumerate(as_splits(splits, n)):
        if p >= n:
            within, over = gram_of_split(shared, split.train, split.test)
            decomposed = spectrum_of_gram(within, used)
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
        raise ValueError(f"The penalties to choose from must be numbers larger than zero; alphas is {alphas!r}.")
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
        diagonal = (self.left * self.left) @ (alphas / (self.squares[:, None] + alphas))
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
    """Decompose a source by the Gram matrix of its stimuli, shape (n_train, n_train), rows and columns of sum 0."""
    n = len(gram)
    # The constant's eigenvalue, zero like perhaps others, is lifted above all of them.
    lift = 2.0 * float(np.linalg.norm(gram)) or 1.0
    values, vectors = used.xp.linalg.eigh(used.asarray(gram + lift / n))
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
