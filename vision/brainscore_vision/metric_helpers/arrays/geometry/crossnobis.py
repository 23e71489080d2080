"""Compute distances between response patterns from repeated measurements, unbiased by noise.

Noise lengthens measured distances; products of independently measured differences have no such bias (Walther et al.
2016, doi:10.1016/j.neuroimage.2015.12.012): with the pattern ``b_im`` of stimulus i in repetition m,

    ``d_ij = mean over m != n of (b_im - b_jm)^T S^-1 (b_in - b_jn) / n_neuroids``

where S is the covariance of the noise (Schaefer & Strimmer 2005, doi:10.2202/1544-6115.1175), or the identity.
Distances of equal patterns are zero on average, hence often negative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.linalg import solve_triangular

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats

__all__ = ["distance_product", "noise_covariance", "unbiased_distances", "whiten"]


def unbiased_distances(responses: ArrayLike, present: ArrayLike | None = None) -> Floats:
    """Compute squared distances per neuroid from products across repetitions.

    The sum of products over different repetitions is the product of sums minus the sum of products within repetitions.
    Responses, shape (n_repetitions, n_stimuli, n_neuroids), are finite where `present`, shape (n_repetitions,
    n_stimuli; None: all were shown). Whiten them for distances in units of noise. Distances have either sign; NaN for
    pairs without two different repetitions.
    """
    values = np.asarray(responses, dtype=np.float64)
    n_repetitions, n_stimuli, n_neuroids = values.shape
    recorded = np.ones((n_repetitions, n_stimuli), dtype=bool) if present is None else np.asarray(present, dtype=bool)
    counts = recorded.astype(np.float64)
    values = np.where(recorded[:, :, None], values, 0.0)
    # Centring changes no distance and saves the digits of small differences.
    centre = values.sum(axis=(0, 1)) / max(1.0, counts.sum())
    values = np.where(recorded[:, :, None], values - centre, 0.0)
    total = values.sum(axis=0)
    products = total @ total.T
    for repetition in values:
        products -= repetition @ repetition.T
    pairs = counts.sum(axis=0)[:, None] * counts.sum(axis=0) - counts.T @ counts
    with np.errstate(divide="ignore", invalid="ignore"):
        moments = np.where(pairs > 0, products / pairs, np.nan)
    own = np.diagonal(moments)
    distances: Floats = (own[:, None] + own - 2.0 * moments) / n_neuroids
    np.fill_diagonal(distances, 0.0)
    return distances


def noise_covariance(
    responses: ArrayLike, present: ArrayLike | None = None, *, kind: Literal["shrinkage", "diagonal"] = "shrinkage"
) -> tuple[Floats, float]:
    """Estimate the covariance of the noise from deviations of repetitions (see `unbiased_distances`) from their mean.

    With N residuals z in units of their standard deviation and f degrees of freedom, the variance of a correlation
    r_ij is estimated by ``N / f^3 (sum_k (z_ki z_kj)^2 - f^2 r_ij^2 / N)``: for f = N - 1 the formula of Schaefer &
    Strimmer (rsatoolbox 0.3.2 gives ``1 / (N - 1)^2`` less shrinkage).

    Correlations between neuroids shrink by the amount of least expected squared error or, kind 'diagonal', to zero. The
    share removed, in [0, 1], is returned too.
    """
    values = np.asarray(responses, dtype=np.float64)
    recorded = np.ones(values.shape[:2], dtype=bool) if present is None else np.asarray(present, dtype=bool)
    counts = recorded.sum(axis=0)
    means = np.where(recorded[:, :, None], values, 0.0).sum(axis=0) / np.maximum(counts, 1)[:, None]
    residuals = (values - means)[recorded & (counts > 1)]
    n, freedom = len(residuals), int((counts[counts > 0] - 1).sum())
    if freedom < 1:
        raise ValueError("The noise can be told from the signal only if a stimulus was shown at least twice.")
    deviations = np.sqrt(np.einsum("ij,ij->j", residuals, residuals) / freedom)
    if kind == "diagonal":
        return np.diag(deviations**2), 1.0
    standardized = np.divide(residuals, deviations, out=np.zeros_like(residuals), where=deviations > 0)
    correlations: Floats = standardized.T @ standardized / freedom
    squares = standardized**2
    variances = n / freedom**3 * (squares.T @ squares - freedom**2 * correlations**2 / n)
    off = ~np.eye(len(correlations), dtype=bool)
    spread = float((correlations[off] ** 2).sum())
    shrinkage = float(np.clip(variances[off].sum() / spread, 0.0, 1.0)) if spread > 0 else 1.0
    correlations[off] *= 1.0 - shrinkage
    return correlations * np.outer(deviations, deviations), shrinkage


def whiten(responses: ArrayLike, covariance: ArrayLike) -> Floats:
    """Multiply patterns, shape (..., n_neuroids), by an inverse root of the noise covariance.

    ValueError if the covariance is singular, such as for a neuroid without noise.
    """
    values = np.asarray(responses, dtype=np.float64)
    try:
        root = np.linalg.cholesky(np.asarray(covariance, dtype=np.float64))
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "The covariance of the noise is singular, such as for neuroids without any noise; leave them out, or use "
            "distances that are not weighted by noise."
        ) from error
    flat = values.reshape(-1, values.shape[-1])
    whitened: Floats = solve_triangular(root, flat.T, lower=True).T.reshape(values.shape)
    return whitened


def distance_product(first: ArrayLike, second: ArrayLike, *, whitened: bool = False, centred: bool = False) -> float:
    """Compute the inner product of two sets of distances over all pairs of stimuli.

    They may be weighted by the inverse covariance ``V^-1`` of distances (see `whitened`), or centred first.
    """
    one, two = (np.asarray(square, dtype=np.float64) for square in (first, second))
    n = len(one)
    off = ~np.eye(n, dtype=bool)
    means = [float(square[off].mean()) if centred and n > 1 else 0.0 for square in (one, two)]
    one, two = (np.where(off, square - mean, 0.0) for square, mean in zip((one, two), means, strict=True))
    plain = float(np.vdot(one, two)) / 2.0
    if not whitened:
        return plain
    sums = [square.sum(axis=1) for square in (one, two)]
    shared = float(sums[0] @ sums[1]) - float(sums[0].sum() * sums[1].sum()) / (2.0 * n)
    return (plain - shared / n) / 2.0
