"""Lift regressions and correlations on arrays to assemblies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

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
    matching_order,
    matrix,
    neuroid_order,
    squeeze_time_bin,
)
from brainscore_vision.metric_helpers.regression.estimators import SplitPredictor

if TYPE_CHECKING:
    import xarray as xr

    from brainscore_vision.metric_helpers.arrays.types import Floats

__all__ = ["Correlation", "Regression", "XarrayCorrelation", "XarrayRegression"]


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
