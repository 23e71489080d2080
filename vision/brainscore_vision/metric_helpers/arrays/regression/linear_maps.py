"""Solve linear regressions of few stimuli and many features, for many cross-validation splits at once.

These are the parts that PLS, ridge regression and least squares share: inner products of stimuli and their
factorisation, fitted maps, and predictions of left-out stimuli.
"""

# Why our own solvers
#
# Problem. A metric fits the same stimuli again for each of ten splits (`pls_per_neuron`: sixty), to hundreds
# of stimuli, up to millions of features (more than memory holds) and from one to tens of thousands of neuroids. The
# results have to equal the published system's, which calls scikit-learn for each split.
#
# Sources. Linear smoothers and deletion: Cook & Weisberg (1982), section 3.2. Regression by inner products of stimuli:
# Saunders et al. (1998). Factorisations: Golub & Van Loan (2013), sections 5.3 and 5.5. Leave-one-out error of many
# penalties from one eigendecomposition: Rifkin & Lippert (2007), Golub et al. (1979). PLS: Wegelin (2000), section 4.1.
#
# What else was tried, and why not.
# - scikit-learn for each split. It is the oracle of the tests, and still computes every option that ours do not have
#   (`scale=True`, for instance). It factorises again for each split, and wants the features in memory.
# - One fit for each split where training stimuli are predicted too, as pooled test sets need. Deletion from the fit of
#   all stimuli gives both, at twice the cost of the held-out predictions alone.
# - A singular value decomposition throughout. It needs no check, but is the slowest: it is the last of three solvers of
#   least squares, where the factorisations are ill-conditioned.
# - Deflating X and Y in PLS. The power iteration needs only `S^T S` with `S = X^T Y`, which is down-dated instead.
# - Single precision, as published for features in float32: rounding errors of a score are then about 1e-4
#   (`compat=True` still computes so).
#
# Cost, for n stimuli, p features, q neuroids, s splits that leave out m stimuli each. Inner products O(n p min(n, p))
# once for a source, read in blocks of 32 MiB; one factorisation O(min(n, p)^3); deletion O(s m^2 (n + m)) before any
# target is known, and O(n min(n, p) q + s m^2 q) for the predictions. Splits that do not follow by deletion: O(s n^3).
#
# Where it breaks. Training stimuli that repeat, or more than half of the stimuli left out: each split has its own fit
# (`ProjectionFits`). About as many features as stimuli: the condition is estimated, and above `LARGEST_CONDITION` the
# next solver is used. Predictions of a neuroid that is constant in training are rounding, which correlates by chance:
# see `hold_constants`. PLS stops before convergence, as scikit-learn does, so its third to fifth digit depends on the
# first neuroid, and another number of threads changes its last digits.

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from scipy.linalg import lapack
from scipy.linalg.blas import dtrmm, dtrsm
from scipy.linalg.lapack import dlauum

from brainscore_vision.metric_helpers.arrays.backend import Backend, resolve
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks, centred, stack_rows

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import Array, ArrayLike, Floats, Indices, NDArray, Splits

__all__ = [
    "DeletionFits",
    "DualMap",
    "LinearMap",
    "LinearSmoother",
    "Predictors",
    "ProjectionFits",
    "Solvers",
    "SplitFits",
    "SplitRows",
    "across",
    "as_splits",
    "centred_gram",
    "deletion_by_features",
    "deletion_by_stimuli",
    "factorise",
    "fit_splits",
    "gram_factor",
    "gram_of_split",
    "inverse_factor",
    "lifted_inverse_factor",
    "solve_factorised",
    "solve_inverted",
]

# Compute inner products of stimuli, block by block of features, and factorise such matrices.
#
# Linear regression depends on features only through the Gram matrix ``X X^T`` of the centred features. Where features
# outnumber stimuli it is smaller, and shared by all splits.


