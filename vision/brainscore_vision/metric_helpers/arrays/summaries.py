"""Summarise what is known of values that may be undefined (NaN)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import Floats

__all__ = ["median_known"]


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
