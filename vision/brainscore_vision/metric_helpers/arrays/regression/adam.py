"""Take optimisation steps sized by running means of gradients and of their squares.

References
----------
Kingma & Ba (2015), Adam: a method for stochastic optimization, arXiv:1412.6980, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import Floats, NDArray

__all__ = ["Adam"]

_MOMENTS = (0.9, 0.999)  # decay of the two running means
_EPSILON = 1e-8


class Adam:
    """State of an optimisation; the first axis of all parameters is that of problems solved side by side."""

    def __init__(self, parameters: Sequence[Floats]) -> None:
        self._means = [np.zeros_like(part) for part in parameters]
        self._squares = [np.zeros_like(part) for part in parameters]
        self._count = 0

    def step(self, parameters: Sequence[Floats], gradients: Sequence[Floats], rate: float) -> None:
        """Move the parameters, in place."""
        self._count += 1
        first, second = (1 - moment**self._count for moment in _MOMENTS)
        for value, gradient, mean, square in zip(parameters, gradients, self._means, self._squares, strict=True):
            mean *= _MOMENTS[0]
            mean += (1 - _MOMENTS[0]) * gradient
            square *= _MOMENTS[1]
            square += (1 - _MOMENTS[1]) * gradient**2
            value -= (rate / first) * mean / (np.sqrt(square / second) + _EPSILON)

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Continue with some of the problems."""
        self._means = [part[which] for part in self._means]
        self._squares = [part[which] for part in self._squares]
