"""Hold how much a comparison of geometries moves with stimuli, neuroids, and what both do together.

The variance that follows is that of sums clustered two ways, see `brainscore_core.statistics.influence`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices

__all__ = ["Influences", "counted_once"]


@dataclass(frozen=True)
class Influences:
    """How much a value moves with each stimulus, each neuroid of the second side, and each response.

    Attributes
    ----------
    stimuli : ndarray, shape (n_stimuli,)
        Scaled so that their squares sum to the variance over new stimuli.
    neuroids : ndarray, shape (n_neuroids,)
        Likewise over new neuroids; 0 for a single one.
    cells : ndarray, shape (n_stimuli, n_neuroids)
        What a stimulus and a neuroid do together, up to what only depends on one of them.
    chosen : ndarray of int, shape (n_neuroids,), or None
        Positions of the neuroids, where some stand for all; None: all.
    """

    stimuli: Floats
    neuroids: Floats
    cells: Floats
    chosen: Indices | None = None

    def __mul__(self, factor: float) -> Influences:
        """Return the influences on a multiple of the value."""
        return Influences(factor * self.stimuli, factor * self.neuroids, factor * self.cells, self.chosen)


def counted_once(influences: Floats, pairs: float) -> Floats:
    """Shrink influences whose squares hold twice what two stimuli do together, such as by the noise of both.

    Of a sum over pairs of stimuli, each pair is in the influences of two stimuli (Efron & Stein 1981, The jackknife
    estimate of variance, doi:10.1214/aos/1176345462, section 2).

    Parameters
    ----------
    influences : ndarray
    pairs : float
        Sum of squares, over pairs of stimuli, of what two of them do beyond either.

    Returns
    -------
    ndarray, shape of `influences`
        Squares sum to `pairs` less than before, but not to less than half.
    """
    total = float(np.vdot(influences, influences))
    return influences * np.sqrt(max(1 - pairs / total, 0.5)) if total > 0 else influences