EPSILON = float(np.finfo(np.float64).eps)
SMALLEST_PIVOT = 1e-6  # least ratio of smallest to largest pivot of a trusted Cholesky factor


def centred_gram(source: ArrayLike | ColumnBlocks, *, backend: str | Backend | None = None) -> Array:
    """Return the Gram matrix ``X X^T`` of the column-centred X, read in one pass, as an array of the backend.

    It is symmetric; rows and columns sum to zero. For inner products between training and test stimuli, pass both
    (`stack_rows`) and use `gram_of_split`. Features that are not finite raise ValueError.
    """
    used = resolve(backend)
    blocks = ColumnBlocks.of(source)
    gram = used.gram(len(blocks), blocks)
    if not np.isfinite(float(gram.sum())):
        raise ValueError(
            f"The inner products of the {blocks.shape[0]} stimuli over {blocks.shape[1]} features are not finite: the "
            "features contain NaN or infinite values, or are too large to square."
        )
    return gram


def gram_of_split(gram: Floats, train: Indices, test: Indices) -> tuple[Floats, Floats]:
    """Return inner products of training stimuli, centred on their mean, and of test with training stimuli.

    `gram`, of all stimuli, may be centred on any point. Shapes are (n_train, n_train) and (n_test, n_train).
    """
    within = gram[np.ix_(train, train)]
    across = gram[np.ix_(test, train)]
    mean = within.mean(axis=0)
    across -= across.mean(axis=1)[:, None]
    across -= mean - mean.mean()
    within -= mean[:, None]
    within -= mean - mean.mean()
    return within, across


def gram_factor(gram: Array, *, backend: str | Backend | None = None) -> Array:
    """Return F of shape (n, n), columns centred, such that ``F F^T`` is `gram`, the Gram matrix of centred columns.

    Where only inner products matter, the rows of F serve as features.
    """
    used = resolve(backend)
    n = len(gram)
    factor = used.cholesky(gram + float(gram.trace()) / n**2)
    if factor is not None:
        pivots = factor.diagonal()
        if float(pivots.min()) > SMALLEST_PIVOT * float(pivots.max()):
            factor -= factor.mean(0)
            return factor
    eigenvalues, vectors = used.xp.linalg.eigh(gram)
    # Roots of rounding would be features of 1e-8 of the largest.
    return vectors * (eigenvalues * (eigenvalues > n * EPSILON * eigenvalues[-1])) ** 0.5


# Above this condition number of a Gram matrix, rounding may reach 1e-7 of a prediction.
LARGEST_CONDITION = 1e10
POWER_ITERATIONS = 12  # enough for the order of magnitude of a dominant eigenvalue


def factorise(matrix: Floats, *, well_conditioned: bool = False) -> Floats | None:
    """Return the lower Cholesky factor of a symmetric matrix, which is overwritten; in Fortran order.

    None if the matrix is not positive definite, or `well_conditioned` is required and its estimated condition number is
    not below `LARGEST_CONDITION`.
    """
    largest = _largest_eigenvalue(lambda v: matrix @ v, len(matrix)) if well_conditioned else 0.0
    factor, info = lapack.dpotrf(matrix.T, lower=1, overwrite_a=1, clean=1)
    if info != 0:
        return None
    if well_conditioned:
        inverse = _largest_eigenvalue(lambda v: solve_factorised(factor, v[:, None])[:, 0], len(matrix))
        if not largest * inverse < LARGEST_CONDITION:
            return None
    return np.asarray(factor, dtype=np.float64)


def solve_factorised(factor: Floats, values: Floats) -> Floats:
    """Solve ``(L L^T) x = values`` for several columns."""
    solution, _ = lapack.dpotrs(factor, values, lower=1)
    return np.asarray(solution, dtype=np.float64)


def inverse_factor(factor: Floats) -> Floats:
    """Invert a lower triangular matrix, which is overwritten."""
    inverse, _ = lapack.dtrtri(factor, lower=1, overwrite_c=1)
    return np.asarray(inverse, dtype=np.float64)


