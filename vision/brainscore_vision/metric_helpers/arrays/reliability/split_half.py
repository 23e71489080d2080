"""Compute the reliability of measurements from their repetitions.

References
----------
Spearman (1910), doi:10.1111/j.2044-8295.1910.tb00206.x. Brown (1910), doi:10.1111/j.2044-8295.1910.tb00207.x.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from brainscore_vision.metric_helpers.arrays.correlation import pearson_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, NDArray

__all__ = [
    "correlation_slopes",
    "distinct_halves",
    "half_means",
    "harmonic_counts",
    "random_halves",
    "spearman_brown",
    "split_half_correlations",
    "step_up",
]

_BLOCK_VALUES = 2**24
"""Sums of halves held at a time."""

_SMALL = 1e-8
"""Share of all squares below which the squares of a half are too inexact as a difference."""

_STEP = 1e-4
"""Change of a correlation for numerical slopes."""

_ROUNDING = 1e-20
"""Share of the squared mean below which squares may be rounding of a constant."""


def random_halves(rng: np.random.Generator, n_halves: int, n: int) -> NDArray[np.bool_]:
    """Draw half of n units, rounded down, several times; shape (n_halves, n), True for the first half."""
    halves: NDArray[np.bool_] = rng.random((n_halves, n)).argsort(axis=1).argsort(axis=1) < n // 2
    return halves


def distinct_halves(rng: np.random.Generator, n_halves: int, n: int) -> NDArray[np.bool_]:
    """Divide n units, at least 2, into two halves up to `n_halves` times; the first, True, is rounded down.

    With up to ten units no division occurs twice: all come in random order.

    Examples
    --------
    >>> len(distinct_halves(np.random.default_rng(0), 100, 4)), len(distinct_halves(np.random.default_rng(0), 3, 20))
    (3, 3)
    """
    if n > 10:
        return random_halves(rng, n_halves, n)
    divisions = [half for half in itertools.combinations(range(n), n // 2) if n % 2 or half[0] == 0]
    halves = np.zeros((len(divisions), n), dtype=bool)
    for half, members in zip(halves, divisions, strict=True):
        half[list(members)] = True
    return halves[rng.permutation(len(halves))[:n_halves]]


def spearman_brown(correlation: ArrayLike, factor: ArrayLike = 2.0) -> Floats:
    """Predict the reliability of a measurement that is `factor` times as long; 2 steps up from halves.

    ``reliability = factor r / (1 + (factor - 1) r)`` for correlations in (-1, 1]: at most 1, unbounded below.

    Examples
    --------
    >>> spearman_brown([0.5, 0.0])
    array([0.66666667, 0.        ])
    """
    r, times = (np.asarray(value, dtype=np.float64) for value in (correlation, factor))
    with np.errstate(divide="ignore", invalid="ignore"):  # r = -1 has the limit -inf
        stepped: Floats = times * r / (1.0 + (times - 1.0) * r)
    return stepped


def step_up(correlation: ArrayLike, first_size: ArrayLike, second_size: ArrayLike) -> Floats:
    """Predict the reliability of the mean of all repetitions from the correlation of the means over two unequal parts.

    With single-repetition reliability ``x``, parts of ``a`` and ``b`` repetitions correlate with ``r = sqrt(a b) x /
    sqrt((1 + (a - 1) x)(1 + (b - 1) x))``. This is solved for ``x``, then stepped up by Spearman-Brown with factor ``a
    + b``. For ``a = b`` it is ``2 r / (1 + r)``. Where sizes differ between stimuli, take their harmonic mean (see
    `harmonic_counts`).

    Examples
    --------
    >>> float(step_up(0.5, 3, 3).round(6)), float(step_up(0.5, 1, 2).round(6))
    (0.666667, 0.686141)
    """
    r, a, b = (np.asarray(value, dtype=np.float64) for value in (correlation, first_size, second_size))
    if np.array_equal(a, b, equal_nan=True):
        return spearman_brown(r)
    leading = a * b - r * r * (a - 1) * (b - 1)
    linear = np.abs(r) * (a + b - 2)
    root = np.sqrt(linear * linear + 4 * leading)
    single = np.abs(r) * (linear + np.copysign(root, r)) / (2 * leading)
    return spearman_brown(single, a + b)


def correlation_slopes(function: Callable[[Floats], Floats], correlation: Floats) -> Floats:
    """Differentiate a function of correlations numerically; at 1 and -1 the step is halved to stay within the range."""
    low, high = np.maximum(correlation - _STEP, -1), np.minimum(correlation + _STEP, 1)
    slopes: Floats = (function(high) - function(low)) / (high - low)
    return slopes


def split_half_correlations(responses: ArrayLike, halves: ArrayLike, present: ArrayLike | None = None) -> Floats:
    """Correlate, per neuroid, the mean over some repetitions with the mean over the others; NaN for constant responses.

    With the centred sums ``f`` of a half and ``t`` of all repetitions, ``r = (f.t - f.f) / sqrt(f.f (t.t - 2 f.t +
    f.f))``, of shape (n_splits, n_neuroids).

    Parameters
    ----------
    responses : array-like, shape (n_repetitions, n_stimuli, n_neuroids)
        Finite where present. Not copied if C-contiguous, float64 and complete.
    halves : array-like of bool, shape (n_splits, n_repetitions)
        True for the repetitions of the first half.
    present : array-like of bool, shape (n_repetitions, n_stimuli[, n_neuroids]), or None
        Whether a stimulus was shown in a repetition, and recorded from a neuroid. A stimulus missing from a half does
        not count in that split, for that neuroid.
    """
    values = np.asarray(responses, dtype=np.float64)
    first = np.asarray(halves, dtype=bool)
    if not len(first) or not values.shape[1]:
        return np.full((len(first), values.shape[2]), np.nan)
    if present is not None and not np.all(present):
        return _incomplete_halves(values, first, np.asarray(present, dtype=bool))
    total = values.sum(axis=0)
    total_centred = total - total.mean(axis=0)
    step = max(1, _BLOCK_VALUES // total.size)
    blocks = [_complete_halves(values, first[i : i + step], total, total_centred) for i in range(0, len(first), step)]
    return np.concatenate(blocks)


def half_means(
    responses: ArrayLike, halves: ArrayLike, present: ArrayLike | None = None
) -> Iterator[tuple[Floats, Floats]]:
    """Yield the means over both halves of every split that `split_half_correlations` correlates.

    They have the shape (n_stimuli, n_neuroids). Stimuli that do not count get the mean of the others.
    """
    values = np.asarray(responses, dtype=np.float64)
    if present is None or np.all(present):
        flat = values.reshape(len(values), -1)
        total, chosen = flat.sum(axis=0), np.asarray(halves, dtype=np.float64)
        step = max(1, _BLOCK_VALUES // max(1, total.size))
        for start in range(0, len(chosen), step):
            block = chosen[start : start + step]
            for n, sums in zip(block.sum(axis=1), block @ flat, strict=True):
                pair = sums / max(1, n), (total - sums) / max(1, len(flat) - n)
                yield pair[0].reshape(values.shape[1:]), pair[1].reshape(values.shape[1:])
        return
    recorded = np.asarray(present, dtype=bool)
    recorded = recorded if recorded.ndim == 3 else recorded[:, :, None]
    flat = np.where(recorded, values, 0.0).reshape(len(values), -1)
    for half in np.asarray(halves, dtype=bool):
        weights = np.stack([half, ~half]).astype(np.float64)
        counts = np.tensordot(weights, recorded, 1)
        both = np.logical_and(*(counts > 0))
        means = (weights @ flat).reshape(2, *values.shape[1:]) / np.maximum(counts, 1.0)
        first, second = (_where_known(both, mean) for mean in means)
        yield first, second


def _complete_halves(values: Floats, first: NDArray[np.bool_], total: Floats, total_centred: Floats) -> Floats:
    n_repetitions, n_stimuli, n_neuroids = values.shape
    sums = first.astype(np.float64) @ values.reshape(n_repetitions, -1)
    sums = sums.reshape(len(first), n_stimuli, n_neuroids)
    mean = sums.mean(axis=1, keepdims=True)
    sums -= mean
    ff = np.einsum("snq,snq->sq", sums, sums)
    ft = np.einsum("snq,nq->sq", sums, total_centred)
    tt = np.einsum("nq,nq->q", total_centred, total_centred)
    gg = tt - 2 * ft + ff
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        r = np.clip((ft - ff) / (np.sqrt(ff) * np.sqrt(gg)), -1.0, 1.0)
        # Differences lose digits where one half varies much less than the other, or than its mean.
        level = n_stimuli * (mean[:, 0] ** 2 + total.mean(axis=0) ** 2)
        least = np.maximum(_SMALL * (ff + tt), _ROUNDING * level)
        delicate = ~((ff > least) & (gg > least) & np.isfinite(r))
    for split in np.flatnonzero(delicate.any(axis=1)):
        columns = np.flatnonzero(delicate[split])
        part = values[:, :, columns]
        one, two = (np.tensordot(half.astype(np.float64), part, 1) for half in (first[split], ~first[split]))
        r[split, columns] = pearson_columns(one, two)
    return np.asarray(r, dtype=np.float64)


def _incomplete_halves(values: Floats, first: NDArray[np.bool_], recorded: NDArray[np.bool_]) -> Floats:
    n_repetitions, n_stimuli, n_neuroids = values.shape
    flat = np.where(recorded if recorded.ndim == 3 else recorded[:, :, None], values, 0.0).reshape(n_repetitions, -1)
    result = np.empty((len(first), n_neuroids))
    for row, half in zip(result, first, strict=True):
        weights = np.stack([half, ~half]).astype(np.float64)
        counts = np.tensordot(weights, recorded, 1)
        both = np.logical_and(*(counts > 0))
        sums = (weights @ flat).reshape(2, n_stimuli, n_neuroids)
        if recorded.ndim == 2:
            row[:] = pearson_columns(*(sums[:, both] / counts[:, both, None]))
        else:
            means = sums / np.maximum(counts, 1.0)
            row[:] = pearson_columns(*(_where_known(both, mean) for mean in means))
    return result


def _where_known(defined: NDArray[np.bool_], values: Floats) -> Floats:
    if defined.all():
        return values
    mean = (values * defined).sum(axis=0) / np.maximum(defined.sum(axis=0), 1)
    filled: Floats = np.where(defined, values, mean)
    return filled


def harmonic_counts(halves: ArrayLike, present: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return harmonic mean numbers of repetitions in the first halves, in the second halves, and in total.

    Means over ``n_i`` repetitions of stimulus i are as noisy as means over the harmonic mean of ``n_i``. Those of
    halves are over the stimuli in both (NaN if there is none), that in total over all stimuli that were shown, and
    recorded from the neuroid. Parameters are those of `split_half_correlations`.
    """
    recorded = np.asarray(present, dtype=bool)
    recorded = recorded if recorded.ndim == 3 else recorded[:, :, None]
    together = recorded.sum(axis=0)
    sizes = []
    for half in np.asarray(halves, dtype=bool):
        counts = np.tensordot(half.astype(np.float64), recorded, 1)
        counts = np.stack([counts, together - counts])
        sizes.append(_harmonic_means(counts, np.logical_and(*(counts > 0))))
    first, second = np.moveaxis(np.array(sizes), 1, 0)
    return first, second, _harmonic_means(together, together > 0)


def _harmonic_means(counts: Floats, counted: NDArray[np.bool_]) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        means: Floats = counted.sum(axis=-2) / np.where(counted, 1 / counts, 0.0).sum(axis=-2)
    return means
