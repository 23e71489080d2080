"""Compute inner products of stimuli, block by block of features, and factorise such matrices.

Linear regression depends on features only through the Gram matrix ``X X^T`` of the centred features. Where features
outnumber stimuli it is smaller, and shared by all splits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import lapack
from scipy.linalg.blas import dtrmm

from brainscore_vision.metric_helpers.arrays.backend import Backend, resolve
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.backend import Backend
    from brainscore_vision.metric_helpers.arrays.types import Array, ArrayLike, Floats, Indices

__all__ = [
    "centred_gram",
    "factorise",
    "gram_factor",
    "gram_of_split",
    "inverse_factor",
    "lifted_inverse_factor",
    "solve_factorised",
    "solve_inverted",
]

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
            "features hold NaN or infinite values, or are too large to be squared."
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

    A multiple of ``1 1^T`` raises the constant's zero eigenvalue alone, so that ``alpha`` may be zero. `gram`, an
    array of the backend, is overwritten. None as for `factorise`.

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
