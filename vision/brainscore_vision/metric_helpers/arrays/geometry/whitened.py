"""Compare distances between stimuli, weighted by the precision of pairs of stimuli.

Errors of distances sharing a stimulus are correlated. With V, the covariance of distances of equal stimuli with
independent noise, the most efficient comparison is (Diedrichsen et al. 2021, doi:10.51628/001c.27664, section 2.5)

    ``similarity = d1^T V^-1 d2 / sqrt(d1^T V^-1 d1 d2^T V^-1 d2)``

as a cosine, or, with the mean over pairs subtracted first, as a correlation. V is proportional to ``2 I + A^T A`` with
the incidence matrix A of n stimuli and pairs, so that for row sums s of squared distances and their sum S

    ``(V^-1 d)_ij = (d_ij - (s_i + s_j - S / n) / n) / 2``
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from brainscore_vision.metric_helpers.arrays.geometry.crossnobis import distance_product, unbiased_distances
from brainscore_vision.metric_helpers.arrays.geometry.influences import Influences, counted_once, effect_of_pairs
from brainscore_vision.metric_helpers.arrays.geometry.rdm import squared_distances
from brainscore_vision.metric_helpers.arrays.influence import left_out_influences

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, NDArray

__all__ = ["Length", "whitened_influences", "whitened_similarity", "whitened_stimulus_influences"]


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
    weigh alike unless `whitened`.

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
    (2 n (n - 1))`` for pairs that weigh alike.
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
