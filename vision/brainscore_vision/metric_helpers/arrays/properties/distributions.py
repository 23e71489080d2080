"""Compare distributions of a neuronal property between two groups of neurons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats

__all__ = ["bin_shares", "drawn_histograms", "ks_similarity"]


def ks_similarity(p: ArrayLike, q: ArrayLike) -> Floats:
    """Compute one minus the Kolmogorov-Smirnov distance of histograms, relative to the largest possible distance.

    ``1 - max |P - Q| / max(1 - Q_1, Q_(n-1))`` with cumulative shares P and Q (Marques et al. 2021,
    doi:10.1101/2021.03.01.433495): the denominator is the distance of `q` from all mass in the first or last bin. In
    [0, 1]; NaN if one is NaN or there is only one bin.

    Examples
    --------
    >>> float(ks_similarity([1.0, 0.0], [0.5, 0.5]))
    0.0
    """
    first = np.asarray(p, dtype=np.float64)
    second = np.asarray(q, dtype=np.float64)
    if first.shape[-1:] != second.shape[-1:]:
        raise ValueError(f"Histograms need the same bins, got {first.shape[-1:]} and {second.shape[-1:]} of them.")
    # Both end at 1 up to rounding.
    cumulative = np.cumsum(second, axis=-1)[..., :-1]
    distance = np.abs(np.cumsum(first, axis=-1)[..., :-1] - cumulative).max(axis=-1, initial=0.0)
    largest = np.maximum(1.0 - cumulative, cumulative).max(axis=-1, initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        similarity: Floats = 1.0 - distance / largest
    return similarity


def bin_shares(values: ArrayLike, bins: ArrayLike) -> tuple[Floats, float]:
    """Compute the shares of values in bins, and of undefined values (NaN).

    All shares add up to 1; they are NaN without values. Values beyond the first or last edge count in the outermost
    bins. A value on an edge counts to its right, except on the last.
    """
    array = np.asarray(values, dtype=np.float64)
    edges = np.asarray(bins, dtype=np.float64)
    defined = array[~np.isnan(array)]
    if not len(array):
        return np.full(len(edges) - 1, np.nan), float("nan")
    counts = np.histogram(np.clip(defined, edges[0], edges[-1]), bins=edges)[0]
    return counts / len(array), 1.0 - len(defined) / len(array)


def drawn_histograms(
    values: ArrayLike, bins: ArrayLike, n_drawn: int, n_draws: int, rng: np.random.Generator
) -> Floats:
    """Compute histograms of draws of values with replacement, by multinomial counts, in the bins of `bin_shares`.

    Undefined values are drawn too, but do not count in shares, shape (n_draws, n_bins); NaN for draws of these only.
    """
    shares, undefined = bin_shares(values, bins)
    if np.isnan(undefined):
        return np.full((n_draws, len(shares)), np.nan)
    parts = np.append(shares, undefined)
    counts = rng.multinomial(n_drawn, parts / parts.sum(), size=n_draws)[:, :-1].astype(np.float64)
    defined = counts.sum(axis=1, keepdims=True)
    histograms: Floats = np.divide(counts, defined, out=np.full_like(counts, np.nan), where=defined > 0)
    return histograms