def solve_inverted(inverse: Floats, values: Floats) -> Floats:
    """Return ``M^T M values`` for the triangular M of `lifted_inverse_factor`."""
    halfway = dtrmm(1.0, inverse, values, lower=1)
    return np.asarray(dtrmm(1.0, inverse, halfway, lower=1, trans_a=1, overwrite_b=1))


def lifted_inverse_factor(
    gram: Array, alpha: float, used: Backend, *, well_conditioned: bool = False
) -> tuple[Floats, float] | None:
    """Factorise ``G + alpha I`` of a centred Gram matrix with the constant direction lifted from zero.

    A multiple of ``1 1^T`` raises only the constant's zero eigenvalue, so ``alpha`` may be zero. `gram`, an array of
    the backend, is overwritten. None as for `factorise`.

    Returns
    -------
    inverse : ndarray, shape (n, n)
        Lower triangular ``M`` with ``M^T M = (G + alpha I + lift 1 1^T / n)^-1``.
    constant : float
        Every entry of that inverse's part along the constant direction.
    """
    n = len(gram)
    lift = max(float(gram.trace()) / n, alpha)
    if not lift > 0:
        return None
    gram += lift / n
    gram.reshape(-1)[:: n + 1] += alpha
    largest = 0.0
    if well_conditioned:
        largest = _largest_eigenvalue(lambda v: used.numpy(gram @ used.asarray(v)), n)
    if used.name == "numpy":
        factor = factorise(gram)
        inverse = None if factor is None else inverse_factor(factor)
    else:
        lower = used.cholesky(gram)
        solved = None if lower is None else used.solve_triangular(lower, used.asarray(np.eye(n)))
        inverse = None if solved is None else np.asfortranarray(used.numpy(solved))
    if inverse is None:
        return None
    if well_conditioned and not largest * _largest_eigenvalue(lambda v: (inverse @ v) @ inverse, n) < LARGEST_CONDITION:
        return None
    return inverse, 1.0 / ((alpha + lift) * n)


def _largest_eigenvalue(product: Callable[[Floats], Floats], n: int) -> float:
    """Estimate, from below, the largest eigenvalue of a positive definite matrix from products with vectors."""
    vector = np.random.default_rng(0).normal(size=n)
    size = 0.0
    for _ in range(POWER_ITERATIONS):
        vector = product(vector / np.linalg.norm(vector))
        size = float(np.linalg.norm(vector))
        if not 0 < size < np.inf:
            break
    return size


# Represent fitted linear regressions by coefficients or by weights of training responses, whichever are fewer.


@dataclass(frozen=True)
class LinearMap:
    """A fitted linear regression, ``prediction = (source - source_mean) @ coefficients + target_mean``."""

    coefficients: Floats
    source_mean: Floats
    target_mean: Floats

    def predict(self, source: ArrayLike | ColumnBlocks) -> Floats:
        """Predict responses of shape (n_stimuli, n_neuroids)."""
        blocks = ColumnBlocks.of(source)
        prediction = np.tile(self.target_mean, (len(blocks), 1))
        for here, block in blocks.placed():
            prediction += (block.astype(np.float64, copy=False) - self.source_mean[here]) @ self.coefficients[here]
        return prediction


