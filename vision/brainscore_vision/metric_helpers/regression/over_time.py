"""Extend regressions on assemblies to several time bins: one common fit, or one for each.

The regression, such as `XarrayRegression`, takes assemblies without time bins. Extended ones take dims (presentation,
neuroid, time_bin), in any order, and predict dims (time_bin, presentation, neuroid).
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_vision.metric_helpers.labelled.alignment import (
    Coords,
    coordinate,
    coords_along,
    has_coordinate,
    matching_order,
)
from brainscore_vision.metric_helpers.labelled.slices import PerOps, SpanTime

if TYPE_CHECKING:
    import xarray as xr

    from brainscore_core.metrics import Score
    from brainscore_vision.metric_helpers.arrays.types import NDArray
    from brainscore_vision.metric_helpers.regression.on_assemblies import Regression

Array = TypeVar("Array", bound="xr.DataArray")

__all__ = ["PerTimeRegression", "SpanTimeRegression", "average_over_presentation", "with_bins_of"]


def average_over_presentation(score: Score) -> Score:
    """Take the mean over `presentation`; ``attrs['raw']`` of the result is the original score."""
    average: Score = score.mean("presentation")
    average.attrs["raw"] = score
    return average


class SpanTimeRegression:
    """Fit one regression to all time bins together: a presentation in a bin is one more stimulus.

    ``predict`` of the regression keeps the order of presentations.
    """

    def __init__(self, regression: Regression) -> None:
        self.regression = regression

    def fit(self, source: xr.DataArray, target: xr.DataArray) -> None:
        """Fit to assemblies with the same time bins."""
        SpanTime(self.regression.fit)(with_bins_of(source, target), target)

    def predict(self, source: xr.DataArray) -> xr.DataArray:
        """Predict every time bin, in the order of `source`."""
        stacked: xr.DataArray = SpanTime(self.regression.predict)(source)
        dims = [*(str(dim) for dim in stacked.dims if dim != "presentation")]
        values = stacked.transpose("presentation", *dims).values
        shape = (source.sizes["time_bin"], source.sizes["presentation"])
        coords: Coords = {}
        for dim in ("time_bin", "presentation"):
            coords.update(coords_along(source, dim))
        for dim in dims:
            coords.update(coords_along(stacked, dim))
        return type(stacked)(
            values.reshape(*shape, *values.shape[1:]), coords=coords, dims=["time_bin", "presentation", *dims]
        )


class PerTimeRegression:
    """Fit a copy of a regression to every time bin."""

    def __init__(self, regression: Regression) -> None:
        self.regression = regression
        self._fitted: list[Regression] = []
        self._bins: NDArray[Any] = np.array([])

    def fit(self, source: xr.DataArray, target: xr.DataArray) -> None:
        """Fit to assemblies with the same time bins."""
        source = with_bins_of(source, target)
        fitted = []
        for index in range(target.sizes["time_bin"]):
            regression = copy.deepcopy(self.regression)
            regression.fit(source.isel(time_bin=index), target.isel(time_bin=index))
            fitted.append(regression)
        self._fitted, self._bins = fitted, _bins(target)

    def predict(self, source: xr.DataArray) -> xr.DataArray:
        """Predict every time bin by its own regression, in the order of the target of `fit`.

        Before `fit`, this raises RuntimeError.
        """
        if not self._fitted:
            raise RuntimeError("The regression has not been fitted yet: call fit(source, target) first.")
        source = source.isel(time_bin=matching_order(self._bins, _bins(source), what="time_bin"))
        regressions = iter(self._fitted)
        predicted: xr.DataArray = PerOps(lambda part: next(regressions).predict(part), dims=["time_bin"])(source)
        return predicted


def with_bins_of(source: Array, target: xr.DataArray) -> Array:
    """Return the source with its time bins, which must be the same, in the target's order."""
    for role, assembly in (("source", source), ("target", target)):
        if "time_bin" not in assembly.dims:
            raise AssemblyError(
                f"The {role} assembly has dimensions {tuple(assembly.dims)} and the other one several time bins. "
                "Record both in the same time bins: candidate.start_recording(region, time_bins=[(start, end), ...])."
            )
    order = matching_order(_bins(target), _bins(source), what="time_bin")
    return source if np.array_equal(order, np.arange(len(order))) else source.isel(time_bin=order)


def _bins(assembly: xr.DataArray) -> NDArray[Any]:
    edges = [name for name in ("time_bin_start", "time_bin_end") if has_coordinate(assembly, name)]
    if not edges:
        return np.arange(assembly.sizes["time_bin"])
    values = [coordinate(assembly, name).astype(float) for name in edges]
    return np.array([" to ".join(f"{edge:g}" for edge in bin_edges) for bin_edges in zip(*values, strict=True)])
