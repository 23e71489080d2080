"""Rescale numbers of extreme size, so that their squares neither overflow nor vanish.

Dividing by a power of two changes no digits; ordinary responses are not rescaled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import Floats, NDArray

__all__ = ["ORDINARY", "extreme_exponent", "ordinary", "ordinary_columns"]

ORDINARY = 64
"""Numbers between ``2**-64`` and ``2**64`` (1.8e19) are ordinary: their eighth powers are finite."""


def extreme_exponent(*values: NDArray[Any]) -> int:
    """Return the exponent of the largest number in the arrays, ``2**(e - 1) <= largest < 2**e``; 0 if it is ordinary.

    NaN does not count; infinite arrays and arrays of zeros are ordinary.
    """
    largest = 0.0
    for array in values:
        if array.size:
            ends = float(array.max()), float(array.min())
            if np.isnan(ends).any():
                ends = float(np.fmax.reduce(array, axis=None)), float(np.fmin.reduce(array, axis=None))
            largest = max(largest, *(abs(end) for end in ends if not np.isnan(end)), 0.0)
    exponent = int(np.frexp(largest)[1]) if np.isfinite(largest) else 0
    return exponent if abs(exponent) > ORDINARY else 0


def ordinary(*values: NDArray[Any]) -> list[NDArray[Any]]:
    """Divide arrays of one unit by a power of two, so that their largest number lies between .5 and 1.

    Examples
    --------
    >>> ordinary(np.array([3e200, 6e200]))[0] * [1, 0.5]
    array([0.48990757, 0.48990757])
    """
    exponent = extreme_exponent(*values)
    return [np.ldexp(array.astype(np.float64), -exponent) for array in values] if exponent else list(values)


def ordinary_columns(values: Floats) -> Floats:
    """Divide each finite column by its own power of two, so that its largest number lies between .5 and 1."""
    scaled: Floats = np.ldexp(values, -np.frexp(np.abs(values).max(axis=0))[1])
    return scaled
