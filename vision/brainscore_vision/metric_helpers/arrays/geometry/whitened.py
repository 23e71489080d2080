"""Measure distances without the bias of noise, and compare them weighted by the precision of pairs of stimuli.

Errors of distances sharing a stimulus are correlated. With V, the covariance of distances of equal stimuli with
independent noise, the most efficient comparison is (Diedrichsen et al. 2021, doi:10.51628/001c.27664, section 2.5)

    ``similarity = d1^T V^-1 d2 / sqrt(d1^T V^-1 d1 d2^T V^-1 d2)``

as a cosine, or, with the mean over pairs subtracted first, as a correlation. V is proportional to ``2 I + A^T A`` with
the incidence matrix A of n stimuli and pairs, so for row sums s of squared distances and their sum S

    ``(V^-1 d)_ij = (d_ij - (s_i + s_j - S / n) / n) / 2``
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from brainscore_vision.metric_helpers.arrays.geometry.rdm import squared_distances
from brainscore_vision.metric_helpers.arrays.influence import (
    Influences,
    counted_once,
    effect_of_pairs,
    left_out_influences,
)

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, NDArray

__all__ = [
    "Length",
    "distance_product",
    "noise_covariance",
    "unbiased_distances",
    "whiten",
    "whitened_influences",
    "whitened_similarity",
    "whitened_stimulus_influences",
]

# Compute distances between response patterns from repeated measurements, unbiased by noise.
#
# Noise lengthens measured distances; products of independently measured differences have no such bias (Walther et al.
# 2016, doi:10.1016/j.neuroimage.2015.12.012): with the pattern ``b_im`` of stimulus i in repetition m,
#
# ``d_ij = mean over m != n of (b_im - b_jm)^T S^-1 (b_in - b_jn) / n_neuroids``
#
# where S is the covariance of the noise (Schaefer & Strimmer 2005, doi:10.2202/1544-6115.1175), or the identity.
# Distances of equal patterns are zero on average, hence often negative.


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
        raise ValueError("Noise and signal can be separated only if a stimulus was shown at least twice.")
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
            "The noise covariance is singular, for example because some neuroids have no noise. Leave them out, or "
            "use distances without noise weights."
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


class _Product(NamedTuple):
    value: float
    without: Floats  # (n_stimuli,), without each stimulus
    pairs: Floats  # (n_stimuli, n_stimuli), share of each pair

    @classmethod
    def of(cls, a: Floats, b: Floats, *, centred: bool, whitened: bool = True) -> _Product:
        shares = [
            _centred(one, centred=centred) * _weighted(other, centred=centred, whitened=whitened) / 2
            for one, other in ((a, b), (b, a))
        ]
        without = _without_each(a, b, centred=centred, whitened=whitened)
        return cls(float(shares[0].sum()) / 2 + float(shares[1].sum()) / 2, without, shares[0] + shares[1])


@dataclass(frozen=True)
class Length:
    """Squared length of distances, which is that of noise-free ones between halves of the repetitions.

    Attributes
    ----------
    each : ndarray, shape (n_divisions,)
        One estimate for each division into halves; NaN where pairs of stimuli lack two repetitions in a half.
    product
        Mean over divisions.
    cells : ndarray, shape (n_stimuli, n_neuroids)
        Half of how much the mean moves with each response.
    alone : ndarray, shape (n_neuroids,)
        Contribution of each neuroid's distances with themselves.
    n_lacking
        Most pairs of stimuli that lack two repetitions in a half.
    """

    each: Floats
    product: _Product
    cells: Floats
    alone: Floats
    n_lacking: int

    @classmethod
    def of(
        cls,
        responses: Floats,
        present: NDArray[np.bool_],
        divisions: NDArray[np.bool_] | None = None,
        /,
        *,
        centred: bool,
        whitened: bool = True,
    ) -> Length:
        """Estimate from `responses`, see `whitened_influences`.

        `divisions`, shape (n_divisions, n_repetitions), are True for the first half; None: distances of all repetitions
        with themselves.
        """
        values = _from_their_mean(responses, present)
        whole = np.ones(len(values), dtype=bool)
        parts = [(whole, whole)] if divisions is None else [(division, ~division) for division in divisions]
        kind = {"centred": centred, "whitened": whitened}
        products, lacking = [], [0]
        cells, alone = np.zeros(values.shape[1:]), np.zeros(values.shape[2])
        for masks in parts:
            halves = [(values[mask], present[mask]) for mask in masks]
            a, b = (
                squared_distances(half[0]) if len(half) == 1 else unbiased_distances(half, there)
                for half, there in halves
            )
            lacking += [int(np.isnan(side).sum()) // 2 for side in (a, b)]
            products.append(_Product.of(a, b, **kind))
            cells += _of_cells(_weighted(b, **kind), *halves[0]) + _of_cells(_weighted(a, **kind), *halves[1])
            alone += _alone(halves[0], halves[1], **kind)
        n, each = len(parts), np.array([product.value for product in products])
        without = np.mean([product.without for product in products], axis=0)
        pairs = np.mean([product.pairs for product in products], axis=0)
        return cls(each, _Product(float(each.mean()), without, pairs), cells / (2 * n), alone / n, max(lacking))


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
    stimuli, together = _of_stimuli(*(_Product.of(*pair, centred=centred) for pair in ((x, y), (x, x), (y, y))))
    return None if stimuli is None else counted_once(stimuli, together)


def whitened_influences(
    first: ArrayLike,
    second: ArrayLike,
    responses: ArrayLike,
    present: ArrayLike | None = None,
    *,
    centred: bool,
    whitened: bool = True,
    length: Length | None = None,
) -> Influences | None:
    """Compute how the similarity moves with stimuli and with the neuroids behind the second distances.

    The second distances are `squared_distances` (one repetition) or `unbiased_distances` (several) of `responses`,
    shape (n_repetitions, n_stimuli, n_neuroids), where `present`; their length is `length`, or their own (None). Pairs
    have equal weights unless `whitened`.

    Stimuli and neuroids are left out in turn. Their joint effect is taken to first order: with the derivative G of the
    similarity by distances, that of stimulus i and neuroid j with responses y is ``sum_k G_ik (y_i - y_k)^2``, or
    products across repetitions.
    """
    x, y = (np.asarray(side, dtype=np.float64) for side in (first, second))
    values = np.asarray(responses, dtype=np.float64)
    recorded = np.ones(values.shape[:2], dtype=bool) if present is None else np.asarray(present, dtype=bool)
    kind = {"centred": centred, "whitened": whitened}
    own = Length.of(values, recorded, **kind) if length is None else length
    xy, xx, yy = _Product.of(x, y, **kind), _Product.of(x, x, **kind), own.product
    stimuli, together = _of_stimuli(xy, xx, yy)
    if stimuli is None:
        return None
    cells = _of_cells(_weighted(x, **kind), _from_their_mean(values, recorded), recorded)
    overlaps, lengths = xy.value - cells.sum(axis=0), yy.value - 2.0 * own.cells.sum(axis=0) + own.alone
    neuroids = np.zeros(1)
    if values.shape[2] > 1:
        if not (lengths > 0).all():
            return None
        neuroids = left_out_influences(overlaps / np.sqrt(xx.value * lengths))
    cells = 2.0 * (cells - xy.value / yy.value * own.cells) / np.sqrt(xx.value * yy.value)
    return Influences(counted_once(stimuli, together), neuroids, counted_once(cells, together))


def _of_stimuli(xy: _Product, xx: _Product, yy: _Product) -> tuple[Floats | None, float]:
    """Leave out each stimulus, and sum the squared joint effects of two, from the derivative by the weights of pairs.

    None with fewer than four stimuli or where the similarity is undefined, also without one.
    """
    if len(xy.without) < 4 or not all(side.value > 0 and (side.without > 0).all() for side in (xx, yy)):
        return None, 0.0
    moved = xy.pairs - xy.value / 2 * (xx.pairs / xx.value + yy.pairs / yy.value)
    together = effect_of_pairs(moved / np.sqrt(xx.value * yy.value))
    return left_out_influences(xy.without / np.sqrt(xx.without) / np.sqrt(yy.without)), together


def _from_their_mean(responses: Floats, present: NDArray[np.bool_]) -> Floats:
    centre = responses.sum(axis=(0, 1)) / present.sum()
    return np.where(present[:, :, None], responses - centre, 0.0)


def _alone(
    first: tuple[Floats, NDArray[np.bool_]], second: tuple[Floats, NDArray[np.bool_]], *, centred: bool, whitened: bool
) -> Floats:
    """Multiply the distances of each neuroid by its own in the other half, shape (n_neuroids,).

    With moments ``M`` of pairs of stimuli, of a rank of the repetitions and one, and their diagonal m, distances are
    ``m_i + m_k - 2 M_ik``. Moments of stimuli that lack repetitions are divided by the root of their own numbers.
    """
    vectors, signs, own, sums, rows = [], [], [], [], []
    for values, present in (first, second):
        counts = present.sum(axis=0)[:, None].astype(np.float64)
        if len(values) == 1:
            vectors.append(values)
        else:
            scaled = values / np.sqrt(np.maximum(counts * (counts - 1), 1.0))
            vectors.append(np.concatenate([scaled.sum(axis=0)[None], scaled]))
        signs.append(np.array([1.0, *[-1.0] * (len(vectors[-1]) - 1)]))
        own.append(np.einsum("p,pij->ij", signs[-1], vectors[-1] ** 2))
        sums.append(np.einsum("p,pij,pj->ij", signs[-1], vectors[-1], vectors[-1].sum(axis=1)))
        rows.append(len(own[-1]) * own[-1] + own[-1].sum(axis=0) - 2.0 * sums[-1])
    n, q = own[0].shape
    across = np.einsum("pij,rij->prj", *vectors) ** 2
    products: Floats = (own[0] * rows[1] - 2.0 * own[1] * sums[0]).sum(axis=0)
    products += 2.0 * np.einsum("p,r,prj->j", *signs, across)
    totals = rows[0].sum(axis=0) * rows[1].sum(axis=0)
    if whitened:
        products = 0.5 * (products - ((rows[0] * rows[1]).sum(axis=0) - totals / (2.0 * n)) / n)
    if centred:
        products = products - totals / ((2.0 * n if whitened else 1.0) * 2.0 * n * (n - 1))
    products /= q**2
    return products


def _of_cells(slope: Floats, values: Floats, present: NDArray[np.bool_]) -> Floats:
    """Return the part of each response in the product of a slope and the distances of the responses, shape (n, q).

    Distances from stimulus i count half for it: ``sum_k slope_ik (y_i - y_k)^2 / 2``, or products across repetitions.
    """
    counts = present.astype(np.float64)
    total = values.sum(axis=0)
    if len(values) == 1:
        squares, products = total**2, total * (slope @ total)
    else:
        pairs = np.maximum(counts.sum(axis=0)[:, None] * counts.sum(axis=0) - counts.T @ counts, 1.0)
        squares = (total**2 - (values**2).sum(axis=0)) / np.diagonal(pairs)[:, None]
        weights = slope / pairs
        products = total * (weights @ total)
        for repetition in values:
            products -= repetition * (weights @ repetition)
    cells: Floats = slope.sum(axis=1)[:, None] * squares + slope @ squares - 2.0 * products
    cells /= 2 * values.shape[2]
    return cells


def _centred(distances: Floats, *, centred: bool) -> Floats:
    off = ~np.eye(len(distances), dtype=bool)
    return np.where(off, distances - (distances[off].mean() if centred else 0.0), 0.0)


def _weighted(distances: Floats, *, centred: bool, whitened: bool) -> Floats:
    """Multiply distances by ``V^-1`` if `whitened`, zero on the diagonal; centred before and after."""
    values = _centred(distances, centred=centred)
    if not whitened:
        return values
    n, sums = len(values), values.sum(axis=1)
    values = 0.5 * (values - (sums[:, None] + sums - sums.sum() / n) / n)
    np.fill_diagonal(values, 0.0)
    return _centred(values, centred=centred)


def _without_each(x: Floats, y: Floats, *, centred: bool, whitened: bool) -> Floats:
    """Compute `distance_product` without each stimulus in turn, from sums over all of them.

    Centring first lowers the product of row sums ``S_x`` and ``S_y`` by ``S_x S_y / (4 n^2 (n - 1))``, or ``S_x S_y /
    (2 n (n - 1))`` for pairs with equal weights.
    """
    m = len(x) - 1
    sums_x, sums_y = x.sum(axis=1), y.sum(axis=1)
    own = np.einsum("ij,ij->i", x, y)
    products: Floats = own.sum() / 2.0 - own
    totals = (sums_x.sum() - 2.0 * sums_x) * (sums_y.sum() - 2.0 * sums_y)
    if whitened:
        rows = sums_x @ sums_y - x @ sums_y - y @ sums_x + own - sums_x * sums_y
        products = 0.5 * (products - (rows - totals / (2.0 * m)) / m)
    return products - totals / ((2.0 * m if whitened else 1.0) * 2.0 * m * (m - 1)) if centred else products
