"""Make the metrics of measurements with several time bins; `metric` describes what they share.

``spantime_*`` have weights that all time bins share: when the model's features are to explain the time course itself,
as those of video models. ``*_pertime`` have weights for each bin, with the same splits: when the mapping may change
over time, and a bin is to be scored as if measured alone. Input: dims (presentation, neuroid, time_bin) with the same
bins; ``raw`` has dims (split, time_bin, neuroid). Parameters are those of `pls_cross_validated` and
`ridge_cross_validated`.
"""

from __future__ import annotations

from brainscore_vision.metric_helpers.regression.metrics import (
    PerTimeCrossRegressedCorrelation,
    SpanTimeCrossRegressedCorrelation,
)

from .keywords import metric_named
from .regressions import Options, pearsonr_correlation, pls_regression, ridge_regression, splits_of, with_given


@metric_named("spantime_pls")
def pls_span_time(
    crossvalidation_kwargs: Options = None,
    regression_kwargs: Options = None,
    *,
    backend: str | None = None,
    compat: bool = False,
) -> SpanTimeCrossRegressedCorrelation:
    """Make ``spantime_pls``: ``pls`` with weights that all time bins share, correlated in each bin."""
    regression = pls_regression(regression_kwargs, backend=backend)
    return SpanTimeCrossRegressedCorrelation(
        regression, pearsonr_correlation(), splits_of(crossvalidation_kwargs, compat)
    )


@metric_named("spantime_ridge")
def ridge_span_time(
    crossvalidation_kwargs: Options = None,
    regression_kwargs: Options = None,
    *,
    alpha: float | None = None,
    backend: str | None = None,
    compat: bool = False,
) -> SpanTimeCrossRegressedCorrelation:
    """Make ``spantime_ridge``: ``ridge`` with weights that all time bins share, correlated in each bin."""
    regression = ridge_regression(with_given(regression_kwargs, alpha=alpha), backend=backend, compat=compat)
    return SpanTimeCrossRegressedCorrelation(
        regression, pearsonr_correlation(), splits_of(crossvalidation_kwargs, compat)
    )


@metric_named("pls_pertime")
def pls_per_time(
    crossvalidation_kwargs: Options = None,
    regression_kwargs: Options = None,
    *,
    backend: str | None = None,
    compat: bool = False,
) -> PerTimeCrossRegressedCorrelation:
    """Make ``pls_pertime``: ``pls`` in each time bin by itself, with the same splits."""
    regression = pls_regression(regression_kwargs, backend=backend)
    return PerTimeCrossRegressedCorrelation(
        regression, pearsonr_correlation(), splits_of(crossvalidation_kwargs, compat)
    )


@metric_named("ridge_pertime")
def ridge_per_time(
    crossvalidation_kwargs: Options = None,
    regression_kwargs: Options = None,
    *,
    alpha: float | None = None,
    backend: str | None = None,
    compat: bool = False,
) -> PerTimeCrossRegressedCorrelation:
    """Make ``ridge_pertime``: ``ridge`` in each time bin by itself, with the same splits."""
    regression = ridge_regression(with_given(regression_kwargs, alpha=alpha), backend=backend, compat=compat)
    return PerTimeCrossRegressedCorrelation(
        regression, pearsonr_correlation(), splits_of(crossvalidation_kwargs, compat)
    )
