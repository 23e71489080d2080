"""Compare halves of the repetitions, and predict the reliability of the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
import xarray as xr

from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.reliability.split_half import spearman_brown
from brainscore_vision.metric_helpers.regression.on_assemblies import XarrayCorrelation

if TYPE_CHECKING:
    from brainscore_core.metrics import Score
    from brainscore_vision.metric_helpers.arrays.types import Floats

__all__ = ["PearsonCorrelation", "PearsonReliability", "SpearmanBrownCorrection"]

Values = TypeVar("Values", float, "Floats", "Score", xr.DataArray)


class SpearmanBrownCorrection:
    """Predict the reliability of a measurement `n` times as long: ``n r / (1 + (n - 1) r)``.

    Examples
    --------
    >>> SpearmanBrownCorrection()(0.5, n=2)
    0.6666666666666666
    """

    def __call__(self, correlations: Values, n: float) -> Values:
        """Correct a number, an array or an assembly of correlations; an assembly keeps its class and labels."""
        if isinstance(correlations, xr.DataArray):
            return correlations.copy(data=self.correct(correlations.values, n))
        return self.correct(correlations, n)

    def correct(self, correlation: Values, n: float) -> Values:
        """Correct a number or an array."""
        corrected = spearman_brown(correlation, n)
        return float(corrected) if np.ndim(corrected) == 0 else corrected


class PearsonCorrelation:
    """Correlate two halves neuroid by neuroid: a `consistency_metric` of `InternalConsistency`, its default."""

    def __init__(
        self,
        stimulus_coord: str = Defaults.stimulus_coord,
        neuroid_dim: str = Defaults.neuroid_dim,
        neuroid_coord: str = Defaults.neuroid_coord,
    ) -> None:
        from scipy.stats import pearsonr  # slow to import and rarely used

        self._correlation = XarrayCorrelation(pearsonr, correlation_coord=stimulus_coord, neuroid_coord=neuroid_coord)
        self._neuroid_dim = neuroid_dim

    def __call__(self, half1: xr.DataArray, half2: xr.DataArray) -> Score:
        """Correlate two assemblies per neuroid; not stepped up."""
        return self._correlation(half1, half2)

    def aggregate(self, scores: Score) -> Score:
        """Take the median over neuroids."""
        return scores.median(dim=self._neuroid_dim)


class PearsonReliability(PearsonCorrelation):
    """The reliability of both halves together: their correlation, stepped up to ``2 r / (1 + r)``.

    For use on its own: `InternalConsistency` already steps up the result of its `consistency_metric`.
    """

    def __call__(self, half1: xr.DataArray, half2: xr.DataArray) -> Score:
        """Estimate from two assemblies, dims (presentation, neuroid)."""
        return SpearmanBrownCorrection()(super().__call__(half1, half2), n=2)
