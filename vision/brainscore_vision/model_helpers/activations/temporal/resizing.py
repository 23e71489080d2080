"""Resize arrays along two axes, by weights of old positions for each new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = ["area_weights", "linear_weights", "resize"]

Weights = npt.NDArray[np.float64]


def area_weights(n_old: int, n_new: int) -> Weights:
    """Return weights (new, old) that average over the area of each new position; rows sum to 1.

    w_ij is the fraction of the interval from i r to (i + 1) r, r = n_old / n_new, between j and j + 1.
    """
    edges = np.arange(n_new + 1) * (n_old / n_new)
    old = np.arange(n_old)
    shared = np.minimum(edges[1:, np.newaxis], old + 1) - np.maximum(edges[:-1, np.newaxis], old)
    shared = np.maximum(shared, 0)
    weights: Weights = shared / shared.sum(axis=1, keepdims=True)
    return weights


def linear_weights(n_old: int, n_new: int) -> Weights:
    """Return weights (new, old) that interpolate linearly between centres; rows sum to 1.

    The centre of position i is (i + 1/2) r - 1/2, r = n_old / n_new; the border is repeated. Shrinking aliases fine
    patterns.
    """
    centres = np.clip((np.arange(n_new) + 0.5) * (n_old / n_new) - 0.5, 0, n_old - 1)
    distances = np.abs(centres[:, np.newaxis] - np.arange(n_old))
    weights: Weights = np.maximum(1 - distances, 0)
    return weights


def resize(values: Array, rows: Weights, columns: Weights, axes: tuple[int, int]) -> npt.NDArray[np.float64]:
    """Apply weights (new, old) along rows and columns of a picture or layer."""
    result = values.astype(np.float64)
    for axis, weights in zip(axes, (rows, columns), strict=True):
        result = np.moveaxis(np.tensordot(weights, result, axes=(1, axis)), 0, axis)
    return result
