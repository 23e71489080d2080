"""Predict left-out stimuli for many cross-validation splits from fits that know no target yet.

Least-squares fits with an unpenalised intercept are linear smoothers: what they predict is a matrix times the training
responses. That matrix depends on the source alone, so that it is made once and applied to targets block by block.

Two forms are used. With ``H`` the smoother of all stimuli, the prediction for stimuli that are then left out is

    ``prediction_out = y_out - [(I - H)_out,out]^-1 [(I - H) y]_out``       (`DeletionFits`)

which costs one small solve for a split. Where this does not apply (training stimuli that repeat, a fit of all stimuli
that is singular though those of the parts are not) every split has its own matrix:

    ``prediction_test = mean(y_train) + T (y_train - mean(y_train))``       (`ProjectionFits`)

References
----------
Cook & Weisberg (1982), Residuals and Influence in Regression, section 3.2: the deletion formula for several cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks, stack_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from brainscore_vision.metric_helpers.arrays._backend import Backend
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices, Splits

__all__ = [
    "DeletionFits",
    "DualMap",
    "ProjectionFits",
    "Split",
    "SplitFits",
    "across",
    "as_splits",
    "centred",
    "factorise",
    "inverse_factor",
    "lifted_inverse_factor",
    "recentred",
    "solve_factorised",
]


# Above this condition number of a Gram matrix, rounding may reach 1e-7 of what is predicted.
WELL_CONDITIONED = 1e10
POWER_ITERATIONS = 12  # enough to tell the order of magnitude of an eigenvalue that stands out, and more is not needed


@dataclass(frozen=True)
class Split:
    """Positions of the stimuli of one split.

    Attributes
    ----------
    train, test : ndarray of int
        In the caller's order.
    left_out : ndarray of int
        All stimuli that are not in `train`, sorted.
    n : int
        Number of all stimuli.
    """

    train: Indices
    test: Indices
    left_out: Indices
    n: int

    @property
    def by_deletion(self) -> bool:
        """Whether deleting the left-out stimuli from a fit of all gives this split, for less than a fit of its own."""
        once = len(self.train) + len(self.left_out) == self.n
        return once and 2 * len(self.left_out) <= self.n and not np.isin(self.test, self.train).any()


def as_splits(splits: Splits, n: int) -> list[Split]:
    """Turn pairs of indices into splits of `n` stimuli.

    Raises
    ------
    ValueError
        If a training set is empty.
    """
    result = []
    for number, (train, test) in enumerate(splits):
        rows = np.asarray(train, dtype=np.intp)
        if len(rows) == 0:
            raise ValueError(f"Split {number} of {len(splits)} has no training stimuli.")
        left_out = np.setdiff1d(np.arange(n), rows)
        result.append(Split(rows, np.asarray(test, dtype=np.intp), left_out, n))
    return result


class SplitFits(Protocol):
    """Fits on the training stimuli of several splits, before any target is known."""

    def predict(self, target: ArrayLike) -> list[Floats]:
        """Predict the test stimuli of each split.

        Parameters
        ----------
        target : array-like, shape (n_stimuli, n_neuroids)
            Responses to all stimuli; a block of the neuroids is enough.

        Returns
        -------
        list of ndarray, shape (n_test, n_neuroids)
        """
        ...


@dataclass(frozen=True)
class DeletionFits:
    """Fits that follow from the smoother of all stimuli by deletion.

    Attributes
    ----------
    splits : list of Split
    factors : list of ndarray, shape (n_left_out, n_left_out)
        Lower Cholesky factors of the blocks of ``I - H``, or of a multiple of it.
    residual : callable
        Maps centred responses to the same multiple of ``(I - H) y``.
    """

    splits: Sequence[Split]
    factors: Sequence[Floats]
    residual: Callable[[Floats], Floats]

    def predict(self, target: ArrayLike) -> list[Floats]:
        """Predict the test stimuli of each split; see `SplitFits`."""
        y, mean = centred(target)
        residual = self.residual(y)
        predictions = []
        for split, factor in zip(self.splits, self.factors, strict=True):
            rows = np.searchsorted(split.left_out, split.test)
            missed = solve_factorised(factor, residual[split.left_out])[rows]
            np.subtract(y[split.test], missed, out=missed)
            missed += mean
            predictions.append(missed)
        return predictions


@dataclass(frozen=True)
class ProjectionFits:
    """Fits of each split on its own.

    Attributes
    ----------
    splits : list of Split
    projections : list of ndarray, shape (n_test, n_train)
    """

    splits: Sequence[Split]
    projections: Sequence[Floats]

    def predict(self, target: ArrayLike) -> list[Floats]:
        """Predict the test stimuli of each split; see `SplitFits`."""
        values = np.asarray(target, dtype=np.float64)
        predictions = []
        for split, projection in zip(self.splits, self.projections, strict=True):
            y, mean = centred(values[split.train])
            predictions.append(projection @ y + mean)
        return predictions


@dataclass(frozen=True)
class DualMap:
    """A fitted linear regression in terms of its training stimuli: ``coefficients = source^T dual``.

    Where features outnumber stimuli this is far smaller than the coefficients, which are computed on demand.

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
        """Means of the features over the training stimuli, shape (n_features,)."""
        return np.concatenate([np.asarray(block, np.float64).mean(axis=0) for block in ColumnBlocks.of(self.source)])

    @cached_property
    def coefficients(self) -> Floats:
        """Coefficients, shape (n_features, n_neuroids)."""
        return np.concatenate([block.T @ self.dual for block in ColumnBlocks.of(self.source).centred()])

    def predict(self, source: ArrayLike | ColumnBlocks) -> Floats:
        """Apply the map to `source`, shape (n_stimuli, n_features); returns shape (n_stimuli, n_neuroids)."""
        tested = ColumnBlocks.of(source)
        m, (p, (n, q)) = len(tested), (tested.shape[1], self.dual.shape)
        if p * q * (n + m) < n * m * (p + q):  # few neuroids: the coefficients are less work than the products
            result = np.zeros((m, q))
            for block in stack_rows(self.source, tested):
                train, test = _centred_on_first(block, n)
                result += test @ (train.T @ self.dual)
        else:
            result = across(self.source, tested) @ self.dual
        result += self.target_mean
        return result


