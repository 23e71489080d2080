"""Make the metrics that are given training and test stimuli; `metric` describes what they share.

Benchmarks put the names of these metrics together (``f'{name}_split'``) and hand `alphas` to all of them alike, so that
all accept it; only the two that choose a penalty heed it. Parameters are those of `cross_validated`, where they are not
listed here.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from brainscore_vision.metric_helpers.regression.fixed_split import (
    ReverseTrainTestSplitCorrelation,
    TrainTestSplitCorrelation,
)

from .keywords import metric_named
from .published import dual_ridge_cv_regression, dual_ridge_regression
from .regressions import (
    ALPHA_LIST,
    Options,
    linear_regression,
    pearsonr_correlation,
    pls_regression,
    ridge_cv_regression,
    ridge_regression,
    single_regression,
    with_given,
)

fixed_split_metric = functools.partial(metric_named, ignored=["alphas"])


@fixed_split_metric("pls_split")
def pls_fixed_split(regression_kwargs: Options = None, *, backend: str | None = None) -> TrainTestSplitCorrelation:
    """Make ``pls_split``: ``pls`` on a given split."""
    return TrainTestSplitCorrelation(pls_regression(regression_kwargs, backend=backend), pearsonr_correlation())


@fixed_split_metric("ridge_split")
def ridge_fixed_split(
    regression_kwargs: Options = None,
    *,
    alpha: float | None = None,
    backend: str | None = None,
    compat: bool = False,
) -> TrainTestSplitCorrelation:
    """Make ``ridge_split``: ``ridge`` on a given split, with one penalty."""
    regression = ridge_regression(with_given(regression_kwargs, alpha=alpha), backend=backend, compat=compat)
    return TrainTestSplitCorrelation(regression, pearsonr_correlation())


@fixed_split_metric("linear_predictivity_split")
def linear_fixed_split(
    regression_kwargs: Options = None, *, backend: str | None = None, compat: bool = False
) -> TrainTestSplitCorrelation:
    """Make ``linear_predictivity_split``: ``linear_predictivity`` on a given split."""
    regression = linear_regression(regression_kwargs=regression_kwargs, backend=backend, compat=compat)
    return TrainTestSplitCorrelation(regression, pearsonr_correlation())


@fixed_split_metric("neuron_to_neuron_split")
def single_fixed_split() -> TrainTestSplitCorrelation:
    """Make ``neuron_to_neuron_split``: ``neuron_to_neuron`` on a given split."""
    return TrainTestSplitCorrelation(single_regression(), pearsonr_correlation())


@fixed_split_metric("reverse_pls_split")
def reverse_pls_fixed_split(
    regression_kwargs: Options = None, *, backend: str | None = None
) -> ReverseTrainTestSplitCorrelation:
    """Make ``reverse_pls_split``: ``reverse_pls`` on a given split."""
    return ReverseTrainTestSplitCorrelation(pls_regression(regression_kwargs, backend=backend), pearsonr_correlation())


@fixed_split_metric("ridgecv_split")
def ridge_cv_fixed_split(
    regression_kwargs: Options = None,
    xarray_kwargs: Options = None,
    alphas: Sequence[float] = ALPHA_LIST,
    *,
    alpha_per_target: bool = False,
    backend: str | None = None,
) -> TrainTestSplitCorrelation:
    """Make ``ridgecv_split``: ridge on a given split, with one penalty chosen on the training stimuli.

    As ``ridgecv``, but with one penalty for all neuroids unless told otherwise, which is in ``attrs['alpha']``.

    Parameters
    ----------
    regression_kwargs, xarray_kwargs, alphas, backend
        As for `ridge_cv_regression`.
    alpha_per_target : bool
        Choose for each neuroid.
    """
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
