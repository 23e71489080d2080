"""Estimate how many neuroids represent each factor of variation of the stimuli."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, NDArray

__all__ = ["factor_dimensions", "factor_scores"]

_BLOCK_VALUES = 2**22  # values of a side held as float64 at a time


def factor_scores(first: ArrayLike, second: ArrayLike, members: ArrayLike) -> Floats:
    """Compute the share of variance that pairs of stimuli that agree in a factor have in common.

    ``score_f = sum_j cov_f(a_j, b_j) / sum_j var(a_j, b_j)``: the covariance of neuroid j over the pairs (a, b) of
    factor f around the mean of both members, the variance over all stimuli (Esser et al. 2020, A
    disentangling invertible interpretation network, arXiv:2004.13166, equation 13). In [-1, 1] for a single factor;
    slightly beyond for several, whose variances differ from the total. NaN if responses are constant. Invariant to
    rotations, shifts and scaling of all responses.

    Parameters
    ----------
    first, second : array-like, shape (n_pairs, n_neuroids)
        Responses to both members of each pair.
    members : array-like of bool, shape (n_factors, n_pairs)
        Pairs that agree in each factor; at least one each.
    """
    one, two = np.asarray(first), np.asarray(second)
    agreeing = np.asarray(members, dtype=bool)
    if one.shape != two.shape or one.ndim != 2 or agreeing.shape[1:] != one.shape[:1]:
        raise ValueError(
            f"Expected pairs of shape (n_pairs, n_neuroids) twice and (n_factors, n_pairs); got {one.shape}, "
            f"{two.shape} and {agreeing.shape}."
        )
    if not agreeing.any(axis=1).all():
        raise ValueError(f"{int((~agreeing.any(axis=1)).sum())} factors have no pair.")
    weights = agreeing / agreeing.sum(axis=1, keepdims=True)
    covariance, total, size = np.zeros(len(agreeing)), 0.0, 0.0
    width = max(_BLOCK_VALUES // max(len(one), 1), 1)  # all terms are sums over neuroids
    for start in range(0, one.shape[1], width):
        a, b = (np.array(side[:, start : start + width], dtype=np.float64) for side in (one, two))
        mean = 0.5 * (a.mean(axis=0) + b.mean(axis=0))
        # Rounding errors are proportional to the size before centring.
        size += float(np.vdot(a, a) + np.vdot(b, b))
        a -= mean
        b -= mean
        total += float(np.vdot(a, a) + np.vdot(b, b))
        middles = 0.5 * (weights @ (a + b))
        covariance += weights @ np.einsum("ij,ij->i", a, b) - np.einsum("ij,ij->i", middles, middles)
    if total <= 1e-26 * size:
        return np.full(len(agreeing), np.nan)
    scores: Floats = covariance / (total / (2 * len(one)))
    return scores


def factor_dimensions(scores: ArrayLike, n_neuroids: int) -> NDArray[np.int64]:
    """Divide neuroids among factors and a residual in proportion to the exponentials of `factor_scores`.

    ``N_f = floor(softmax(score)_f N)`` (Esser et al. 2020, equation 14); the residual, with score 1 (Islam et al. 2021,
    https://openreview.net/forum?id=NcFEZOi-rLa), gets the remainder and comes last.

    Examples
    --------
    >>> factor_dimensions([0.0, 1.0], 100)
    array([15, 42, 43])
    """
    values = np.append(np.asarray(scores, dtype=np.float64), 1.0)
    parts = np.exp(values - values.max())
    parts /= parts.sum()
    dimensions: NDArray[np.int64] = np.floor(parts * n_neuroids).astype(np.int64)
    dimensions[-1] = n_neuroids - dimensions[:-1].sum()
    return dimensions