def across(train: ArrayLike | ColumnBlocks, test: ArrayLike | ColumnBlocks) -> Floats:
    """Return the inner products of test with training stimuli, centred on the mean of the latter.

    Parameters
    ----------
    train, test : array-like or ColumnBlocks, shapes (n_train, n_features) and (n_test, n_features)

    Returns
    -------
    ndarray, shape (n_test, n_train)
    """
    n = np.shape(train)[0] if not isinstance(train, ColumnBlocks) else len(train)
    result: Floats | float = 0.0
    for block in stack_rows(train, test):
        first, second = _centred_on_first(block, n)
        result = result + second @ first.T
    return np.asarray(result, dtype=np.float64)


def _centred_on_first(block: NDArray[Any], n: int) -> tuple[Floats, Floats]:
    """Subtract from all rows, in float64, the mean of the first `n`; return these and the others."""
    values = np.array(block, dtype=np.float64)
    values -= values[:n].mean(axis=0)
    return values[:n], values[n:]


def centred(values: ArrayLike) -> tuple[Floats, Floats]:
    """Return a copy less its column means, in float64, and the means."""
    result = np.array(values, dtype=np.float64)
    if result.ndim != 2:
        raise ValueError(f"Expected an array of shape (n_stimuli, n_columns), got shape {result.shape}.")
    mean = result.mean(axis=0)
    result -= mean
    return result, mean


