"""Compare distances between stimuli, weighted by the precision of pairs of stimuli.

Errors of distances sharing a stimulus are correlated. With V, the covariance of distances of equal stimuli with
independent noise, the most efficient comparison is (Diedrichsen et al. 2021, doi:10.51628/001c.27664, section 2.5)

    ``similarity = d1^T V^-1 d2 / sqrt(d1^T V^-1 d1 d2^T V^-1 d2)``

as a cosine, or, with the mean over pairs subtracted first, as a correlation. V is proportional to ``2 I + A^T A`` with
the incidence matrix A of n stimuli and pairs, so that for row sums s of squared distances and their sum S

    ``(V^-1 d)_ij = (d_ij - (s_i + s_j - S / n) / n) / 2``
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brainscore_vision.metric_helpers.arrays.geometry.crossnobis import distance_product
from brainscore_vision.metric_helpers.arrays.geometry.influences import Influences, counted_once, effect_of_pairs
from brainscore_vision.metric_helpers.arrays.influence import left_out_influences

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats

__all__ = ["whitened_influences", "whitened_similarity", "whitened_stimulus_influences"]


def whitened_similarity(first: ArrayLike, second: ArrayLike, *, centred: bool) -> float:
    """Compute the whitened cosine or, if `centred`, correlation of two sets of squared distances.

    In [-1, 1]; NaN where either side is zero, or constant for the correlation.
    """
    products = [
        distance_product(*pair, whitened=True, centred=centred)
        for pair in ((first, second), (first, first), (second, second))
    ]
    # The centred length of constant distances is rounding.
    sizes = [distance_product(side, side) for side in (first, second)]
    if not all(own > 1e-24 * size for own, size in zip(products[1:], sizes, strict=True)):
        return float("nan")
    return float(np.clip(products[0] / np.sqrt(products[1]) / np.sqrt(products[2]), -1.0, 1.0))


def whitened_stimulus_influences(first: ArrayLike, second: ArrayLike, *, centred: bool) -> Floats | None:
    """Leave out each stimulus of `whitened_similarity` in turn; joint effects of two count once (`counted_once`).

    None with fewer than four stimuli or where the similarity is undefined without one.
    """
    x, y = (np.asarray(side, dtype=np.float64) for side in (first, second))
    stimuli = _left_out(x, y, centred=centred)
    return None if stimuli is None else counted_once(stimuli, _effect_of_pairs(x, y, centred=centred))


def _left_out(x: Floats, y: Floats, *, centred: bool) -> Floats | None:
    if len(x) < 4:
        return None
    xy, xx, yy = (_without_each(*pair, centred=centred) for pair in ((x, y), (x, x), (y, y)))
    if not ((xx > 0) & (yy > 0)).all():
        return None
    return left_out_influences(xy / np.sqrt(xx) / np.sqrt(yy))


def whitened_influences(
    first: ArrayLike, second: ArrayLike, responses: ArrayLike, present: ArrayLike | None = None, *, centred: bool
) -> Influences | None:
    """Compute how the similarity moves with stimuli and with the neuroids behind the second distances.

    To first order in the distances of single neuroids, whose mean the distances are: with the derivative G of the
    similarity by distances and its Laplacian ``L = diag(G 1) - G``, neuroid j with responses y has the influence ``y^T
    L y``, with the part ``y_i (L y)_i`` for response i; likewise for products across repetitions.

    The second distances are `squared_distances` (one repetition) or `unbiased_distances` (several) of `responses`,
    shape (n_repetitions, n_stimuli, n_neuroids), where `present`.
    """
    x, y = (np.asarray(side, dtype=np.float64) for side in (first, second))
    stimuli = _left_out(x, y, centred=centred)
    if stimuli is None:
        return None
    xy, xx, yy = (distance_product(*pair, whitened=True, centred=centred) for pair in ((x, y), (x, x), (y, y)))
    slope = (_weighted(x, centred=centred) - xy / yy * _weighted(y, centred=centred)) / np.sqrt(xx * yy)
    laplacian = np.diag(slope.sum(axis=1)) - slope
    values = np.asarray(responses, dtype=np.float64)
    repetitions, n, q = values.shape
    recorded = np.ones((repetitions, n), dtype=bool) if present is None else np.asarray(present, dtype=bool)
    centre = values.sum(axis=(0, 1)) / recorded.sum()
    values = np.where(recorded[:, :, None], values - centre, 0.0)
    if repetitions == 1:
        cells = values[0] * (laplacian @ values[0])
    else:
        counts = recorded.astype(np.float64)
        laplacian /= counts.sum(axis=0)[:, None] * counts.sum(axis=0) - counts.T @ counts
        total = values.sum(axis=0)
        cells = total * (laplacian @ total)
        for repetition in values:
            cells -= repetition * (laplacian @ repetition)
    cells /= q
    neuroids = np.sqrt(q / (q - 1)) * cells.sum(axis=0) if q > 1 else np.zeros(1)
    together = _effect_of_pairs(x, y, centred=centred)
    return Influences(counted_once(stimuli, together), neuroids, counted_once(2.0 * cells, together))


def _effect_of_pairs(x: Floats, y: Floats, *, centred: bool) -> float:
    """Sum the squared joint effects of two stimuli, from the derivative by the weights of pairs."""
    xy, xx, yy = (distance_product(*pair, whitened=True, centred=centred) for pair in ((x, y), (x, x), (y, y)))
    of_x, of_y = (_weighted(side, centred=centred) for side in (x, y))
    off = ~np.eye(len(x), dtype=bool)
    u, v = (side - (side[off].mean() if centred else 0.0) for side in (x, y))
    return effect_of_pairs((u * of_y - xy / 2 * (u * of_x / xx + v * of_y / yy)) / np.sqrt(xx * yy))


def _weighted(distances: Floats, *, centred: bool) -> Floats:
    """Multiply distances by ``V^-1``, zero on the diagonal; centred before and after."""
    n = len(distances)
    off = ~np.eye(n, dtype=bool)
    values = np.where(off, distances - (distances[off].mean() if centred else 0.0), 0.0)
    sums = values.sum(axis=1)
    weighted = np.where(off, 0.5 * (values - (sums[:, None] + sums - sums.sum() / n) / n), 0.0)
    return np.where(off, weighted - weighted[off].mean(), 0.0) if centred else weighted


def _without_each(x: Floats, y: Floats, *, centred: bool) -> Floats:
    """Compute `distance_product` without each stimulus in turn, from sums over all of them.

    Centring first lowers the product of row sums ``S_x`` and ``S_y`` by ``S_x S_y / (4 n^2 (n - 1))``.
    """
    m = len(x) - 1
    sums_x, sums_y = x.sum(axis=1), y.sum(axis=1)
    own = np.einsum("ij,ij->i", x, y)
    plain = own.sum() / 2.0 - own
    rows = sums_x @ sums_y - x @ sums_y - y @ sums_x + own - sums_x * sums_y
    totals = (sums_x.sum() - 2.0 * sums_x) * (sums_y.sum() - 2.0 * sums_y)
    products: Floats = 0.5 * (plain - (rows - totals / (2.0 * m)) / m)
    return products - totals / (4.0 * m**2 * (m - 1)) if centred else products
