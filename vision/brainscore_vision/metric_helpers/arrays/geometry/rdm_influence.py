"""Compute how a rank correlation of dissimilarities moves with stimuli and with the neuroids behind them.

With u and v, the ranks of both sides as shares around 0, their mean product A moves with the weight of pair k by

    ``u_k v_k + mean_l [x_k <= x_l] v_l + mean_l [y_k <= y_l] u_l - 3 A``

(Croux & Dehon 2010, doi:10.1007/s10260-010-0142-z, section 2, plus effects on other ranks), and with dissimilarity y_k
by ``g(y_k) (u_k - u(y_k)) / N``: the density of dissimilarities times the distance of u from that of pairs with similar
y, estimated from neighbours in the order. A dissimilarity ``1 - r`` moves with the weight of neuroid j by ``-(z_i z_i'
- r (z_i^2 + z_i'^2) / 2)`` (Devlin et al. 1975, doi:10.1093/biomet/62.3.531).

Up to 64 neuroids are left out one at a time instead, on up to 128 stimuli: with derivatives, intervals for four
neuroids cover the mean in 83 % instead of 95.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from brainscore_vision.metric_helpers.arrays.geometry.influences import Influences, counted_once
from brainscore_vision.metric_helpers.arrays.geometry.rdm import (
    TIE,
    correlate_ranks,
    correlation_distances,
    upper_triangle,
)
from brainscore_vision.metric_helpers.arrays.influence import left_out_influences
from brainscore_vision.metric_helpers.arrays.ranking import Ranking

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats

__all__ = ["rank_influences", "rdm_influences"]

_FEW = 64  # most neuroids that are left out one at a time
_SOME = 128  # stimuli for that, at most


def rdm_influences(
    first: ArrayLike, second: ArrayLike, responses: ArrayLike, *, random_ties: bool = False
) -> tuple[float, Influences | None]:
    """Compute the rank correlation of dissimilarities, and to first order how it moves with stimuli and neuroids.

    The second side is the `correlation_distances` of `responses`; for `random_ties` see `rdm_similarity`. Influences
    are None with fewer than four stimuli or constant dissimilarities, or where the similarity is NaN.
    """
    x, y = upper_triangle(first), upper_triangle(second)
    if len(x) < 2 or np.isnan(x).any() or np.isnan(y).any():
        return float("nan"), None
    rankings = [Ranking.of(side, tolerance=TIE) for side in (x, y)]
    u, v = (ranking.ranks() for ranking in rankings)
    value = correlate_ranks(u, v, random_ties=random_ties)
    if np.ptp(u) == 0 or np.ptp(v) == 0 or len(np.asarray(responses)) < 4:
        return value, None
    u, v = _as_shares(u, v)
    influences = _influences(rankings, u, v, y, responses, random_ties=random_ties)
    if 2 < len(influences.neuroids) <= _FEW:
        without = _without_each(np.asarray(first), np.asarray(responses), influences.cells, random_ties=random_ties)
        influences = influences if without is None else replace(influences, neuroids=without)
    return value, influences


def rank_influences(first: ArrayLike, second: ArrayLike) -> tuple[float, Floats]:
    """Correlate ranks of given dissimilarities of all pairs, shape (n_pairs,), and leave out stimuli to first order.

    Joint effects of two count once (`counted_once`). NaN where a side is constant, and for fewer than four stimuli.
    """
    sides = [np.asarray(side, dtype=np.float64) for side in (first, second)]
    rankings = [Ranking.of(side, tolerance=TIE) for side in sides]
    u, v = (ranking.ranks() for ranking in rankings)
    value, n = correlate_ranks(u, v), round((1 + float(np.sqrt(1 + 8 * len(u)))) / 2)
    if np.isnan(value) or n < 4:
        return value, np.full(n, np.nan)
    u, v = _as_shares(u, v)
    stimuli, together, _ = _of_stimuli(rankings, u, v, n, random_ties=False)
    return value, counted_once(stimuli, together)


def _as_shares(*ranks: Floats) -> Iterator[Floats]:
    return (side / len(side) - (len(side) + 1) / (2 * len(side)) for side in ranks)


def _of_stimuli(
    rankings: list[Ranking], u: Floats, v: Floats, n: int, *, random_ties: bool
) -> tuple[Floats, float, float]:
    """Return the influences of n stimuli, the joint effect of two, and the scale of the correlation."""
    mean = float(u @ v) / len(u)
    lengths = [float(side @ side) / len(u) for side in (u, v)]
    pairs = u * v + _above(rankings[0], v) + _above(rankings[1], u) - 3 * mean
    scale = 1 / 12 if random_ties else float(np.sqrt(lengths[0] * lengths[1]))
    pairs /= scale
    for ranking, side, length in zip(rankings, (u, v), lengths, strict=True):
        if ranking.starts is not None and not random_ties:  # ties shorten a side, depending on the pairs
            pairs -= mean / scale * (side**2 + 2 * _above(ranking, side) - 3 * length) / (2 * length)
    square = _square(pairs, n)
    means = square.sum(axis=1) / (n - 1)
    beyond = square - means
    beyond -= means[:, None]
    np.fill_diagonal(beyond, 0.0)
    together = float(np.vdot(beyond, beyond)) / 2 / len(u) ** 2
    return np.sqrt(n / (n - 1)) * square.sum(axis=1) / len(u), together, scale


def _influences(
    rankings: list[Ranking], u: Floats, v: Floats, y: Floats, responses: ArrayLike, *, random_ties: bool
) -> Influences:
    patterns = np.array(responses, dtype=np.float64)
    n, q = patterns.shape
    stimuli, together, scale = _of_stimuli(rankings, u, v, n, random_ties=random_ties)
    patterns -= patterns.mean(axis=1, keepdims=True)
    patterns /= np.abs(patterns).max(axis=1, keepdims=True)
    patterns /= np.sqrt(np.einsum("ij,ij->i", patterns, patterns))[:, None]
    slope = _square(-_slope(y, u, rankings[1]) / scale, n)
    own = np.einsum("ij,ij->i", slope, patterns @ patterns.T)
    cells = patterns * (slope @ patterns) - patterns**2 * own[:, None]
    neuroids = np.sqrt(q / (q - 1)) * cells.sum(axis=0) / 2 if q > 1 else np.zeros(1)
    return Influences(stimuli=counted_once(stimuli, together), neuroids=neuroids, cells=counted_once(cells, together))


def _without_each(first: Floats, responses: Floats, cells: Floats, *, random_ties: bool) -> Floats | None:
    """Leave out each neuroid, on some of the stimuli; None where a correlation is then undefined.

    Their joint effect with stimuli is larger over some stimuli than over all.
    """
    n = len(responses)
    rows = np.unique(np.linspace(0, n - 1, min(n, _SOME)).astype(np.intp))
    ranks = Ranking.of(upper_triangle(first[np.ix_(rows, rows)]), tolerance=TIE).ranks()
    without = []
    for neuroid in range(responses.shape[1]):
        distances = upper_triangle(correlation_distances(np.delete(responses[rows], neuroid, axis=1)))
        if np.isnan(distances).any():
            return None
        ranking = Ranking.of(distances, tolerance=TIE)
        without.append(correlate_ranks(ranks, ranking.ranks(), random_ties=random_ties))
    influences = left_out_influences(np.array(without))
    total = float(influences @ influences)
    if not np.isfinite(total):
        return None
    centred = cells - cells.mean(axis=0)
    together = float(np.vdot(centred, centred)) * (n / len(rows) - 1)
    factor: float = np.sqrt(max(1 - together / total, 0.25)) if total > 0 else 1.0
    return factor * influences


def _square(pairs: Floats, n: int) -> Floats:
    matrix = np.zeros((n, n))
    matrix[~np.tri(n, dtype=bool)] = pairs
    matrix += matrix.T
    return matrix


def _above(ranking: Ranking, values: Floats) -> Floats:
    """Sum values of the entries that rank higher than each, as a share of all; equal ones count half."""
    n = len(values)
    bounds = np.zeros(n + 1)
    np.cumsum(values[ranking.order], out=bounds[1:])
    if ranking.starts is not None:
        bounds = bounds[np.append(ranking.starts, n)]
    sums = bounds[:-1] + bounds[1:]
    sums *= -0.5 / n
    sums += bounds[-1] / n
    result = np.empty(n)
    result[ranking.order] = sums if ranking.starts is None else np.repeat(sums, np.diff(ranking.starts, append=n))
    return result


def _slope(y: Floats, u: Floats, ranking: Ranking) -> Floats:
    """Return the derivative of ``mean(u v)`` by each y, smoothed over ``N^(2/3)`` neighbours in the order."""
    count = len(y)
    half = max(1, int(count ** (2 / 3) / 2))
    own = u[ranking.order]
    number = np.full(count, 2.0 * half + 1)  # of neighbours, fewer at either end
    number[:half] = number[: -half - 1 : -1] = np.arange(half + 1, 2 * half + 1)
    ordered = np.pad(y[ranking.order], half, mode="edge")
    width = ordered[2 * half :] - ordered[: -2 * half]
    width *= count
    density = np.divide(number - 1, width, out=np.zeros(count), where=width > 0)
    sums = np.zeros(count + 1)
    np.cumsum(own, out=sums[1:])
    sums = np.pad(sums, half, mode="edge")
    nearby = sums[2 * half + 1 :] - sums[:count]
    nearby /= number
    result = np.empty(count)
    own -= nearby
    own *= density
    own /= count
    result[ranking.order] = own
    return result
