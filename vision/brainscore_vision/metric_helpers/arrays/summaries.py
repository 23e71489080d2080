"""Summarise values that may be NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats

__all__ = ["mean_known", "median_known"]


def mean_known(values: ArrayLike, axis: int | None = None) -> Floats:
    """Average the values that are not NaN, along an axis or over all; NaN if there are none."""
    array = np.asarray(values, dtype=np.float64)
    defined = ~np.isnan(array)
    total, number = np.where(defined, array, 0.0).sum(axis=axis), defined.sum(axis=axis)
    means: Floats = np.divide(total, number, out=np.full(np.shape(total), np.nan), where=number > 0)
    return means


def median_known(values: Floats) -> Floats:
    """Take the median of the values that are not NaN over the last axis; NaN if there are none."""
    rows = (row[~np.isnan(row)] for row in values.reshape(-1, values.shape[-1]))
    medians = [np.median(row) if len(row) else np.nan for row in rows]
    return np.array(medians).reshape(values.shape[:-1])