@dataclass(frozen=True)
class DualMap:
    """A fitted linear regression in terms of its training stimuli: ``coefficients = source^T dual``.

    Attributes
    ----------
    source : array-like or ColumnBlocks, shape (n_train, n_features)
        Features of the training stimuli, by reference: do not change them.
    dual : ndarray, shape (n_train, n_neuroids)
        Each column sums to zero.
    target_mean : ndarray, shape (n_neuroids,)
    """

    source: Any
    dual: Floats
    target_mean: Floats

    @cached_property
    def source_mean(self) -> Floats:
        """Means of the features over the training stimuli."""
        return np.concatenate([np.asarray(block, np.float64).mean(axis=0) for block in ColumnBlocks.of(self.source)])

    @cached_property
    def coefficients(self) -> Floats:
        """Coefficients, shape (n_features, n_neuroids)."""
        return np.concatenate([block.T @ self.dual for block in ColumnBlocks.of(self.source).centred()])

    def predict(self, source: ArrayLike | ColumnBlocks) -> Floats:
        """Predict responses of shape (n_stimuli, n_neuroids)."""
        tested = ColumnBlocks.of(source)
        m, (p, (n, q)) = len(tested), (tested.shape[1], self.dual.shape)
        if p * q * (n + m) < n * m * (p + q):  # few neuroids: coefficients are less work than inner products
            result = np.zeros((m, q))
            for block in stack_rows(self.source, tested):
                train, test = _centred_on_first(block, n)
                result += test @ (train.T @ self.dual)
        else:
            result = across(self.source, tested) @ self.dual
        result += self.target_mean
        return result


@dataclass(frozen=True)
class LinearSmoother:
    """Prediction of test responses as weighted sums of training responses, ``left @ (right.T @ target)``.

    Attributes
    ----------
    left : ndarray, shape (n_test, k), or None
        None: the identity.
    right : ndarray, shape (n_stimuli, k)
        Zero for stimuli that do not train. The weights of each test stimulus sum to one.
    """

    left: Floats | None
    right: Floats

    def predict(self, target: ArrayLike) -> Floats:
        """Predict neuroids from their responses to all stimuli, shape (n_stimuli, width) to (n_test, width)."""
        values = np.array(target, dtype=np.float64)
        mean = values.mean(axis=0)
        values -= mean  # a large mean would cost digits
        prediction: Floats = self.right.T @ values
        if self.left is not None:
            prediction = self.left @ prediction
        prediction += mean
        return prediction


def across(train: ArrayLike | ColumnBlocks, test: ArrayLike | ColumnBlocks) -> Floats:
    """Return inner products (n_test, n_train) of test with training stimuli, centred on the mean of the latter."""
    n = np.shape(train)[0] if not isinstance(train, ColumnBlocks) else len(train)
    result: Floats | float = 0.0
    for block in stack_rows(train, test):
        first, second = _centred_on_first(block, n)
        result = result + second @ first.T
    return np.asarray(result, dtype=np.float64)


def _centred_on_first(block: NDArray[Any], n: int) -> tuple[Floats, Floats]:
    """Subtract the mean of the first `n` rows, in float64; return these and the others."""
    values = np.array(block, dtype=np.float64)
    values -= values[:n].mean(axis=0)
    return values[:n], values[n:]


# Predict left-out stimuli for many cross-validation splits from fits made before any target is known.
#
# Least-squares fits with an intercept are linear smoothers: predictions are a matrix, which depends only on the source,
# times the training responses. With ``H`` the smoother of all stimuli, the prediction for stimuli left out is (Cook &
# Weisberg 1982, Residuals and Influence in Regression, section 3.2)
#
# ``prediction_out = y_out - [(I - H)_out,out]^-1 [(I - H) y]_out``       (`DeletionFits`)
#
# at the cost of one small solve. Such a fit predicts training stimuli by ``H y'``, where predictions replace the
# responses left out: these add nothing to the squared error. Otherwise (repeated training stimuli, a singular fit of
# all) a split has its own matrix:
#
# ``prediction_test = mean(y_train) + T (y_train - mean(y_train))``       (`ProjectionFits`)


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

    ``I - H = alpha (G + alpha I)^-1`` less its part along the constant, divided by alpha throughout, so `alpha` may be
    zero (the least-squares fit of smallest norm, if the stimuli are linearly independent). None if a split does not
    follow by deletion, or a matrix cannot be factorised as required (see `factorise`).
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
