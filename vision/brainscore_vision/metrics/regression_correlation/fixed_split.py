"""Make the metrics that are given training and test stimuli, with the parameters of `cross_validated`.

Benchmarks put the names of these metrics together (``f'{name}_split'``) and hand `alphas` to all of them alike, so that
all accept it; only the two that choose a penalty heed it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from brainscore_vision.metric_helpers.regression.fixed_split import (
    ReverseTrainTestSplitCorrelation,
    TrainTestSplitCorrelation,
)

from .cross_validated import (
    linear_cross_validated,
    pls_cross_validated,
    ridge_cross_validated,
    single_cross_validated,
)
from .keywords import metric_named
from .published import dual_ridge_cv_regression, dual_ridge_regression
from .regressions import ALPHA_LIST, Options, pearsonr_correlation, ridge_cv_regression, with_given

fixed_split_metric = functools.partial(metric_named, ignored=["alphas"])


def _on_given_split(identifier: str, factory: Callable[..., Any], kind: Any) -> Callable[..., Any]:
    """Make the factory of a metric of this kind, with the regression that the metrics of `factory` have."""
    without_splits = functools.partial(factory, None)

    @functools.wraps(factory)
    def make(*args: Any, **kwargs: Any) -> Any:
        metric = without_splits(*args, **kwargs)
        return kind(metric.regression, metric.correlation)

    make.__signature__ = inspect.signature(without_splits)
    return fixed_split_metric(identifier)(make)


pls_fixed_split = _on_given_split("pls_split", pls_cross_validated, TrainTestSplitCorrelation)
ridge_fixed_split = _on_given_split("ridge_split", ridge_cross_validated, TrainTestSplitCorrelation)
linear_fixed_split = _on_given_split("linear_predictivity_split", linear_cross_validated, TrainTestSplitCorrelation)
single_fixed_split = _on_given_split("neuron_to_neuron_split", single_cross_validated, TrainTestSplitCorrelation)
reverse_pls_fixed_split = _on_given_split("reverse_pls_split", pls_cross_validated, ReverseTrainTestSplitCorrelation)


@fixed_split_metric("ridgecv_split")
def ridge_cv_fixed_split(
    regression_kwargs: Options = None,
    xarray_kwargs: Options = None,
    alphas: Sequence[float] = ALPHA_LIST,
    *,
    alpha_per_target: bool = False,
    backend: str | None = None,
) -> TrainTestSplitCorrelation:
    """Make ``ridgecv_split``, by default with one penalty for all neuroids, in ``attrs['alpha']``."""
    kwargs = {"alpha_per_target": alpha_per_target, **(regression_kwargs or {})}
    regression = ridge_cv_regression(kwargs, xarray_kwargs, alphas, backend=backend)
    return TrainTestSplitCorrelation(regression, pearsonr_correlation())


@fixed_split_metric("dual_ridge_split")
def dual_ridge_fixed_split(
    regression_kwargs: Options = None, *, alpha: float | None = None, backend: str | None = None
) -> TrainTestSplitCorrelation:
    """Make ``dual_ridge_split``: the same number as ``ridge_split``, which takes the dual form by itself."""
    regression = dual_ridge_regression(with_given(regression_kwargs, alpha=alpha), backend=backend)
    return TrainTestSplitCorrelation(regression, pearsonr_correlation())


@fixed_split_metric("dual_ridgecv_split")
def dual_ridge_cv_fixed_split(
    regression_kwargs: Options = None,
    xarray_kwargs: Options = None,
    alphas: Sequence[float] = ALPHA_LIST,
    *,
    backend: str | None = None,
) -> TrainTestSplitCorrelation:
    """Make ``dual_ridgecv_split``: the same number as ``ridgecv_split``, which takes the dual form by itself."""
    regression = dual_ridge_cv_regression(regression_kwargs, xarray_kwargs, alphas, backend=backend)
    return TrainTestSplitCorrelation(regression, pearsonr_correlation())
