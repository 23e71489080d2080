"""Hold how a comparison of geometries moves with stimuli, neuroids, and both.

For the variance see `brainscore_core.statistics.influence`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices

__all__ = ["Influences", "counted_once", "effect_of_pairs"]


@dataclass(frozen=True)
class Influences:
    """How much a value moves with each stimulus, each neuroid of the second side, and each response.

    Attributes
    ----------
    stimuli, neuroids : ndarray, shapes (n_stimuli,) and (n_neuroids,)
        Squares sum to the variance over new stimuli, or neuroids; 0 for a single neuroid.
    cells : ndarray, shape (n_stimuli, n_neuroids)
        Joint effect of a stimulus and a neuroid, up to terms that depend on one of them.
    chosen : ndarray of int, shape (n_neuroids,), or None
        Positions of these neuroids among all; None: all.
    """

    stimuli: Floats
    neuroids: Floats
    cells: Floats
    chosen: Indices | None = None

    def __mul__(self, factor: float) -> Influences:
        return Influences(factor * self.stimuli, factor * self.neuroids, factor * self.cells, self.chosen)


def effect_of_pairs(moved: Floats) -> float:
    """Sum the squared joint effects of two stimuli, for `counted_once`.

    `moved`, shape (n_stimuli, n_stimuli), is how much a value moves with each pair; effects of single stimuli are
    removed, and the matrix is overwritten.
    """
    n = len(moved)
    np.fill_diagonal(moved, 0.0)
    means = moved.sum(axis=0) / (n - 1)
    moved -= means
    moved -= means[:, None]
    moved += means.mean()
    np.fill_diagonal(moved, 0.0)
    return float(np.vdot(moved, moved)) / 2


def counted_once(influences: Floats, pairs: float) -> Floats:
    """Shrink influences whose squares hold the joint effect of two stimuli twice.

    In a sum over pairs of stimuli, each pair is in the influences of two (Efron & Stein 1981,
    doi:10.1214/aos/1176345462, section 2). The sum of squares is reduced, at most to half, by `pairs`: the summed
    squared joint effects.
    """
    total = float(np.vdot(influences, influences))
    return influences * np.sqrt(max(1 - pairs / total, 0.5)) if total > 0 else influences
