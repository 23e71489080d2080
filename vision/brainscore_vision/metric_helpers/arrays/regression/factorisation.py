"""Factorise symmetric matrices, unless rounding would make the result useless."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import lapack
from scipy.linalg.blas import dtrmm

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.backend import Backend
    from brainscore_vision.metric_helpers.arrays.types import Array, Floats

__all__ = ["factorise", "inverse_factor", "lifted_inverse_factor", "solve_factorised", "solve_inverted"]

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

    The constant is an eigenvector of the centred G with eigenvalue zero; a multiple of ``1 1^T`` raises it alone, so
    that ``alpha`` may be zero. `gram`, an array of the backend, is overwritten. None as for `factorise`.

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
