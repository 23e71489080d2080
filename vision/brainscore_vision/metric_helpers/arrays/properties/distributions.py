"""Compare distributions of a neuronal property between two groups of neurons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats

__all__ = ["bin_shares", "drawn_histograms", "ks_similarity"]


def ks_similarity(p: ArrayLike, q: ArrayLike) -> Floats:
    """Compute one minus the Kolmogorov-Smirnov distance of histograms, as a part of the largest possible one.

    ``1 - max |P - Q| / max(1 - Q_1, Q_(n-1))`` with the cumulative shares P and Q: the denominator is the distance from
    `q` of all mass in the first or in the last bin.

    Parameters
    ----------
    p, q : array-like, shape (..., n_bins)
        Shares that add up to 1.

    Returns
    -------
    ndarray, shape (...)
        In [0, 1]; 1 for equal histograms. NaN if a histogram is NaN or there is only one bin.

    References
    ----------
    Marques, Schrimpf & DiCarlo (2021), doi:10.1101/2021.03.01.433495.

    Examples
    --------
    >>> float(ks_similarity([1.0, 0.0], [0.5, 0.5]))
    0.0
    """
    first = np.asarray(p, dtype=np.float64)
    second = np.asarray(q, dtype=np.float64)
    if first.shape[-1:] != second.shape[-1:]:
        raise ValueError(f"Histograms need the same bins, got {first.shape[-1:]} and {second.shape[-1:]} of them.")
    # Both end at 1; the last entry of the sums is only rounding.
    cumulative = np.cumsum(second, axis=-1)[..., :-1]
    distance = np.abs(np.cumsum(first, axis=-1)[..., :-1] - cumulative).max(axis=-1, initial=0.0)
    largest = np.maximum(1.0 - cumulative, cumulative).max(axis=-1, initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):  # a single bin leaves nothing to compare
        similarity: Floats = 1.0 - distance / largest
    return similarity


def bin_shares(values: ArrayLike, bins: ArrayLike) -> tuple[Floats, float]:
    """Compute the shares of values in bins, and of values that are undefined.

    Parameters
    ----------
    values : array-like, shape (n,)
        NaN where undefined. Values beyond the first or last edge count in the outermost bins.
    bins : array-like, shape (n_bins + 1,)
        Increasing edges; a value on an edge counts to the right of it, except on the last.

    Returns
    -------
    shares : ndarray, shape (n_bins,)
        Of all n values.
    undefined : float
        Share of NaN. All together add up to 1; all are NaN without values.
    """
    array = np.asarray(values, dtype=np.float64)
    edges = np.asarray(bins, dtype=np.float64)
    known = array[~np.isnan(array)]
    if not len(array):
        return np.full(len(edges) - 1, np.nan), float("nan")
    counts = np.histogram(np.clip(known, edges[0], edges[-1]), bins=edges)[0]
    return counts / len(array), 1.0 - len(known) / len(array)


def drawn_histograms(
    values: ArrayLike, bins: ArrayLike, n_drawn: int, n_draws: int, rng: np.random.Generator
) -> Floats:
    """Draw values with replacement, again and again, and compute the histogram of each draw.

    The counts of such a draw follow a multinomial distribution, from which they are drawn at once.

    Parameters
    ----------
    values, bins
        As for `bin_shares`. Undefined values are drawn too, and then do not count.
    n_drawn : int
        How many values a draw has.
    n_draws : int
        How many draws.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (n_draws, n_bins)
        Shares of the defined values of each draw; NaN for draws without any.
    """
    shares, undefined = bin_shares(values, bins)
    if np.isnan(undefined):
        return np.full((n_draws, len(shares)), np.nan)
    parts = np.append(shares, undefined)
    counts = rng.multinomial(n_drawn, parts / parts.sum(), size=n_draws)[:, :-1].astype(np.float64)
    defined = counts.sum(axis=1, keepdims=True)
    histograms: Floats = np.divide(counts, defined, out=np.full_like(counts, np.nan), where=defined > 0)
    return histograms
