"""Make the metrics; see `metric`.

`regression_kwargs` are the regression's arguments, see `metric`; ``compat=True`` draws the published splits,
which depend on the order of the target's presentations (see `Split`).

Metrics named ``*_split`` are given training and test stimuli.

In ``spantime_*`` all time bins share weights: features must explain the time course. ``*_pertime`` score each bin as if
measured alone. Input: dims (presentation, neuroid, time_bin) with the same bins; ``raw`` has dims (split, time_bin,
neuroid).
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from brainscore_vision.metric_helpers.regression.fixed_split import (
    ReverseTrainTestSplitCorrelation,
    TrainTestSplitCorrelation,
)
from brainscore_vision.metric_helpers.regression.metrics import (
    CrossRegressedCorrelation,
    PerTimeCrossRegressedCorrelation,
    ReverseCrossRegressedCorrelation,
    SpanTimeCrossRegressedCorrelation,
)

from .metric import (
    ALPHA_LIST,
    Options,
    dual_ridge_cv_regression,
    dual_ridge_regression,
    linear_regression,
    metric_named,
    pearsonr_correlation,
    pls_regression,
    ridge_cv_regression,
    ridge_regression,
    single_regression,
    splits_of,
    with_given,
)


@metric_named("pls")
def pls_cross_validated(
    crossvalidation_kwargs: Options = None,
    regression_kwargs: Options = None,
    *,
    backend: str | None = None,
    compat: bool = False,
) -> CrossRegressedCorrelation:
    """Make ``pls`` (``pls_cv``): partial least squares with 25 components, without scaling.

    ``prediction = T Q^T``: T are the 25 combinations of features that covary most with the target, one after another.

    - Invariances: rotations, permutations and one common scale of the source's neuroids.
    - When: the default of the field where features outnumber stimuli. Needs at least 25 features and training stimuli.

    References
    ----------
    Wold et al. (2001), doi:10.1016/S0169-7439(01)00155-1; Yamins et al. (2014).
    """
    regression = pls_regression(regression_kwargs, backend=backend)
    return CrossRegressedCorrelation(regression, pearsonr_correlation(), splits_of(crossvalidation_kwargs, compat))


@metric_named("ridge")
def ridge_cross_validated(
    crossvalidation_kwargs: Options = None,
    regression_kwargs: Options = None,
    *,
    alpha: float | None = None,
    backend: str | None = None,
    compat: bool = False,
) -> CrossRegressedCorrelation:
    """Make ``ridge`` (``ridge_cv``): least squares with the penalty ``alpha ||W||^2``, alpha = 1.

    - Invariances: rotations and permutations of the source's neuroids; positive scaling of each neuroid of the target.
      Scaling the source amounts to another penalty.
    - When: the penalty is known. ``ridgecv`` chooses one.

    `alpha` is short for ``regression_kwargs={'alpha': alpha}``; `compat` also computes in the precision of the
    features.

    References
    ----------
    Hoerl & Kennard (1970), doi:10.1080/00401706.1970.10488634.
    """
    regression = ridge_regression(with_given(regression_kwargs, alpha=alpha), backend=backend, compat=compat)
    return CrossRegressedCorrelation(regression, pearsonr_correlation(), splits_of(crossvalidation_kwargs, compat))


@metric_named("ridgecv")
def ridge_cv_cross_validated(
    crossvalidation_kwargs: Options = None,
    regression_kwargs: Options = None,
    *,
    alphas: Sequence[float] = ALPHA_LIST,
    alpha_per_target: bool = True,
    backend: str | None = None,
    compat: bool = False,
) -> CrossRegressedCorrelation:
    """Make ``ridgecv``: ridge regression with a penalty for each neuroid, chosen inside each training set.

    The penalty, one of `alphas`, has the least mean squared leave-one-out error among the training stimuli, ``mean((r /
    d)^2)`` with residuals r and the diagonal d of one minus the smoother; without `alpha_per_target` one for all
    neuroids.

    - Invariances: as ``ridge``; over the range of the penalties, scaling the source too.
    - When: signal-to-noise differs between neuroids, or the right penalty is unknown.

    References
    ----------
    Golub et al. (1979), doi:10.1080/00401706.1979.10489751; Allen (1974), doi:10.1080/00401706.1974.10489157.
    """
    kwargs = {"alpha_per_target": alpha_per_target, **(regression_kwargs or {})}
    regression = ridge_cv_regression(kwargs, alphas=alphas, backend=backend)
    return CrossRegressedCorrelation(regression, pearsonr_correlation(), splits_of(crossvalidation_kwargs, compat))


@metric_named("linear_predictivity")
def linear_cross_validated(
    crossvalidation_kwargs: Options = None,
    regression_kwargs: Options = None,
    *,
    backend: str | None = None,
    compat: bool = False,
) -> CrossRegressedCorrelation:
    """Make ``linear_predictivity`` (``linear_predictivity_cv``): ordinary least squares; `compat` as for ``ridge``.

    ``min ||Y - X W - b||``; of several solutions the one of smallest ``||W||``.

    - Invariances: with fewer features than stimuli any invertible linear map of the source, otherwise its rotations,
      permutations and one common scale; positive scaling of each neuroid of the target.
    - When: stimuli far outnumber features. Predictions are worst where both are about as many.

    References
    ----------
    Golub & Van Loan (2013), Matrix Computations, section 5.5.
    """
    regression = linear_regression(regression_kwargs=regression_kwargs, backend=backend, compat=compat)
    return CrossRegressedCorrelation(regression, pearsonr_correlation(), splits_of(crossvalidation_kwargs, compat))


@metric_named("neuron_to_neuron")
def single_cross_validated(
    crossvalidation_kwargs: Options = None, *, compat: bool = False
) -> CrossRegressedCorrelation:
    """Make ``neuron_to_neuron`` (``neuron_to_neuron_cv``): the one source neuroid that correlates most in training.

    ``prediction_j = x_best(j)``, ``best(j) = argmax_i r(x_i, y_j)``; negative correlations do not count.

    - Invariances: permutations, duplicates and positive scaling of the source's neuroids; positive scaling of each
      neuroid of the target. Not rotations.
    - When: single units are to correspond. With many source neuroids and few stimuli the best one in training is often
      best by chance.

    References
    ----------
    Arend et al. (2018), Center for Brains, Minds and Machines memo 93.
    """
    return CrossRegressedCorrelation(
        single_regression(), pearsonr_correlation(), splits_of(crossvalidation_kwargs, compat)
    )


@metric_named("reverse_pls")
def reverse_pls_cross_validated(
    crossvalidation_kwargs: Options = None,
    regression_kwargs: Options = None,
    *,
    backend: str | None = None,
    compat: bool = False,
) -> ReverseCrossRegressedCorrelation:
    """Make ``reverse_pls`` (``reverse_pls_cv``): ``pls`` from the measured neuroids to the model's features.

    - Invariances: those of ``pls``, with the sides exchanged.
    - When: how much of the model is found in the brain? Needs at least 25 measured neuroids; the measurement's ceiling
      does not apply.

    References
    ----------
    Muzellec & Kar (2025), bioRxiv.
    """
    regression = pls_regression(regression_kwargs, backend=backend)
    return ReverseCrossRegressedCorrelation(
        regression, pearsonr_correlation(), splits_of(crossvalidation_kwargs, compat)
    )


fixed_split_metric = functools.partial(metric_named, ignored=["alphas"])


def _on_given_split(identifier: str, factory: Callable[..., Any], kind: Any) -> Callable[..., Any]:
    """Make a factory of this kind of metric, with the regression of `factory`."""
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
    """Make ``ridgecv_split``, by default with one penalty for all neuroids."""
    kwargs = {"alpha_per_target": alpha_per_target, **(regression_kwargs or {})}
    regression = ridge_cv_regression(kwargs, xarray_kwargs, alphas, backend=backend)
    return TrainTestSplitCorrelation(regression, pearsonr_correlation())


@fixed_split_metric("dual_ridge_split")
def dual_ridge_fixed_split(
    regression_kwargs: Options = None, *, alpha: float | None = None, backend: str | None = None
) -> TrainTestSplitCorrelation:
    """Make ``dual_ridge_split``: the same number as ``ridge_split``."""
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
    """Make ``dual_ridgecv_split``: the same number as ``ridgecv_split``."""
    regression = dual_ridge_cv_regression(regression_kwargs, xarray_kwargs, alphas, backend=backend)
    return TrainTestSplitCorrelation(regression, pearsonr_correlation())


OverTime = Callable[..., SpanTimeCrossRegressedCorrelation | PerTimeCrossRegressedCorrelation]


def _over_time(identifier: str, kind: OverTime, factory: Callable[..., CrossRegressedCorrelation]) -> OverTime:
    """Make a factory that regresses over time as `factory` does without it."""

    @metric_named(identifier)
    @functools.wraps(factory)
    def make(crossvalidation_kwargs: Options = None, *args: Any, compat: bool = False, **kwargs: Any) -> Any:
        metric = factory(None, *args, compat=compat, **kwargs)
        return kind(metric.regression, metric.correlation, splits_of(crossvalidation_kwargs, compat))

    return make


pls_span_time = _over_time("spantime_pls", SpanTimeCrossRegressedCorrelation, pls_cross_validated)
ridge_span_time = _over_time("spantime_ridge", SpanTimeCrossRegressedCorrelation, ridge_cross_validated)
pls_per_time = _over_time("pls_pertime", PerTimeCrossRegressedCorrelation, pls_cross_validated)
ridge_per_time = _over_time("ridge_pertime", PerTimeCrossRegressedCorrelation, ridge_cross_validated)
