"""Resize arrays along two axes, by weights that say how much of each old place is in each new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = ["area_weights", "linear_weights", "resize"]

Weights = npt.NDArray[np.float64]


def area_weights(n_old: int, n_new: int) -> Weights:
    """Return weights (new, old) that average over the area of each new place; rows sum to 1.

    w_ij is the part of the interval from i r to (i + 1) r, r = n_old / n_new, that lies between j and j + 1.
    """
    edges = np.arange(n_new + 1) * (n_old / n_new)
    old = np.arange(n_old)
    shared = np.minimum(edges[1:, np.newaxis], old + 1) - np.maximum(edges[:-1, np.newaxis], old)
    shared = np.maximum(shared, 0)
    weights: Weights = shared / shared.sum(axis=1, keepdims=True)
    return weights


def linear_weights(n_old: int, n_new: int) -> Weights:
    """Return weights (new, old) that interpolate linearly between the centres of places; rows sum to 1.

    The centre of place i lies at (i + 1/2) r - 1/2, r = n_old / n_new; outside, the border is repeated. Nothing is
    averaged, so that fine patterns alias when they get smaller.
    """
    centres = np.clip((np.arange(n_new) + 0.5) * (n_old / n_new) - 0.5, 0, n_old - 1)
    distances = np.abs(centres[:, np.newaxis] - np.arange(n_old))
    weights: Weights = np.maximum(1 - distances, 0)
    return weights


def resize(values: Array, rows: Weights, columns: Weights, axes: tuple[int, int]) -> npt.NDArray[np.float64]:
    """Apply weights along two axes, the rows and the columns of a picture or a layer.

    Parameters
    ----------
    values : array
        Of the old size along `axes`.
    rows, columns : array (new, old)
        Weights along the first and the second axis.
    """
    result = values.astype(np.float64)
    for axis, weights in zip(axes, (rows, columns), strict=True):
        result = np.moveaxis(np.tensordot(weights, result, axes=(1, axis)), 0, axis)
    return result