def recentred(gram: Floats, train: Indices, test: Indices) -> tuple[Floats, Floats]:
    """Take the inner products of training stimuli, centred on their mean, and of test with training stimuli.

    Parameters
    ----------
    gram : ndarray, shape (n_stimuli, n_stimuli)
        Inner products of all stimuli, centred on any point.
    train, test : ndarray of int

    Returns
    -------
    within : ndarray, shape (n_train, n_train)
    across : ndarray, shape (n_test, n_train)
    """
    within = gram[np.ix_(train, train)]
    across = gram[np.ix_(test, train)]
    mean = within.mean(axis=0)
    across -= across.mean(axis=1)[:, None]
    across -= mean - mean.mean()
    within -= mean[:, None]
    within -= mean - mean.mean()
    return within, across


def factorise(matrix: Floats, *, well_conditioned: bool = False) -> Floats | None:
    """Return the lower Cholesky factor of a symmetric matrix, which is overwritten.

    Parameters
    ----------
    matrix : ndarray, shape (n, n)
    well_conditioned : bool
        Whether to insist on a condition number (estimated) below `WELL_CONDITIONED`.

    Returns
    -------
    ndarray, shape (n, n), Fortran order, zero above the diagonal; or None
        None if the matrix is not positive definite, or not as well conditioned as asked.
    """
    from scipy.linalg import lapack  # scipy is loaded by those who use it

    largest = _largest_eigenvalue(lambda v: matrix @ v, len(matrix)) if well_conditioned else 0.0
    factor, info = lapack.dpotrf(matrix.T, lower=1, overwrite_a=1, clean=1)
    if info != 0:
        return None
    if well_conditioned:
        inverse = _largest_eigenvalue(lambda v: solve_factorised(factor, v[:, None])[:, 0], len(matrix))
        if not largest * inverse < WELL_CONDITIONED:
            return None
    return np.asarray(factor, dtype=np.float64)


def solve_factorised(factor: Floats, values: Floats) -> Floats:
    """Solve ``(L L^T) x = values`` for several columns."""
    from scipy.linalg import lapack  # scipy is loaded by those who use it

    solution, _ = lapack.dpotrs(factor, values, lower=1)
    return np.asarray(solution, dtype=np.float64)


def inverse_factor(factor: Floats) -> Floats:
    """Invert a lower triangular matrix, which is overwritten."""
    from scipy.linalg import lapack  # scipy is loaded by those who use it

    inverse, _ = lapack.dtrtri(factor, lower=1, overwrite_c=1)
    return np.asarray(inverse, dtype=np.float64)


def lifted_inverse_factor(
    gram: Any, alpha: float, used: Backend, *, well_conditioned: bool = False
) -> tuple[Floats, float] | None:
    """Factorise ``G + alpha I`` of a centred Gram matrix with the constant direction lifted from zero.

    The constant is an eigenvector of the centred G with eigenvalue zero. A multiple of ``1 1^T`` moves it among the
    other eigenvalues, so that ``alpha`` may be zero, and nothing else changes.

    Parameters
    ----------
    gram : array of the backend, shape (n, n)
        Overwritten.
    alpha : float
        Not negative.
    used : Backend
        What factorises.
    well_conditioned : bool
        As for `factorise`.

    Returns
    -------
    inverse : ndarray, shape (n, n)
        Lower triangular ``M`` with ``M^T M = (G + alpha I + lift 1 1^T / n)^-1``.
    constant : float
        Every entry of the part of that inverse along the constant direction.
    None instead of both if the matrix is not positive definite, or not as well conditioned as asked.
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
    if well_conditioned and not largest * _largest_eigenvalue(lambda v: (inverse @ v) @ inverse, n) < WELL_CONDITIONED:
        return None
    return inverse, 1.0 / ((alpha + lift) * n)


def _largest_eigenvalue(product: Callable[[Floats], Floats], n: int) -> float:
    """Estimate the largest eigenvalue of a positive definite matrix from its products with vectors, from below."""
    vector = np.random.default_rng(0).normal(size=n)
    size = 0.0
    for _ in range(POWER_ITERATIONS):
        vector = product(vector / np.linalg.norm(vector))
        size = float(np.linalg.norm(vector))
        if not 0 < size < np.inf:
            break
    return size
