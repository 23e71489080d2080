"""Score how well a linear map from model features predicts the responses of neuroids to held-out stimuli.

For every split of the stimuli a regression is fitted on the training stimuli and predicts the others; the prediction is
correlated with the measurement per neuroid (Pearson); the score is the median over neuroids, then the mean over splits:

    ``score = mean_s median_j r(prediction_sj, measurement_sj)``

- Input: source (model) and target (measurement), dims (presentation, neuroid), with coordinates `stimulus_id` and
  `neuroid_id`; a `time_bin` of length one is dropped. Both hold the same stimuli, in any order.
- Output: Score in [-1, 1], a correlation (not explained variance); ``raw`` has dims (split, neuroid).
- Invariances: any shift of source or target; positive scaling of each target neuroid for ridge, of all of them together
  for PLS; rotations and permutations of source neuroids. Scaling the source changes ridge, not PLS.
- When: PLS is the default of the field where features outnumber stimuli; ridge where one penalty is wanted.

References
----------
Yamins et al. (2014), doi:10.1073/pnas.1403112111; Schrimpf et al. (2018), doi:10.1101/407007.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from brainscore_vision.metric_helpers.regressed_correlation import CrossRegressedCorrelation, TrainTestSplitCorrelation
from brainscore_vision.metric_helpers.regressions import PLS, PearsonR, Ridge
from brainscore_vision.metric_helpers.xarray_utils import XarrayCorrelation, XarrayRegression

# Penalties that are tried where a metric chooses its own.
ALPHA_LIST = [
    0.01, 0.1, 0.5, 1.0, 10.0, 32.5, 55.0, 77.5,
    *(float(alpha) for alpha in range(100, 1_000, 50)),
    *(float(alpha) for alpha in range(1_000, 10_000, 500)),
    *(float(alpha) for alpha in range(10_000, 100_000, 5_000)),
    *(float(alpha) for alpha in range(100_000, 1_000_000, 50_000)),
    *(float(alpha) for alpha in range(1_000_000, 10_000_001, 500_000)),
]  # fmt: skip


def pls_regression(
    regression_kwargs: Mapping[str, Any] | None = None, xarray_kwargs: Mapping[str, Any] | None = None
) -> XarrayRegression:
    """Make a PLS regression on assemblies: 25 components, no scaling.

    Parameters
    ----------
    regression_kwargs : dict or None
        Arguments of scikit-learn's `PLSRegression`. Anything but ``n_components`` and ``scale=False`` is computed by
        scikit-learn itself.
    xarray_kwargs : dict or None
        Arguments of `XarrayRegression`.
    """
    kwargs = {"n_components": 25, "scale": False, **(regression_kwargs or {})}
    if kwargs.keys() == {"n_components", "scale"} and not kwargs["scale"]:
        return XarrayRegression(PLS(kwargs["n_components"]), **(xarray_kwargs or {}))
    from sklearn.cross_decomposition import PLSRegression  # only for options that our own does not have

    return XarrayRegression(PLSRegression(**kwargs), **(xarray_kwargs or {}))


def ridge_regression(
    regression_kwargs: Mapping[str, Any] | None = None, xarray_kwargs: Mapping[str, Any] | None = None
) -> XarrayRegression:
    """Make a ridge regression on assemblies: penalty 1, with intercept.

    Parameters
    ----------
    regression_kwargs : dict or None
        Arguments of scikit-learn's `Ridge`. Anything but a single ``alpha`` above 0 is computed by scikit-learn itself.
    xarray_kwargs : dict or None
        Arguments of `XarrayRegression`.
    """
    kwargs = {"alpha": 1.0, **(regression_kwargs or {})}
    if kwargs.keys() == {"alpha"} and np.ndim(kwargs["alpha"]) == 0 and kwargs["alpha"] > 0:
        return XarrayRegression(Ridge(kwargs["alpha"]), **(xarray_kwargs or {}))
    from sklearn.linear_model import Ridge as ScikitRidge  # only for options that our own does not have

    return XarrayRegression(ScikitRidge(**kwargs), **(xarray_kwargs or {}))


def pearsonr_correlation(xarray_kwargs: Mapping[str, Any] | None = None) -> XarrayCorrelation:
    """Make a Pearson correlation on assemblies; `xarray_kwargs` are the arguments of `XarrayCorrelation`."""
    return XarrayCorrelation(PearsonR(), **(xarray_kwargs or {}))


def pls_cross_validated(
    crossvalidation_kwargs: Mapping[str, Any] | None = None, regression_kwargs: Mapping[str, Any] | None = None
) -> CrossRegressedCorrelation:
    """Make the metric ``pls`` (``pls_cv``); arguments as for `CrossRegressedCorrelation` and `pls_regression`."""
    return CrossRegressedCorrelation(pls_regression(regression_kwargs), pearsonr_correlation(), crossvalidation_kwargs)


def ridge_cross_validated(
    crossvalidation_kwargs: Mapping[str, Any] | None = None, regression_kwargs: Mapping[str, Any] | None = None
) -> CrossRegressedCorrelation:
    """Make the metric ``ridge`` (``ridge_cv``); arguments as for `CrossRegressedCorrelation` and `ridge_regression`."""
    regression = ridge_regression(regression_kwargs)
    return CrossRegressedCorrelation(regression, pearsonr_correlation(), crossvalidation_kwargs)


def pls_fixed_split(regression_kwargs: Mapping[str, Any] | None = None) -> TrainTestSplitCorrelation:
    """Make the metric ``pls_split``; `regression_kwargs` as for `pls_regression`."""
    return TrainTestSplitCorrelation(pls_regression(regression_kwargs), pearsonr_correlation())


def ridge_fixed_split(regression_kwargs: Mapping[str, Any] | None = None) -> TrainTestSplitCorrelation:
    """Make the metric ``ridge_split``; `regression_kwargs` as for `ridge_regression`."""
    return TrainTestSplitCorrelation(ridge_regression(regression_kwargs), pearsonr_correlation())
