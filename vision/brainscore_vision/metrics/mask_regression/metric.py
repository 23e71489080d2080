"""Score how well responses are predicted by a spatial mask and feature weights of each neuroid.

Every neuroid has one mask ``m`` over the positions of a convolutional layer, one weight ``w`` for each channel, and an
offset,

    ``prediction_ij = sum_c w_jc sum_p m_jp x_icp + b_j``

fitted by Adam with penalties (see `metric_helpers.arrays.regression.mask`), and scored as `pls` is.

- Input: neuroids of the source have the coordinates `channel`, `channel_x` and `channel_y`, and fill their grid.
- Output: Score in [-1, 1], a correlation; ``raw`` has dims (split, neuroid).
- Invariances: order of source neuroids. None for scaling: initial masks, steps and penalties have their own scale.
- When: neuroids with localised receptive fields, as in V1 and V4, and large feature maps.

``compat=True`` has the published splits and 40 passes, with smaller steps from the 27th. From the same initial values,
which have no seed there, predictions agree to single precision (1e-5).

References
----------
Klindt et al. (2017), arXiv:1711.02653.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.regression.mask import MaskMap, MaskSettings, mask_fit, mask_predict_splits
from brainscore_vision.metric_helpers.labelled.alignment import (
    coordinate,
    coords_along,
    matching_order,
    squeeze_time_bin,
)
from brainscore_vision.metric_helpers.regression.estimators import PearsonR
from brainscore_vision.metric_helpers.regression.metrics import CrossRegressedCorrelation
from brainscore_vision.metric_helpers.regression.on_assemblies import XarrayCorrelation, XarrayRegression

if TYPE_CHECKING:
    from brainscore_core.metrics import Score
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices, Splits
    from brainscore_vision.metric_helpers.uncertainty.intervals import HeldOut

GRID_COORDS = ("channel", "channel_x", "channel_y")


@dataclass(frozen=True)
class FeatureGrid:
    """Where the features of a convolutional layer belong."""

    order: Indices  # (n_features,): `features[:, order]` runs over channels, then `channel_x`, then `channel_y`
    shape: tuple[int, int, int]  # numbers of channels and of positions

    @classmethod
    def of(cls, neuroids: Mapping[str, ArrayLike]) -> Self:
        """Read the grid from neuroid coordinates, name -> array of shape (n_features,)."""
        missing = [name for name in GRID_COORDS if name not in neuroids]
        if missing:
            raise AssemblyError(
                f"Masks need the neuroid coordinates {', '.join(GRID_COORDS)} of the source; it has "
                f"{', '.join(neuroids) or 'none'}. Use activations of a convolutional layer, all of them."
            )
        columns = [np.asarray(neuroids[name]) for name in GRID_COORDS]
        if any(np.issubdtype(column.dtype, np.floating) and np.isnan(column).any() for column in columns):
            raise AssemblyError(
                f"Some neuroids of the source have no position ({', '.join(GRID_COORDS)} are NaN), as those of fully "
                "connected layers. Use activations of a convolutional layer."
            )
        places = [np.unique(column, return_inverse=True) for column in columns]
        shape = (len(places[0][0]), len(places[1][0]), len(places[2][0]))
        place = np.ravel_multi_index([index for _, index in places], shape)
        order = np.argsort(place, kind="stable")
        size = int(np.prod(shape))
        if not np.array_equal(place[order], np.arange(size)):
            raise AssemblyError(
                f"The source has {len(place)} neuroids, {len(np.unique(place))} of them at different places of the "
                f"grid of {shape[0]} channels x {shape[1]} x {shape[2]} positions, which has {size}. Masks need each "
                "place once: use one layer, without selecting neuroids."
            )
        return cls(order=order, shape=shape)

    def arrange(self, features: ArrayLike) -> Floats:
        """Bring (n_stimuli, n_features) to (n_stimuli, n_channels, height, width)."""
        values = np.asarray(features, dtype=np.float64)
        if not np.array_equal(self.order, np.arange(len(self.order))):
            values = values[:, self.order]
        return values.reshape(-1, *self.shape)


class MaskRegression:
    """Masks and channel weights, with the fit and predict of scikit-learn; settings as for `MaskSettings`."""

    def __init__(self, **settings: Any) -> None:  # those of `MaskSettings`
        self.settings = MaskSettings(**settings)
        self._map: MaskMap | None = None

    def fit(self, X: DataAssembly, Y: DataAssembly) -> Self:  # noqa: N803 -- scikit-learn's names
        """Fit features, dims (presentation, neuroid) with the places of the neuroids, to responses of these dims."""
        self._map = mask_fit(FeatureGrid.of(_neuroids(X)).arrange(X.values), Y.values, self.settings)
        return self

    def predict(self, X: DataAssembly) -> Floats:  # noqa: N803 -- scikit-learn's name
        """Predict responses, shape (n_stimuli, n_neuroids)."""
        if self._map is None:
            raise RuntimeError("MaskRegression has not been fitted yet: call fit(X, Y) first.")
        return self._map.predict(FeatureGrid.of(_neuroids(X)).arrange(X.values))


def _neuroids(source: DataAssembly) -> dict[str, ArrayLike]:
    return {name: values for name, (_, values) in coords_along(source, Defaults.neuroid_dim).items()}


class _MaskRegressionOnGrid:
    """Masks for features of a known grid: predicts all splits in one call."""

    def __init__(self, grid: FeatureGrid, settings: MaskSettings) -> None:
        self._grid = grid
        self._settings = settings

    def predict_splits(self, source: ArrayLike, target: ArrayLike, splits: Splits) -> list[Floats]:
        return mask_predict_splits(self._grid.arrange(source), target, splits, self._settings)


class MaskRegressedCorrelation(CrossRegressedCorrelation):
    """Cross-validated mask regression, then correlation per neuroid; parameters as for `CrossRegressedCorrelation`."""

    def __init__(
        self,
        regression: XarrayRegression,
        correlation: XarrayCorrelation,
        crossvalidation_kwargs: Mapping[str, Any] | None = None,  # arguments of `CrossValidation`
    ) -> None:
        super().__init__(regression, correlation, crossvalidation_kwargs)
        self._crossvalidation_kwargs = crossvalidation_kwargs

    def __call__(self, source: DataAssembly, target: DataAssembly) -> Score:
        """Compare; attrs also hold ``regression_seed``."""
        bound, source, target = self._bound(source, target)
        score = bound(source, target)
        score.attrs["regression_seed"] = self.regression.estimator.settings.seed
        return score

    def held_out(self, source: DataAssembly, target: DataAssembly) -> list[HeldOut]:
        """See the base class."""
        bound, source, target = self._bound(source, target)
        return bound.held_out(source, target)

    def _bound(
        self, source: DataAssembly, target: DataAssembly
    ) -> tuple[CrossRegressedCorrelation, DataAssembly, DataAssembly]:
        source, target = squeeze_time_bin(source), squeeze_time_bin(target)
        ids = [coordinate(assembly, Defaults.stimulus_coord) for assembly in (target, source)]
        # In the order of the target: batches do not depend on the source's.
        source = source.isel(presentation=matching_order(*ids))
        on_grid = _MaskRegressionOnGrid(FeatureGrid.of(_neuroids(source)), self.regression.estimator.settings)
        bound = CrossRegressedCorrelation(XarrayRegression(on_grid), self.correlation, self._crossvalidation_kwargs)
        return bound, source, target


def mask_regression(
    regression_kwargs: Mapping[str, Any] | None = None,  # the fields of `MaskSettings`
) -> XarrayRegression:
    """Make a mask regression on assemblies; `regression_kwargs` are the fields of `MaskSettings`."""
    return XarrayRegression(MaskRegression(**(regression_kwargs or {})))


def mask_cross_validated(
    crossvalidation_kwargs: Mapping[str, Any] | None = None,  # arguments of `CrossValidation`
    regression_kwargs: Mapping[str, Any] | None = None,  # the fields of `MaskSettings`
    *,
    compat: bool = False,
) -> MaskRegressedCorrelation:
    """Make the metric ``mask_regression``."""
    published = {"n_epochs": 40, "decay_epochs": 25} if compat else {}
    return MaskRegressedCorrelation(
        mask_regression({**published, **(regression_kwargs or {})}),
        XarrayCorrelation(PearsonR()),
        {"compat": compat, **(crossvalidation_kwargs or {})},
    )
