"""Lift regressions and correlations on arrays to assemblies, with or without several time bins."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.correlation import hold_constants
from brainscore_vision.metric_helpers.labelled.alignment import (
    Coords,
    coordinate,
    coords_along,
    has_coordinate,
    matching_order,
    matrix,
    neuroid_order,
    squeeze_time_bin,
)
from brainscore_vision.metric_helpers.labelled.slices import PerOps, SpanTime
from brainscore_vision.metric_helpers.regression.estimators import SplitPredictor

if TYPE_CHECKING:
    import xarray as xr

    from brainscore_vision.metric_helpers.arrays.types import Floats, NDArray

__all__ = [
    "Correlation",
    "PerTimeRegression",
    "Regression",
    "SpanTimeRegression",
    "XarrayCorrelation",
    "XarrayRegression",
    "average_over_presentation",
    "with_bins_of",
]

Correlation = Callable[..., Score]  # ``correlation(prediction, target)``, such as `XarrayCorrelation`


class Regression(Protocol):
    """A regression on assemblies, such as `XarrayRegression`."""

    def fit(self, source: xr.DataArray, target: xr.DataArray) -> object:
        """Fit to two assemblies."""

    def predict(self, source: xr.DataArray) -> xr.DataArray:
        """Predict responses for the neuroids of `fit`."""


class XarrayRegression:
    """Fit a regression between assemblies and label its predictions.

    The regression has ``fit(x, y)`` and ``predict(x)``, as in scikit-learn. A `SplitPredictor` gets arrays, others
    assemblies, as in the published system, sorted by stimulus for `fit`. The first of the expected dimensions is that
    of stimuli.
    """

    def __init__(
        self,
        regression: Any,  # Any: fit and predict of arrays or of assemblies
        expected_dims: Sequence[str] = Defaults.expected_dims,
        neuroid_dim: str = Defaults.neuroid_dim,
        neuroid_coord: str = Defaults.neuroid_coord,
        stimulus_coord: str = Defaults.stimulus_coord,
    ) -> None:
        self._regression = regression  # published plugins read it
        self.expected_dims = tuple(expected_dims)
        self._neuroid_dim = neuroid_dim
        self._neuroid_coord = neuroid_coord
        self.stimulus_coord = stimulus_coord
        self._target_neuroid_values: Coords | None = None
        self._constants = np.empty(0)

    @property
    def estimator(self) -> Any:  # Any: see `regression`
        """The regression on arrays or assemblies."""
        return self._regression

    def fit(self, source: xr.DataArray, target: xr.DataArray) -> None:
        """Fit the regression."""
        source, target = squeeze_time_bin(source), squeeze_time_bin(target)
        x = self._checked(source, role="source")
        y = self._checked(target, role="target")
        source_ids = coordinate(source, self.stimulus_coord)
        target_ids = coordinate(target, self.stimulus_coord)
        # A fit does not depend on the order of presentations.
        order = np.argsort(target_ids.astype(str), kind="stable")
        rows = matching_order(target_ids[order], source_ids, what=self.stimulus_coord)
        self._regression.fit(x[rows], y[order])
        responses = np.asarray(y)
        self._constants = hold_constants(np.full((1, responses.shape[1]), np.nan), responses, order)[0]
        self._target_neuroid_values = coords_along(target, self._neuroid_dim)

    def predict(self, source: xr.DataArray) -> NeuroidAssembly:
        """Predict responses to the stimuli of `source`, dims (presentation, neuroid); RuntimeError before `fit`.

        Presentations have the coordinates of `source`, neuroids those of the target of `fit`.
        """
        if self._target_neuroid_values is None:
            raise RuntimeError("The regression has not been fitted yet: call fit(source, target) first.")
        source = squeeze_time_bin(source)
        values = np.asarray(self._regression.predict(self._checked(source, role="source")))
        values = values.reshape(len(values), -1)  # scikit-learn drops the axis of a single neuroid
        constant = np.flatnonzero(~np.isnan(self._constants))
        values[:, constant] = self._constants[constant]
        presentation = self.expected_dims[0]
        coords = {**coords_along(source, presentation), **self._target_neuroid_values}
        return NeuroidAssembly(values, coords=coords, dims=[presentation, self._neuroid_dim])

    def _checked(self, assembly: xr.DataArray, *, role: str) -> xr.DataArray | Floats:
        values = matrix(assembly, self.expected_dims, role=role)
        if not np.isfinite(values).all():
            raise AssemblyError(
                f"The {role} assembly has {int((~np.isfinite(values)).sum())} NaN or infinite values among "
                f"{values.size}. Drop those neuroids or stimuli before scoring."
            )
        return values if isinstance(self._regression, SplitPredictor) else assembly.transpose(*self.expected_dims)


class XarrayCorrelation:
    """Correlate two assemblies neuroid by neuroid, aligned by a coordinate of stimuli and a unique one of neuroids.

    Parameters
    ----------
    correlation
        ``correlation(x, y)`` of two arrays of shape (n_stimuli,) returns ``(r, p)``, as in scipy. Its attribute
        ``columns``, if any, is called instead: ``columns(x, y)`` takes arrays of shape (n_stimuli, n_neuroids) and
        returns r of shape (n_neuroids,).
    """

    def __init__(
        self,
        correlation: Callable[..., tuple[float, float]],
        correlation_coord: str = Defaults.stimulus_coord,
        neuroid_coord: str = Defaults.neuroid_coord,
    ) -> None:
        self.function = correlation
        self._correlation_coord = correlation_coord
        self._neuroid_coord = neuroid_coord

    def __call__(self, prediction: xr.DataArray, target: xr.DataArray) -> Score:
        """Correlate over stimuli, in any order; neuroids are sorted by their key, with the target's coordinates."""
        prediction, target = squeeze_time_bin(prediction), squeeze_time_bin(target)
        (stimulus_dim,) = target[self._correlation_coord].dims
        (neuroid_dim,) = target[self._neuroid_coord].dims
        dims = (str(stimulus_dim), str(neuroid_dim))
        x, y = matrix(prediction, dims, role="predicted"), matrix(target, dims, role="target")
        target_ids = coordinate(target, self._correlation_coord)
        order = np.argsort(target_ids.astype(str), kind="stable")
        rows = matching_order(target_ids[order], coordinate(prediction, self._correlation_coord))
        neuroids = neuroid_order(target, self._neuroid_coord)
        names = coordinate(target, self._neuroid_coord)[neuroids]
        columns = matching_order(names, coordinate(prediction, self._neuroid_coord), what=self._neuroid_coord)
        x, y = x[rows][:, columns], y[order][:, neuroids]
        together = getattr(self.function, "columns", None)
        if together is not None:
            r = together(y, x)
        else:
            r = np.array([self.function(y[:, i], x[:, i])[0] for i in range(y.shape[1])])
        coords = {name: (dim, values[neuroids]) for name, (dim, values) in coords_along(target, dims[1]).items()}
        return Score(r, coords=coords, dims=[dims[1]])


# Extend regressions on assemblies to several time bins: one common fit, or one for each.
#
# The regression, such as `XarrayRegression`, takes assemblies without time bins. Extended ones take dims (presentation,
# neuroid, time_bin), in any order, and predict dims (time_bin, presentation, neuroid).


Array = TypeVar("Array", bound="xr.DataArray")


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
                f"The {role} assembly has dimensions {tuple(assembly.dims)}, but the other one has several time bins. "
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
