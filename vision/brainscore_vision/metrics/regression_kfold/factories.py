"""Make this plugin's metrics; see `metric`."""

from collections.abc import Mapping
from typing import Any, TypeVar

from brainscore_vision import load_metric
from brainscore_vision.metric_helpers.regression.estimators import SplitPredictor
from brainscore_vision.metric_helpers.regression.repeated_folds import PooledFolds

Options = Mapping[str, Any] | None
Pooled = TypeVar("Pooled", bound=PooledFolds)


def folded(
    kind: type[Pooled],
    regression: str,
    *,
    regression_kwargs: Options = None,
    crossvalidation_kwargs: Options = None,
    backend: str | None = None,
    **kwargs: Any,  # checked by the class
) -> Pooled:
    """Make this kind of metric with another one's regression.

    The folds heed ``stratification_coord``. Others are ``folds`` (10), ``repeats`` (3), ``seed`` (1), for repetitions
    ``min_reliability`` (.15); see `PooledFolds`.
    """
    estimator = load_metric(regression, regression_kwargs=regression_kwargs, backend=backend).regression.estimator
    if not isinstance(estimator, SplitPredictor):
        raise TypeError(
            f"The regression of {regression!r} with {dict(regression_kwargs or {})} is computed by scikit-learn; folds "
            "that are pooled need the library's own. Leave out what only scikit-learn has."
        )
    return kind(estimator, split_kwargs=crossvalidation_kwargs, **kwargs)
