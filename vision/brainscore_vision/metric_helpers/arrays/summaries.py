"""Summarise what is known of values that may be undefined (NaN)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats

__all__ = ["mean_known", "median_known"]


def mean_known(values: ArrayLike, axis: int | None = None) -> Floats:
    """Average along an axis, or over all values, what is not NaN; NaN where nothing is known.

    Examples
    --------
    >>> mean_known([[1.0, np.nan], [3.0, np.nan]], axis=0)
    array([ 2., nan])
    """
    array = np.asarray(values, dtype=np.float64)
    known = ~np.isnan(array)
    total, number = np.where(known, array, 0.0).sum(axis=axis), known.sum(axis=axis)
    means: Floats = np.divide(total, number, out=np.full(np.shape(total), np.nan), where=number > 0)
    return means


def median_known(values: Floats) -> Floats:
    """Take the median over the last axis of what is not NaN; NaN where nothing is known.

    Examples
    --------
    >>> median_known(np.array([[3.0, np.nan, 1.0], [np.nan, np.nan, np.nan]]))
    array([ 2., nan])
    """
    known = (row[~np.isnan(row)] for row in values.reshape(-1, values.shape[-1]))
    medians = [np.median(row) if len(row) else np.nan for row in known]
    return np.array(medians).reshape(values.shape[:-1])
