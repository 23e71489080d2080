"""Serve callers of the published system, who import from `metric`.

`Ridge` and `RidgeCV` take the published "dual" form, over stimuli, by themselves where features outnumber stimuli.
`chunk_size` has no effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.metrics import Metric, Score
from brainscore_vision.metric_helpers.arrays.correlation import pearson_columns
from brainscore_vision.metric_helpers.labelled.alignment import squeeze_time_bin
from brainscore_vision.metric_helpers.regression.estimators import OneToOne, Ridge, RidgeCV
from brainscore_vision.metric_helpers.regression.metrics import CrossRegressedCorrelation
from brainscore_vision.metric_helpers.regression.on_assemblies import XarrayRegression

from .regressions import ALPHA_LIST, Options

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats

SingleRegression = OneToOne


class DualRidgeRegression(Ridge):
    """`Ridge`, with a `chunk_size` that has no effect."""

    def __init__(self, alpha: float = 1.0, chunk_size: int = 5000, *, backend: str | None = None) -> None:
        super().__init__(alpha, backend=backend)
        self.chunk_size = chunk_size


class DualRidgeCVRegression(RidgeCV):
    """`RidgeCV`, with a `chunk_size` that has no effect; it chooses among `ALPHA_LIST` by default."""

    def __init__(
        self,
        alphas: Sequence[float] | None = None,
        chunk_size: int = 5000,
        *,
        alpha_per_target: bool = False,
        backend: str | None = None,
    ) -> None:
        super().__init__(ALPHA_LIST if alphas is None else alphas, alpha_per_target=alpha_per_target, backend=backend)
        self.chunk_size = chunk_size


def dual_ridge_regression(
    regression_kwargs: Options = None, xarray_kwargs: Options = None, *, backend: str | None = None
) -> XarrayRegression:
    """Make a `DualRidgeRegression` on assemblies; arguments as for `ridge_regression`."""
    kwargs = {"alpha": 1.0, "backend": backend, **(regression_kwargs or {})}
    return XarrayRegression(DualRidgeRegression(**kwargs), **(xarray_kwargs or {}))


def dual_ridge_cv_regression(
    regression_kwargs: Options = None,
    xarray_kwargs: Options = None,
    alphas: ArrayLike = ALPHA_LIST,
    *,
    backend: str | None = None,
) -> XarrayRegression:
    """Make a `DualRidgeCVRegression` on assemblies; arguments as for `ridge_cv_regression`."""
    kwargs = {"alphas": alphas, "backend": backend, **(regression_kwargs or {})}
    kwargs.pop("alpha", None)
    return XarrayRegression(DualRidgeCVRegression(**kwargs), **(xarray_kwargs or {}))


def pearsonr(x: ArrayLike, y: ArrayLike) -> Floats:
    """Correlate columns of two arrays, shapes (n_stimuli, n) and (n_stimuli, n or 1); returns shape (n,)."""
    return pearson_columns(*np.broadcast_arrays(np.asarray(x), np.asarray(y)))


class ScaledCrossRegressedCorrelation(Metric):
    """Standardise the target's neuroids, then do as `CrossRegressedCorrelation`.

    It matters for PLS alone, which otherwise heeds neuroids of large variance more.
    """

    quantity = CrossRegressedCorrelation.quantity

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: passed on
        self.cross_regressed_correlation = CrossRegressedCorrelation(*args, **kwargs)
        self.aggregate = self.cross_regressed_correlation.aggregate

    def __call__(self, source: DataAssembly, target: DataAssembly) -> Score:
        """Compare as `CrossRegressedCorrelation` does."""
        target = squeeze_time_bin(target)
        axis = target.get_axis_num("presentation")
        values = np.asarray(target.values, dtype=np.float64)
        spread = values.std(axis=axis, keepdims=True)
        scaled = (values - values.mean(axis=axis, keepdims=True)) / np.where(spread > 0, spread, 1.0)
        return self.cross_regressed_correlation(source, target.copy(data=scaled))
