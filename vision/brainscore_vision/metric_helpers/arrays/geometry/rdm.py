"""Compute representational dissimilarities and compare them.

References
----------
Kriegeskorte et al. (2008), doi:10.3389/neuro.06.004.2008. Nili et al. (2014),
doi:10.1371/journal.pcbi.1003553. Schuett et al. (2023), doi:10.7554/eLife.82566 (rho-a).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from brainscore_vision.metric_helpers.arrays.correlation import ROUNDING, Ranking

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats

__all__ = [
    "TIE",
    "correlate_ranks",
    "correlation_distances",
    "rdm_similarity",
    "rdm_similarity_draws",
    "rsa_bounds",
    "rsa_references",
    "squared_distances",
    "upper_triangle",
]

# Equal dissimilarities, of binary features for instance, come out about 1e-16 apart, depending on the order and the
# scale of neuroids.
TIE = 1e-12
_BLOCK_BYTES = 64 * 2**20


def correlation_distances(responses: ArrayLike) -> Floats:
    """Compute one minus the Pearson correlation of the response patterns of each pair of stimuli.

    Returns
    -------
    ndarray, shape (n_stimuli, n_stimuli)
        In [0, 2]; NaN in rows and columns of constant patterns. Invariant to shifts and positive scaling of a pattern.

    Examples
    --------
    >>> correlation_distances([[1., 2., 3.], [2., 4., 6.], [3., 2., 1.]]).round(12)
    array([[0., 0., 2.],
           [0., 0., 2.],
           [2., 2., 0.]])
    """
    patterns = np.asarray(responses)
    n_stimuli, n_neuroids = patterns.shape

    def blocks(*, copied: bool) -> Iterator[Floats]:
        """Yield patterns in double precision, some neuroids at a time: a full copy may not fit into memory."""
        width = max(1, _BLOCK_BYTES // (8 * max(1, n_stimuli)))
        for start in range(0, n_neuroids, width):
            yield patterns[:, start : start + width].astype(np.float64, copy=copied)

    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (
            sum((block.sum(axis=1, keepdims=True) for block in blocks(copied=False)), np.zeros((n_stimuli, 1)))
            / n_neuroids
        )
        largest = np.zeros((n_stimuli, 1))
        for block in blocks(copied=False):
            ends = block.max(axis=1, keepdims=True) - mean, mean - block.min(axis=1, keepdims=True)
            np.maximum(largest, np.maximum(*ends), out=largest)
        distances: Floats = np.zeros((n_stimuli, n_stimuli))
        for block in blocks(copied=True):
            block -= mean
            block /= largest  # squares of very small responses would underflow
            distances += block @ block.T
        size = np.sqrt(np.diagonal(distances))
        distances /= size[:, None] * size
    undefined = (largest <= ROUNDING * np.abs(mean))[:, 0]
    np.subtract(1.0, distances, out=distances)
    np.clip(distances, 0.0, 2.0, out=distances)
    np.fill_diagonal(distances, 0.0)
    distances[undefined] = np.nan
    distances[:, undefined] = np.nan
    return distances


def squared_distances(responses: ArrayLike) -> Floats:
    """Compute the squared Euclidean distance of the response patterns of each pair of stimuli, per neuroid.

    ``d_ij = |x_i - x_j|^2 / n_neuroids``, invariant to rotations and shifts of the patterns.

    Examples
    --------
    >>> squared_distances([[0., 0.], [3., 1.]])
    array([[0., 5.],
           [5., 0.]])
    """
    patterns = np.asarray(responses, dtype=np.float64)
    # Centring changes no distance and saves the digits of small differences.
    patterns = patterns - patterns.mean(axis=0)
    products = patterns @ patterns.T
    norms = np.diagonal(products)
    distances: Floats = norms[:, None] + norms - 2.0 * products
    np.maximum(distances, 0.0, out=distances)
    np.fill_diagonal(distances, 0.0)
    distances /= patterns.shape[1]
    return distances


def upper_triangle(square: ArrayLike) -> Floats:
    """List the entries above the diagonal row by row; shape (n, n) to shape (n (n - 1) / 2,)."""
    array = np.asarray(square, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(f"Expected a square matrix of dissimilarities, got shape {array.shape}.")
    above = ~np.tri(len(array), dtype=bool)
    values: Floats = array[above]
    return values


def rdm_similarity(first: ArrayLike, second: ArrayLike, *, random_ties: bool = False) -> float:
    """Compute the Spearman correlation of two dissimilarity matrices above the diagonal.

    Dissimilarities that differ by less than 1e-12 of the largest are equal.

    Parameters
    ----------
    random_ties
        Compute rho-a instead: the mean correlation over all ways to break ties (Schuett et al. 2023). With N pairs and
        mean ranks R for equal dissimilarities, it is ``12 / (N^3 - N) sum_k (R(x_k) - mean) (R(y_k) - mean)``: the
        denominator is that without ties.

    Returns
    -------
    float
        In [-1, 1]; NaN with fewer than two pairs, constant dissimilarities (rho-a: 0) or NaN among those that count.
    """
    x, y = _two_triangles(first, second)
    if len(x) < 2 or np.isnan(x).any() or np.isnan(y).any():
        return float("nan")
    return correlate_ranks(_ranking(x).ranks(), _ranking(y).ranks(), random_ties=random_ties)


def correlate_ranks(x: Floats, y: Floats, *, random_ties: bool = False) -> float:
    """Correlate ranks, shape (n_pairs,); NaN if either are constant. `random_ties` divides as if none were equal."""
    if not random_ties:
        return _pearson(x, y)
    n = float(len(x))
    return float(np.clip(12.0 * ((x - x.mean()) @ (y - y.mean())) / (n**3 - n), -1.0, 1.0))


def rdm_similarity_draws(first: ArrayLike, second: ArrayLike, draws: ArrayLike) -> Floats:
    """Compare two dissimilarity matrices on several draws of stimuli.

    Each value equals ``rdm_similarity(first[np.ix_(draw, draw)], second[np.ix_(draw, draw)])`` without the pairs of
    copies of a stimulus, whose dissimilarity is zero by construction, but dissimilarities are sorted once and pairs
    weighted by the product of their stimuli's counts.
    """
    x, y = _two_triangles(first, second)
    n_stimuli = len(np.asarray(first))
    above = ~np.tri(n_stimuli, dtype=bool)
    finite = ~(np.isnan(x) | np.isnan(y))
    rankings = [_ranking(np.where(finite, values, 0.0)) for values in (x, y)]
    result = np.empty(len(draws))  # type: ignore[arg-type] # every sequence of draws has a length
    for index, draw in enumerate(draws):  # type: ignore[arg-type] # and can be iterated
        times = np.bincount(np.asarray(draw, dtype=np.intp), minlength=n_stimuli).astype(np.float64)
        counts = np.multiply.outer(times, times)[above]
        if (counts > 0).sum() < 2 or counts[~finite].any():
            result[index] = np.nan
            continue
        ranks = [ranking.weighted_ranks(counts) for ranking in rankings]
        result[index] = _pearson(ranks[0], ranks[1], counts)
    return result


def rsa_bounds(dissimilarities: ArrayLike, *, compat: bool = False) -> tuple[Floats, Floats]:
    """Correlate each subject's dissimilarities with the mean over all subjects, and over the others (Nili et al. 2014).

    The dissimilarities of at least two subjects, shape (n_subjects, n_pairs), hold no NaN. With `compat` they are
    averaged, as in published ceilings, rather than ranks: only the mean of ranks bounds every model's mean Spearman
    correlation. Both results, shape (n_subjects,), are NaN for subjects with constant dissimilarities.
    """
    values = np.asarray(dissimilarities, dtype=np.float64)
    if values.ndim != 2 or len(values) < 2:
        raise ValueError(f"Expected dissimilarities of at least two subjects, shape (n, pairs); got {values.shape}.")
    ranks = _ranks_of_each(values)
    upper, lower = (
        np.array([_pearson(row, _ranking(mean).ranks()) for row, mean in zip(ranks, means, strict=True)])
        for means in _references(values if compat else ranks)
    )
    return upper, lower


def rsa_references(dissimilarities: Floats, *, compat: bool = False) -> tuple[Floats, Floats]:
    """Return the means over all subjects and over the others of each, shape (n_subjects, n_pairs): see `rsa_bounds`."""
    return _references(dissimilarities if compat else _ranks_of_each(dissimilarities))


def _ranks_of_each(subjects: Floats) -> Floats:
    return np.stack([_ranking(row).ranks() for row in subjects])


def _references(averaged: Floats) -> tuple[Floats, Floats]:
    others = np.stack([np.delete(averaged, subject, axis=0).mean(axis=0) for subject in range(len(averaged))])
    return np.broadcast_to(averaged.mean(axis=0), averaged.shape), others


def _ranking(values: Floats) -> Ranking:
    return Ranking.of(values, tolerance=TIE)


def _two_triangles(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    x, y = upper_triangle(first), upper_triangle(second)
    if x.shape != y.shape:
        raise ValueError(
            f"The dissimilarities are of {len(np.asarray(first))} and {len(np.asarray(second))} stimuli; expected "
            "equal numbers."
        )
    return x, y


def _pearson(x: Floats, y: Floats, counts: Floats | None = None) -> float:
    if counts is None:
        x = x - x.mean()
        y = y - y.mean()
        products = (x @ y, x @ x, y @ y)
    else:
        total = counts.sum()
        x = x - (counts @ x) / total
        y = y - (counts @ y) / total
        weighted = counts * x
        products = (weighted @ y, weighted @ x, (counts * y) @ y)
    xy, xx, yy = (float(product) for product in products)
    if not (xx > 0 and yy > 0):
        return float("nan")
    return float(np.clip(xy / np.sqrt(xx) / np.sqrt(yy), -1.0, 1.0))
