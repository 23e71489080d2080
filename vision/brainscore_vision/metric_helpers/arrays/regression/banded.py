r"""Compute ridge regression on several bands of features, with a penalty for each band and neuroid.

With weights :math:`w_b \ge 0` of bands (sets of features, such as layers) that sum to 1, this is ridge regression on
features of band b multiplied by :math:`\sqrt{w_b / s_b}`, where s_b is the mean squared size of the stimuli in the
band: its penalty is :math:`\alpha s_b / w_b`. Only Gram matrices are needed,

.. math:: K = \sum_b (w_b / s_b)\, X_b X_b^T

Candidate weights and alpha of least leave-one-out error are selected for each neuroid, from one eigendecomposition of K
for all alphas (see `ridge`). Bands share the explained variance by the product measure,

.. math:: R^2_b = \sum_i \hat y_{bi} (2 y_i - \hat y_i) / \sum_i y_i^2, \quad \hat y = \sum_b \hat y_b

with y and all predictions centred: the parts sum to :math:`R^2`, and are negative for misleading bands.

References
----------
Dupré la Tour et al. (2022), doi:10.1016/j.neuroimage.2022.119728. Nunez-Elizalde
et al. (2019), doi:10.1016/j.neuroimage.2019.04.012. Pratt (1987), Dividing the indivisible, for the product measure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from brainscore_vision.metric_helpers.arrays.backend import Backend, resolve
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks, centred
from brainscore_vision.metric_helpers.arrays.regression.linear_maps import (
    LinearMap,
    as_splits,
    centred_gram,
    gram_of_split,
)
from brainscore_vision.metric_helpers.arrays.regression.ridge import check_alphas, spectrum_of_gram
from brainscore_vision.metric_helpers.arrays.seeds import generator

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices, Splits

__all__ = ["ALPHAS", "BandedPrediction", "band_weights", "banded_fit", "banded_predict_splits", "variance_by_band"]

ALPHAS = np.logspace(-4, 5, 19)  # for a Gram matrix with mean diagonal 1
CONCENTRATIONS = (0.1, 1.0)  # of the Dirichlet distributions of candidates, in turn


def band_weights(n_bands: int, n_draws: int = 10, seed: int = 0) -> Floats:
    """Return candidate weights of bands, whose rows sum to 1: equal weights, each band alone, and draws.

    The draws are from Dirichlet distributions with concentrations .1 (few bands) and 1 (uniform on the simplex), in
    turn.
    """
    if n_bands == 1:
        return np.ones((1, 1))
    rng = generator(seed, "band weights")
    draws = [rng.dirichlet(np.full(n_bands, CONCENTRATIONS[i % len(CONCENTRATIONS)])) for i in range(n_draws)]
    return np.vstack([np.full((1, n_bands), 1 / n_bands), np.eye(n_bands), *draws])


@dataclass(frozen=True)
class BandedPrediction:
    """Prediction for the test stimuli of a split.

    Parts, shape (n_bands, n_test, n_neuroids), are the contributions of bands, to be added to the mean training
    response. Selected weights, shape (n_bands, n_neuroids), sum to 1 over bands.
    """

    parts: Floats
    mean: Floats
    weights: Floats
    alpha: Floats

    @property
    def total(self) -> Floats:
        """Whole prediction, shape (n_test, n_neuroids)."""
        total: Floats = self.parts.sum(axis=0) + self.mean
        return total


def banded_predict_splits(
    source: ArrayLike | ColumnBlocks,
    bands: ArrayLike,
    target: ArrayLike,
    splits: Splits,
    *,
    weights: ArrayLike | None = None,
    alphas: ArrayLike = ALPHAS,
    backend: str | Backend | None = None,
) -> list[BandedPrediction]:
    """Predict held-out responses for every split, with weights and penalty selected inside each training set.

    Parameters
    ----------
    bands : array-like of int, shape (n_features,)
        Band of each feature, numbered from 0. The source is read once for each.
    weights : array-like, shape (n_candidates, n_bands), or None
        Candidates, not negative; the first of equally good ones counts. None: `band_weights`.
    alphas : array-like, shape (n_alphas,)
        Candidate penalties, larger than zero, in units of the mean squared size of a stimulus.
    """
    used, grams = _grams(source, bands, backend)
    y = np.asarray(target, dtype=np.float64)
    candidates, penalties = _checked_weights(weights, len(grams)), check_alphas(alphas)
    result = []
    for split in as_splits(splits, len(y)):
        pairs = [gram_of_split(gram, split.train, split.test) for gram in grams]
        responses, mean = centred(y[split.train])
        scales, dual, selected, alpha = _chosen([within for within, _ in pairs], responses, candidates, penalties, used)
        parts = np.stack([over @ dual for _, over in pairs])
        parts *= (selected / scales[:, None])[:, None, :]
        result.append(BandedPrediction(parts, mean, selected, alpha))
    return result


def banded_fit(
    source: ArrayLike | ColumnBlocks,
    bands: ArrayLike,
    target: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    alphas: ArrayLike = ALPHAS,
    backend: str | Backend | None = None,
) -> tuple[LinearMap, Floats, Floats]:
    """Fit all stimuli as `banded_predict_splits`, with `source` copied whole; also return weights and alphas."""
    x, source_mean = centred(ColumnBlocks.of(source).to_array())
    y, target_mean = centred(target)
    used, grams = _grams(x, bands, backend)
    scales, dual, selected, alpha = _chosen(grams, y, _checked_weights(weights, len(grams)), check_alphas(alphas), used)
    coefficients = x.T @ dual
    coefficients *= (selected / scales[:, None])[np.asarray(bands, dtype=np.intp)]
    return LinearMap(coefficients, source_mean, target_mean), selected, alpha


def variance_by_band(parts: Floats, measured: Floats) -> Floats:
    """Divide the explained variance among bands by the product measure, shape (n_bands, n_neuroids).

    The shares of `parts`, as in a `BandedPrediction`, sum to ``R^2 = 1 - sum (y - prediction)^2 / sum y^2`` of centred
    responses and predictions; NaN where responses do not vary.

    Examples
    --------
    >>> y = np.array([[1.0], [2.0], [3.0]])
    >>> variance_by_band(np.stack([0.5 * y, 0 * y]), y)[:, 0]
    array([0.75, 0.  ])
    """
    y = measured - measured.mean(axis=0)
    centred_parts = parts - parts.mean(axis=1, keepdims=True)
    explained = np.einsum("bij,ij->bj", centred_parts, 2 * y - centred_parts.sum(axis=0))
    size = np.einsum("ij,ij->j", y, y)
    shares: Floats = np.divide(explained, size, out=np.full(explained.shape, np.nan), where=size > 0)
    return shares


def _grams(
    source: ArrayLike | ColumnBlocks, bands: ArrayLike, backend: str | Backend | None
) -> tuple[Backend, list[Floats]]:
    blocks, labels, used = ColumnBlocks.of(source), np.asarray(bands, dtype=np.intp), resolve(backend)
    if labels.shape != (blocks.shape[1],) or set(labels.tolist()) != set(range(int(labels.max()) + 1)):
        raise ValueError(
            f"bands must assign each of the {blocks.shape[1]} features to a band, numbered from 0 without gaps; it "
            f"has shape {labels.shape} and the values {np.unique(labels).tolist()}."
        )
    views = (blocks.keep(labels == band) for band in range(int(labels.max()) + 1))
    return used, [used.numpy(centred_gram(view, backend=used)) for view in views]


def _checked_weights(weights: ArrayLike | None, n_bands: int) -> Floats:
    candidates = band_weights(n_bands) if weights is None else np.asarray(weights, dtype=np.float64)
    if candidates.ndim != 2 or candidates.shape[1] != n_bands or not len(candidates) or not (candidates >= 0).all():
        raise ValueError(
            f"Candidate weights of {n_bands} bands must have shape (n_candidates, {n_bands}) and must not be "
            f"negative; got shape {candidates.shape} and a smallest value of {candidates.min(initial=np.inf)}."
        )
    return candidates


def _chosen(
    grams: Sequence[Floats], y: Floats, candidates: Floats, alphas: Floats, used: Backend
) -> tuple[Floats, Floats, Floats, Floats]:
    n, q = y.shape
    scales = np.array([float(np.trace(gram)) / n for gram in grams])
    scales[scales <= 0] = 1.0  # a band that does not vary
    least, dual = np.full(q, np.inf), np.zeros((n, q))
    weights, alpha = np.tile(candidates[0][:, None], q), np.full(q, alphas[0])
    for candidate in candidates:
        spectrum = spectrum_of_gram(_weighted(grams, candidate / scales), used)
        losses = spectrum.losses([y], alphas)
        loss, best = losses.min(axis=1), alphas[losses.argmin(axis=1)]
        better: Indices = np.flatnonzero(loss < least * (1 - np.finfo(np.float64).eps))
        if len(better):
            least[better], alpha[better], weights[:, better] = loss[better], best[better], candidate[:, None]
            dual[:, better] = spectrum.left @ spectrum.shrink(y[:, better], best[better])
    return scales, dual, weights, alpha


def _weighted(grams: Sequence[Floats], weights: Floats) -> Floats:
    total = np.zeros_like(grams[0])
    for gram, weight in zip(grams, weights, strict=True):
        if weight:
            total += weight * gram
    return total
