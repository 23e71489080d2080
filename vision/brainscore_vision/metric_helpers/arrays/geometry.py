"""Compute representational dissimilarities and compare them.

References
----------
Kriegeskorte, Mur & Bandettini (2008), Representational similarity analysis, doi:10.3389/neuro.06.004.2008.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brainscore_vision.metric_helpers.arrays.correlation import constant_columns, spearman

__all__ = ["correlation_distances", "rdm_similarity", "upper_triangle"]

Floats = NDArray[np.float64]


def correlation_distances(responses: ArrayLike) -> Floats:
    """Compute one minus the Pearson correlation of the response patterns of each pair of stimuli.

    Parameters
    ----------
    responses : array-like, shape (n_stimuli, n_neuroids)

    Returns
    -------
    ndarray, shape (n_stimuli, n_stimuli)
        Symmetric, in [0, 2], zero on the diagonal; NaN in the rows and columns of stimuli whose pattern is constant.
        Unchanged by adding a constant to a pattern or multiplying it with a positive number.

    Examples
    --------
    >>> correlation_distances([[1., 2., 3.], [2., 4., 6.], [3., 2., 1.]]).round(12)
    array([[0., 0., 2.],
           [0., 0., 2.],
           [2., 2., 0.]])
    """
    patterns = np.array(responses, dtype=np.float64)
    undefined = constant_columns(patterns.T)
    patterns -= patterns.mean(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):  # constant patterns are set to NaN below
        patterns /= np.sqrt(np.einsum("ij,ij->i", patterns, patterns))[:, None]
        distances: Floats = patterns @ patterns.T
    np.subtract(1.0, distances, out=distances)
    np.clip(distances, 0.0, 2.0, out=distances)
    np.fill_diagonal(distances, 0.0)
    distances[undefined] = np.nan
    distances[:, undefined] = np.nan
    return distances


def upper_triangle(square: ArrayLike) -> Floats:
    """List the entries above the diagonal row by row; shape (n, n) to shape (n (n - 1) / 2,)."""
    array = np.asarray(square, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(f"Expected a square matrix of dissimilarities, got shape {array.shape}.")
    above = ~np.tri(len(array), dtype=bool)
    values: Floats = array[above]
    return values


def rdm_similarity(first: ArrayLike, second: ArrayLike) -> float:
    """Compute the Spearman correlation of two dissimilarity matrices above the diagonal.

    Parameters
    ----------
    first, second : array-like, shape (n_stimuli, n_stimuli)
        Symmetric, over the same stimuli in the same order.

    Returns
    -------
    float
        In [-1, 1]; NaN with fewer than three stimuli or constant dissimilarities.
    """
    x, y = upper_triangle(first), upper_triangle(second)
    if x.shape != y.shape:
        raise ValueError(f"Dissimilarities of {len(np.asarray(first))} and {len(np.asarray(second))} stimuli differ.")
    return spearman(x, y)
