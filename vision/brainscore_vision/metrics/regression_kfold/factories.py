"""Make the metrics of this plugin; `metric` describes what they share.

All take the keywords ``folds`` (10), ``repeats`` (3), ``seed`` (1) and ``crossvalidation_kwargs``, of which the folds
heed ``stratification_coord``; those of repetitions also ``min_reliability`` (.15). See `PooledFolds`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from brainscore_vision import load_metric
from brainscore_vision.metric_helpers.regression.estimators import SplitPredictor
from brainscore_vision.metric_helpers.regression.repeated_folds import (
    ExplainedR2ER,
    ExplainedSignal,
    FoldedCorrelation,
    PooledFolds,
)

Options = Mapping[str, Any] | None
Pooled = TypeVar("Pooled", bound=PooledFolds)


def pls_kfold(**kwargs: Any) -> FoldedCorrelation:
    """Make ``pls_kfold``: the regression of ``pls``, correlated over all stimuli."""
    return _make(FoldedCorrelation, "pls", **kwargs)


def ridge_kfold(**kwargs: Any) -> FoldedCorrelation:
    """Make ``ridge_kfold``: the regression of ``ridge``, correlated over all stimuli."""
    return _make(FoldedCorrelation, "ridge", **kwargs)


def ridge_cv_kfold(**kwargs: Any) -> FoldedCorrelation:
    """Make ``ridgecv_kfold``: the regression of ``ridgecv``, correlated over all stimuli."""
    return _make(FoldedCorrelation, "ridgecv", **kwargs)


def pls_signal(**kwargs: Any) -> ExplainedSignal:
    """Make ``pls_signal``: how much of the signal the regression of ``pls`` explains."""
    return _make(ExplainedSignal, "pls", **kwargs)


def ridge_signal(**kwargs: Any) -> ExplainedSignal:
    """Make ``ridge_signal``: how much of the signal the regression of ``ridge`` explains."""
    return _make(ExplainedSignal, "ridge", **kwargs)


def ridge_cv_signal(**kwargs: Any) -> ExplainedSignal:
    """Make ``ridgecv_signal``: how much of the signal the regression of ``ridgecv`` explains."""
    return _make(ExplainedSignal, "ridgecv", **kwargs)


def pls_r2er(**kwargs: Any) -> ExplainedR2ER:
    """Make ``pls_r2er``: the squared correlation of ``pls`` with expected responses."""
    return _make(ExplainedR2ER, "pls", **kwargs)


def ridge_r2er(**kwargs: Any) -> ExplainedR2ER:
    """Make ``ridge_r2er``: the squared correlation of ``ridge`` with expected responses."""
    return _make(ExplainedR2ER, "ridge", **kwargs)


def ridge_cv_r2er(**kwargs: Any) -> ExplainedR2ER:
    """Make ``ridgecv_r2er``: the squared correlation of ``ridgecv`` with expected responses."""
    return _make(ExplainedR2ER, "ridgecv", **kwargs)


def _make(
    kind: type[Pooled],
    regression: str,
    *,
    regression_kwargs: Options = None,
    crossvalidation_kwargs: Options = None,
    backend: str | None = None,
    **kwargs: Any,  # checked by the class
) -> Pooled:
    estimator = load_metric(regression, regression_kwargs=regression_kwargs, backend=backend).regression.estimator
    if not isinstance(estimator, SplitPredictor):
        raise TypeError(
            f"The regression of {regression!r} with {dict(regression_kwargs or {})} is computed by scikit-learn; folds "
            "that are pooled need the library's own. Leave out what only scikit-learn has."
        )
    return kind(estimator, split_kwargs=crossvalidation_kwargs, **kwargs)
