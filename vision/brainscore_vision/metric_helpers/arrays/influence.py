"""Compute how stimuli and neuroids move correlations, medians over neuroids, and means over splits.

The influence of an observation is the derivative of a statistic by its weight (Hampel 1974,
doi:10.1080/01621459.1974.10482962). For a Pearson correlation of standardised columns it is :math:`z_x z_y - r (z_x^2 +
z_y^2) / 2` (Devlin et al. 1975, doi:10.1093/biomet/62.3.531, equation 2.3). The jackknife of the
median is inconsistent; the median averaged over all samples with replacement, a smooth mean of order statistics
(Harrell & Davis 1982, doi:10.1093/biomet/69.3.635), replaces it.

Sections: correlations and medians; the agreement of observers; geometries in general, centered kernel alignment, and
rank correlations of dissimilarities. `core.statistics.influence` turns influences into a variance,
`uncertainty.errors` writes them into scores.
"""

# Why influences
#
# Problem. A score is meant for new stimuli and new neuroids (or people) at once, and is compared with others: the
# difference of two models on the same stimuli is more precise than either score, and an average over benchmarks shares
# recordings. An error alone cannot be combined like this. A table of how the score moves with each stimulus and each
# neuroid can: influences add and subtract as scores do.
#
# Sources. Hampel (1974); Devlin et al. (1975) for correlations; Harrell & Davis (1982) for medians; Efron & Stein
# (1981) for pairs of stimuli. The variance `V = V_stimuli + V_neuroids - V_cells` is that of Cameron et al. (2011).
#
# What else was tried, and why not.
# - The published error, the standard error over splits. Splits share data: it is 0.33 to 0.62 of the standard deviation
#   of `ridge` and `pls`.
# - The bootstrap of stimuli and neuroids. Drawing both holds the noise of cells three times (Owen 2007), copies of a
#   stimulus are in training and test, and each draw costs a score. V is the limit of its corrected form (Schütt et al.
#   2023). Halves without copies remain for metrics with a step of their own (`half_sample_interval`).
# - The jackknife of the median: inconsistent.
# - For neuroids in `cka`, leaving out (intervals cover 88 to 97 %) and the derivative (90 to 100 %): removing three
#   quarters of a neuroid's weight covers 94 to 97 %. Cohen's kappa is too far from linear for its derivative.
# `perf/coverage.py` measures all of these; docs/explanation/uncertainty.md has its tables.
#
# Cost, for n stimuli, q neuroids and p features. Nothing is refitted. Correlations: O(n) for each neuroid near the
# median, the only ones that are kept. Alignment: a product of a Gram matrix with the responses, O(n^2 q), or O(n p q)
# with fewer features than stimuli. Dissimilarities: sorting n^2 / 2 pairs, and O(n^2 q) for neuroids.
#
# Where it breaks. To first order, influences omit that a stimulus also trains a regression. Joint effects of two
# stimuli are counted once, but the sum is never reduced to less than half (`counted_once`). Fewer than five test
# stimuli do not show how each moves a correlation. Few neuroids, or few that dominate: up to 64 are left out one at a
# time, and degrees of freedom follow the kurtosis of the influences (`tail_freedom`). At a kink, such as two equal
# accuracies, intervals are inexact. Predictions too large to keep have no influences, and their scores no error.

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from brainscore_vision.metric_helpers.arrays.behavior import kappa_of_counts
from brainscore_vision.metric_helpers.arrays.correlation import Ranking
from brainscore_vision.metric_helpers.arrays.geometry.cka import (
    GramPair,
    GramSide,
    centre_columns,
    column_hsic,
    evenly,
    paired_sides,
)
from brainscore_vision.metric_helpers.arrays.geometry.rdm import (
    TIE,
    correlate_ranks,
    correlation_distances,
    upper_triangle,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices

__all__ = [
    "Influences",
    "OnMedians",
    "cka_influences",
    "closeness_influences",
    "correlation_influence",
    "counted_once",
    "effect_of_pairs",
    "joint_effect",
    "kappa_influences",
    "leave_one_out_influences",
    "left_out_influences",
    "mean_influence",
    "median_freedom",
    "median_influence",
    "median_of_columns",
    "median_of_correlations",
    "order_weights",
    "pair_influences",
    "rank_influences",
    "rdm_influences",
    "spread_neuroids",
    "subject_influences",
    "weighted_neuroids",
]

_FEWEST = 5  # least number of rows whose influences on a correlation are known, see `correlation_influence`
_NEGLIGIBLE = 1e-6  # omitted weights in the averaged median; 5 standard deviations of ranks away


@lru_cache(maxsize=64)
def order_weights(n: int) -> Floats:
    """Return the weights of n ordered values in the averaged median: their probabilities of being the median.

    These are ``I(i/n) - I((i-1)/n)``, where I is the distribution function of Beta((n+1)/2, (n+1)/2). Read-only.
    """
    from scipy.special import betainc  # importing benchmarks does not need scipy, which is heavy

    weights: Floats = np.diff(betainc((n + 1) / 2, (n + 1) / 2, np.arange(n + 1) / n))
    weights.flags.writeable = False
    return weights


def left_out_influences(left_out: Floats) -> Floats:
    """Scale values without each unit, shape (n_units,): their squares then sum to the jackknife variance.

    Positive for units that raise the value.
    """
    n = len(left_out)
    scaled: Floats = np.sqrt((n - 1) / n) * (left_out.mean() - left_out)
    return scaled


def median_influence(values: Floats) -> tuple[Floats, Floats]:
    """Return how the median of finite values moves with the weight of each, and with each value itself.

    The influence sums to 0; its squares sum to the jackknife variance of the averaged median. The slope by values sums
    to 1.
    """
    n = len(values)
    influence, slope = np.zeros(n), np.empty(n)
    order = np.argsort(values)
    slope[order] = order_weights(n)
    if n > 1:
        # Without the k-th smallest, higher values move down by one place.
        ordered, weights = values[order], order_weights(n - 1)
        below = np.concatenate([[0.0], np.cumsum(weights * ordered[:-1])])
        above = np.concatenate([np.cumsum((weights * ordered[1:])[::-1])[::-1], [0.0]])
        left_out = below + above
        influence[order] = left_out_influences(left_out)
    return influence, slope


def mean_influence(values: Floats) -> Floats:
    """Return how the mean of values that are not NaN moves with the weight of each, shape (n,); 0 for NaN.

    The influence sums to 0; its squares sum to the squared standard error of the mean.

    Examples
    --------
    >>> mean_influence(np.array([1.0, 3.0, np.nan]))
    array([-0.70710678,  0.70710678,  0.        ])
    """
    defined = ~np.isnan(values)
    n = int(defined.sum())
    influence = np.zeros(len(values))
    if n > 1:
        influence[defined] = (values[defined] - values[defined].mean()) / np.sqrt(n * (n - 1))
    return influence


def median_freedom(n: int) -> float:
    """Return the degrees of freedom of the variance that `median_influence` gives to the median of n values.

    Fitted to simulations of n from 2 to 200 normal and beta values: intervals cover the median of normal values in 94
    to 97 %.
    """
    return min(n - 1.0, 0.7 + 0.92 * float(np.sqrt(n)))


def correlation_influence(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Correlate columns of two tables of shape (n, q), and compute how each row moves the correlations.

    Returns
    -------
    r : ndarray, shape (q,)
        NaN where a column is constant.
    influence : ndarray, shape (n, q)
        Each column sums to 0, and its squares to about the variance of r, enlarged by ``n / (n - 4)`` for the two means
        and two scales estimated from the same rows. NaN where r is, and for fewer than five rows.
    """
    n = len(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b = (_standardized(values) for values in (x, y))
        product = a * b
        r = product.mean(axis=0)
        influence = product - 0.5 * r * (a * a + b * b)
    return r, influence / (np.sqrt(n * (n - 4.0)) if n > 4 else np.nan)


class OnMedians(NamedTuple):
    """Influences of cells and neuroids on a median over neuroids, or a mean of medians."""

    cells: Floats  # (n_stimuli, n_columns); NaN throughout if no value is defined
    columns: Indices  # (n_columns,), neuroids of these cells: those near a median
    of_neuroids: Floats  # (n_neuroids,), contribution of whole neuroids, whose values differ
    freedom: float  # degrees of freedom of the variance over neuroids


def median_of_columns(values: Floats, of_rows: Floats) -> OnMedians:
    """Return the influence of cells on the median of values that are each estimated from a column.

    `values`, shape (q,), count unless NaN; `of_rows`, shape (n, q), is the influence of each row on each value.
    """
    near, weights, of_neuroids = _weighing(values)
    freedom = median_freedom(len(values))
    if not len(near):
        return OnMedians(np.full_like(of_rows, np.nan), np.arange(len(values)), of_neuroids, freedom)
    return OnMedians(weights * of_rows[:, near], near, of_neuroids, freedom)


def median_of_correlations(
    parts: Iterable[tuple[Floats, Floats, Indices]], n_stimuli: int, correlations: Floats, slopes: Floats | None = None
) -> OnMedians:
    r"""Return the influence of cells on the mean over parts of the median over neuroids of correlations.

    Correlations of fewer than five rows do not show how each row moves them: with two, they are 1 or -1. Then the
    correlation itself is the observation, which its m rows share: each gets :math:`(r_s - \bar r) / \sqrt m`, so that
    squares over disjoint splits sum to the variance of their mean, enlarged by ``n / (n - 4)`` of all stimuli as in
    `correlation_influence`. NaN for a single split.

    The degrees of freedom are those of one median times the effective number of medians: their mean squared influence
    over the squared mean.

    Parameters
    ----------
    parts : iterable of (x, y, rows)
        For every split: two tables whose columns are correlated, and the stimuli of their rows.
    correlations, slopes : ndarray, shape (n_parts, n_neuroids)
        Correlations, or a function of them, that the medians summarise, and its derivatives (None: 1); NaN does not
        count.
    """
    n_parts = len(correlations)
    medians = [_weighing(row) for row in correlations]
    columns = np.unique(np.concatenate([near for near, _, _ in medians]))
    cells = np.zeros((n_stimuli, len(columns)))
    of_each = np.array([influence for _, _, influence in medians])
    of_neuroids = of_each.mean(axis=0)
    square, together = (of_each**2).sum() / n_parts, (of_neuroids**2).sum()
    n_effective = square / together if together > 0 else 1.0
    freedom = min(max(correlations.shape[1] - 1.0, 0.0), median_freedom(correlations.shape[1]) * n_effective)
    known = ~np.isnan(correlations)
    mean = np.where(known, correlations, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    for index, (x, y, rows) in enumerate(parts):
        near, weights, _ = medians[index]
        if not len(near) or (n_parts == 1 and len(rows) < _FEWEST):
            one = np.arange(min(1, correlations.shape[1]))
            return OnMedians(np.full((n_stimuli, len(one)), np.nan), one, of_neuroids, freedom)
        if len(rows) < _FEWEST:
            share = weights / np.sqrt(n_parts * (n_parts - 1) * len(rows)) * (correlations[index, near] - mean[near])
            moved = np.tile(share * np.sqrt(n_stimuli / max(n_stimuli - 4, 1)), (len(rows), 1))
        else:
            _, of_rows = correlation_influence(x[:, near], y[:, near])
            moved = np.nan_to_num(weights / n_parts * (1.0 if slopes is None else slopes[index, near]) * of_rows)
        places = np.ix_(rows, np.searchsorted(columns, near))
        if len(np.unique(rows)) < len(rows):
            np.add.at(cells, places, moved)
        else:
            cells[places] += moved
    cells -= cells.mean(axis=0)  # influences of whole neuroids are in `of_neuroids`
    return OnMedians(cells, columns, of_neuroids, freedom)


def _weighing(correlations: Floats) -> tuple[Indices, Floats, Floats]:
    """Return which correlations are near their median, their weights in it, and the influence of all."""
    defined = np.flatnonzero(~np.isnan(correlations))
    influence = np.zeros(len(correlations))
    if not len(defined):
        return defined, influence[defined], influence
    influence[defined], weights = median_influence(correlations[defined])
    near = weights > _NEGLIGIBLE
    return defined[near], weights[near], influence


def _standardized(values: Floats) -> Floats:
    centred = values - values.mean(axis=0)
    standardized: Floats = centred / np.sqrt(np.mean(centred**2, axis=0))
    return standardized


# Hold how a comparison of geometries moves with stimuli, neuroids, and both.
#
# For the variance see `brainscore_core.statistics.influence`.


@dataclass(frozen=True)
class Influences:
    """How much a value moves with each stimulus, each neuroid of the second side, and each response.

    Attributes
    ----------
    stimuli, neuroids : ndarray, shapes (n_stimuli,) and (n_neuroids,)
        Squares sum to the variance over new stimuli, or neuroids; 0 for a single neuroid.
    cells : ndarray, shape (n_stimuli, n_neuroids)
        Joint effect of a stimulus and a neuroid, up to terms that depend on one of them.
    chosen : ndarray of int, shape (n_neuroids,), or None
        Positions of these neuroids among all; None: all.
    """

    stimuli: Floats
    neuroids: Floats
    cells: Floats
    chosen: Indices | None = None

    def __mul__(self, factor: float) -> Influences:
        return Influences(factor * self.stimuli, factor * self.neuroids, factor * self.cells, self.chosen)


def effect_of_pairs(moved: Floats) -> float:
    """Sum the squared joint effects of two stimuli, for `counted_once`.

    `moved`, shape (n_stimuli, n_stimuli), is how much a value moves with each pair; effects of single stimuli are
    removed, and the matrix is overwritten.
    """
    n = len(moved)
    np.fill_diagonal(moved, 0.0)
    means = moved.sum(axis=0) / (n - 1)
    moved -= means
    moved -= means[:, None]
    moved += means.mean()
    np.fill_diagonal(moved, 0.0)
    return float(np.vdot(moved, moved)) / 2


def counted_once(influences: Floats, pairs: float) -> Floats:
    """Shrink influences whose squares hold the joint effect of two stimuli twice.

    In a sum over pairs of stimuli, each pair is in the influences of two (Efron & Stein 1981,
    doi:10.1214/aos/1176345462, section 2). The sum of squares is reduced, at most to half, by `pairs`: the summed
    squared joint effects.
    """
    total = float(np.vdot(influences, influences))
    return influences * np.sqrt(max(1 - pairs / total, 0.5)) if total > 0 else influences


# Compute how much the agreement of observers moves with the weight of each answer.
#
# The *influence* of an answer (one subject, one stimulus) is the derivative of a weighted statistic by its weight
# (Hampel 1974, doi:10.1080/01621459.1974.10482962). Squared influences estimate the variance over new samples (Efron
# 1982, chapter 6, doi:10.1137/1.9781611970319; for pairs of subjects Hoeffding 1948, doi:10.1214/aoms/1177730196; see
# `uncertainty.errors`). `counted`, shape (..., n_subjects, n_stimuli), is the weight of each answer; 0 if it does not
# count.


def kappa_influences(first: ArrayLike, second: ArrayLike, counted: ArrayLike | None = None) -> Floats:
    """Compute how much `error_consistency` moves when each stimulus is left out.

    ``x[i] = (n - 1) / n (mean_j(kappa without j) - kappa without i)``

    Kappa is too far from linear for the derivative. Rows sum to 0. 0 for stimuli that do not count or without which
    kappa is undefined.

    Examples
    --------
    >>> kappa_influences([True, True, False, False], [True, True, False, True])
    array([ 0.0375,  0.0375,  0.3375, -0.4125])
    """
    one, two = np.broadcast_arrays(np.asarray(first, dtype=bool), np.asarray(second, dtype=bool))
    both = np.ones(one.shape, dtype=bool) if counted is None else np.broadcast_to(counted, one.shape)
    rows = [np.asarray(answers, dtype=np.float64) for answers in (both, one & both, two & both, (one == two) & both)]
    without = kappa_of_counts(*(row.sum(axis=-1, keepdims=True) - row for row in rows))
    defined = both & ~np.isnan(without)
    number = np.maximum(1, defined.sum(axis=-1, keepdims=True))
    mean = np.where(defined, without, 0.0).sum(axis=-1, keepdims=True) / number
    return np.where(defined, (mean - without) * (number - 1) / number, 0.0)


def closeness_influences(source: ArrayLike, target: ArrayLike, counted: ArrayLike) -> Floats:
    """Differentiate `accuracy_closeness` of two shares of right answers by the weight of each stimulus.

    Rows, shape (..., n_stimuli), sum to 0; those where nothing counts are 0. Closeness peaks at equal accuracies; there
    the derivative is that of approaching the peak.
    """
    source_right, target_right, number = np.broadcast_arrays(
        *(np.asarray(part, dtype=np.float64) for part in (source, target, counted))
    )
    total = number.sum(axis=-1, keepdims=True)
    weight = np.divide(number, total, out=np.zeros(number.shape), where=total > 0)
    s, t = ((weight * side).sum(axis=-1, keepdims=True) for side in (source_right, target_right))
    by_s, by_t = weight * (source_right - s), weight * (target_right - t)
    sign = np.where(s >= t, 1.0, -1.0)
    farthest = np.maximum(t, 1 - t)
    moved: Floats = -sign * (by_s - by_t) / farthest + np.abs(s - t) / farthest**2 * np.where(t > 0.5, by_t, -by_t)
    return moved


def subject_influences(values: ArrayLike, by_stimulus: ArrayLike, counted: ArrayLike) -> Floats:
    """Differentiate a mean over subjects by the weight of each answer, shape (..., n_subjects, n_stimuli).

    ``x[s, i] = (by_stimulus[s, i] + (values[s] - mean) * counted[s, i] / sum_i counted[s, i]) / n``

    Values that are NaN do not count; `by_stimulus` holds influences of stimuli on each. Sums over stimuli are
    influences of subjects, sums over subjects those of stimuli; the total is 0.
    """
    value = np.asarray(values, dtype=np.float64)[..., None]
    defined = ~np.isnan(value)
    n = np.maximum(1, defined.sum(axis=-2, keepdims=True))
    mean = np.where(defined, value, 0.0).sum(axis=-2, keepdims=True) / n
    deviation = np.where(defined, value - mean, 0.0)
    influences: Floats = (np.where(defined, by_stimulus, 0.0) + deviation * _shares(counted)) / n
    return influences


def pair_influences(table: ArrayLike, by_stimulus: ArrayLike, counted: ArrayLike) -> Floats:
    """Differentiate a mean over pairs of subjects by the weight of each answer, as `subject_influences`.

    A subject moves the mean by twice its pairs' deviation, a stimulus by its mean influence on all pairs. Its own part
    has the factor ``(n - 1) / (n - 2)`` of the jackknife. NaN for fewer than three subjects.

    The symmetric table holds the values of pairs; NaN and the diagonal do not count. `by_stimulus` holds the influences
    of stimuli on the mean over the pairs of each subject.
    """
    pairs = np.array(table, dtype=np.float64)
    np.fill_diagonal(pairs, np.nan)
    defined = ~np.isnan(pairs)
    weight = defined.sum(axis=1) / max(1, defined.sum())  # share of the pairs with a subject; sums to 1
    filled = np.where(defined, pairs, 0.0)
    mean = filled.sum() / max(1, defined.sum())
    moved = weight[:, None] * np.asarray(by_stimulus, dtype=np.float64)
    n = int(defined.any(axis=1).sum())
    enlarged = 2 * (n - 1) / (n - 2) if n > 2 else np.nan
    deviation = filled.sum(axis=1) / max(1, defined.sum()) - weight * mean
    # An answer's own part counts twice in its subject's pairs, the part shared by all once.
    present = np.asarray(counted) > 0
    number = np.maximum(1, present.sum(axis=0, keepdims=True))
    even = np.where(present, moved.sum(axis=0, keepdims=True) / number, 0.0)
    influences: Floats = enlarged * (moved - even + deviation[:, None] * _shares(counted)) + even
    return influences


def leave_one_out_influences(responses: ArrayLike, present: ArrayLike, *, itself: bool = False) -> Floats:
    """Differentiate the mean of `leave_one_out_correlations` by the weight of each answer, as `subject_influences`.

    If `itself`, the means that subjects are correlated with include the subject. Subjects with an undefined correlation
    do not count.
    """
    answered = np.asarray(present, dtype=bool)
    used = (answered & (answered.sum(axis=0) > 1)).astype(np.float64)
    y = np.where(answered, np.asarray(responses, dtype=np.float64), 0.0)
    number = np.maximum(answered.sum(axis=0) - (0 if itself else used), 1)  # subjects in the mean
    others = (y.sum(axis=0) - (0 if itself else y)) / number
    n = used.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        sides, scales = [], []
        for side in (y, others):
            centred = used * (side - (used * side).sum(axis=1, keepdims=True) / n)
            scales.append(np.sqrt((centred**2).sum(axis=1, keepdims=True) / n))
            sides.append(centred / scales[-1])
        a, b = sides
        r = (a * b).sum(axis=1, keepdims=True) / n
        direct = (a * b - r / 2 * (a**2 + b**2)) / n
        by_mean = (a - r * b) / (n * scales[1] * number)  # derivative of each correlation by the mean at each stimulus
    total, shifted = by_mean.sum(axis=0), (by_mean * others).sum(axis=0)
    if not itself:
        total, shifted = total - by_mean, shifted - by_mean * others
    through_means = np.where(used > 0, y * total - shifted, 0.0)
    return subject_influences(r[:, 0], direct + through_means, used)


def _shares(counted: ArrayLike) -> Floats:
    number = np.asarray(counted, dtype=np.float64)
    total = number.sum(axis=-1, keepdims=True)
    shares: Floats = np.divide(number, total, out=np.zeros(number.shape), where=total > 0)
    return shares


# Compute how centered kernel alignment moves with stimuli, with neuroids of the second side, and with both.
#
# With the (U-)centred Gram matrix K~ of a side, its product with the second side is a sum over responses, ``z_ij = y_ij
# (K~ y_j)_i``. The length of the second side is its product with itself, where each term holds two neuroids.


_TAKEN = 0.75  # share of a neuroid's weight that is removed
_PAIRED = 256  # stimuli, evenly spread, whose pairs estimate the joint effect of two
_STANDING = 512  # neuroids that represent all where neuroids outnumber stimuli


def cka_influences(first: ArrayLike, second: ArrayLike, *, unbiased: bool = True) -> tuple[float, Influences | None]:
    """Compute centered kernel alignment, and how it moves with stimuli and with neuroids of the second side.

    Stimuli are left out one at a time; the joint effect of two counts once (`counted_once`). For neuroids see
    `weighted_neuroids`; up to 512, evenly spread, represent all if neuroids outnumber stimuli.

    Influences are None for fewer than five stimuli (biased: three), or if alignment is undefined without some stimulus.
    """
    one, two = paired_sides(first, second)
    pairs = [GramPair.of(*sides) for sides in ((one, two), (one, one), (two, two))]
    xy, xx, yy = (pair.hsic(unbiased=unbiased) for pair in pairs)
    if not (xx > 0 and yy > 0):
        return float("nan"), None
    value, n, q = float(np.clip(xy / np.sqrt(xx) / np.sqrt(yy), -1.0, 1.0)), one.n, np.asarray(second).shape[1]
    if n < (5 if unbiased else 3):
        return value, None
    representatives = spread_neuroids(q) if two.is_gram else None
    columns = two.matrix if representatives is None else centre_columns(np.asarray(second)[:, representatives])
    if two.is_gram:
        applied = [side.apply(columns) for side in (one, two)]
    else:
        applied = [pairs[0].cross if one.is_gram else one.matrix @ pairs[0].cross, two.matrix @ pairs[2].cross]
    rows = [None if two.is_gram else np.einsum("ij,ij->i", term, columns) for term in applied]
    stimuli = _stimuli_on_alignment(pairs, (rows[0], None, rows[1]), unbiased=unbiased)
    if stimuli is None:
        return value, None
    scale = n * (n - 3) if unbiased else 1.0
    sizes = xy * scale, xx * scale, yy * scale
    if unbiased:
        applied = [side.apply_unbiased(columns, term) for side, term in zip((one, two), applied, strict=True)]
    product, length = (columns * term for term in applied)
    parts = product.sum(axis=0), length.sum(axis=0), column_hsic(columns, columns, unbiased=unbiased)
    cells = 2.0 * (product / np.sqrt(sizes[1]) / np.sqrt(sizes[2]) - value * length / sizes[2])
    together = joint_effect(one, two, value, sizes[1:], unbiased=unbiased)
    return value, Influences(
        stimuli=counted_once(stimuli, together),
        neuroids=weighted_neuroids(*parts, sizes=sizes, n_neuroids=q),
        cells=np.sqrt(q / columns.shape[1]) * counted_once(cells, together),
        chosen=representatives,
    )


def spread_neuroids(number: int) -> Indices:
    """Return the positions of up to 512 evenly spread neuroids."""
    return np.unique(np.linspace(0, number - 1, min(number, _STANDING)).astype(np.intp))


def weighted_neuroids(
    product: Floats, length: Floats, alone: Floats, *, sizes: tuple[float, float, float], n_neuroids: int
) -> Floats:
    """Compute how alignment moves with each neuroid of the second side, by removing three quarters of its weight.

    Alignment is far from linear in dominant neuroids. In simulations (``perf/coverage.py``) these intervals cover the
    mean in 94 to 97 %, from leaving neuroids out in 88 to 97 %, from the derivative in 90 to 100 %.

    Neuroids contribute `product` to the sides' product, `length` to the second side's length, and have the length
    `alone` by themselves. `sizes` are the product and both lengths. Squares of the result sum to the variance over new
    neuroids; it is 0 for a single one of `n_neuroids`, NaN where no length remains.
    """
    if n_neuroids < 2:
        return np.zeros(n_neuroids)
    rest = 1 - 2 * _TAKEN * length / sizes[2] + _TAKEN**2 * alone / sizes[2]
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = (sizes[0] - _TAKEN * product) / np.sqrt(sizes[1]) / np.sqrt(sizes[2]) / np.sqrt(rest)
    factor = (n_neuroids - _TAKEN) / _TAKEN / np.sqrt((n_neuroids - 1) * len(moved))
    scaled: Floats = factor * (moved.mean() - moved)
    return scaled


def _stimuli_on_alignment(
    pairs: list[GramPair], rows: tuple[Floats | None, Floats | None, Floats | None], *, unbiased: bool
) -> Floats | None:
    everyone = np.arange(pairs[0].one.n)
    both = zip(pairs, rows, strict=True)
    xy, xx, yy = (pair.leave_one_out(everyone, unbiased=unbiased, rows=row) for pair, row in both)
    if not ((xx > 0) & (yy > 0)).all():
        return None
    return left_out_influences(xy / np.sqrt(xx) / np.sqrt(yy))


def joint_effect(
    one: GramSide,
    two: GramSide,
    value: float,
    lengths: tuple[float, ...],
    *,
    unbiased: bool,
    sides: Sequence[Sequence[tuple[GramSide, GramSide]]] = (),
) -> float:
    """Estimate the sum of squares, over pairs of stimuli, of their joint effect on alignment.

    The mean product of `sides` is each of the `lengths`; none: each side with itself.
    """
    n = one.n
    rows = evenly(one.norms * two.norms, _PAIRED)
    m = len(rows)

    @cache
    def gram(side: GramSide) -> Floats:
        within = side.matrix[np.ix_(rows, rows)] if side.is_gram else side.matrix[rows] @ side.matrix[rows].T
        if unbiased:
            norms = side.norms / (n - 2)
            within += norms[rows] + norms[rows][:, None] - side.norms.sum() / ((n - 1) * (n - 2))
        return within

    moved = 2 * gram(one) * gram(two) / (np.sqrt(lengths[0]) * np.sqrt(lengths[1]))
    for pairs, length in zip(sides or ([(one, one)], [(two, two)]), lengths, strict=True):
        moved -= value / length * np.mean([gram(a) * gram(b) for a, b in pairs], axis=0)
    return effect_of_pairs(moved) * (n * (n - 1)) / (m * (m - 1))


# Compute how a rank correlation of dissimilarities moves with stimuli and with the neuroids behind them.
#
# With u and v, the ranks of both sides as shares around 0, their mean product A moves with the weight of pair k by
#
# ``u_k v_k + mean_l [x_k <= x_l] v_l + mean_l [y_k <= y_l] u_l - 3 A``
#
# (Croux & Dehon 2010, doi:10.1007/s10260-010-0142-z, section 2, plus effects on other ranks), and with dissimilarity
# y_k by ``g(y_k) (u_k - u(y_k)) / N``: the density of dissimilarities times the distance of u from that of pairs with
# similar y, estimated from neighbours in the order. A dissimilarity ``1 - r`` moves with the weight of neuroid j by
# ``-(z_i z_i'
# - r (z_i^2 + z_i'^2) / 2)`` (Devlin et al. 1975, doi:10.1093/biomet/62.3.531).
#
# Up to 64 neuroids are left out one at a time instead, on up to 128 stimuli: with derivatives, intervals for four
# neuroids cover the mean in 83 % instead of 95.


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
    influences = _on_ranks(rankings, u, v, y, responses, random_ties=random_ties)
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
    stimuli, together, _ = _stimuli_on_ranks(rankings, u, v, n, random_ties=False)
    return value, counted_once(stimuli, together)


def _as_shares(*ranks: Floats) -> Iterator[Floats]:
    return (side / len(side) - (len(side) + 1) / (2 * len(side)) for side in ranks)


def _stimuli_on_ranks(
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


def _on_ranks(
    rankings: list[Ranking], u: Floats, v: Floats, y: Floats, responses: ArrayLike, *, random_ties: bool
) -> Influences:
    patterns = np.array(responses, dtype=np.float64)
    n, q = patterns.shape
    stimuli, together, scale = _stimuli_on_ranks(rankings, u, v, n, random_ties=random_ties)
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
