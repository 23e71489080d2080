"""Make the metrics of measurements with several time bins, with the parameters of `pls` and `ridge`.

``spantime_*`` have weights that all time bins share: when the model's features are to explain the time course itself,
as those of video models. ``*_pertime`` have weights for each bin, with the same splits: when the mapping may change
over time, and a bin is to be scored as if measured alone. Input: dims (presentation, neuroid, time_bin) with the same
bins; ``raw`` has dims (split, time_bin, neuroid).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from brainscore_vision.metric_helpers.regression.metrics import (
    CrossRegressedCorrelation,
    PerTimeCrossRegressedCorrelation,
    SpanTimeCrossRegressedCorrelation,
)

from .cross_validated import pls_cross_validated, ridge_cross_validated
from .keywords import metric_named
from .regressions import Options, splits_of

OverTime = Callable[..., SpanTimeCrossRegressedCorrelation | PerTimeCrossRegressedCorrelation]


def _over_time(identifier: str, kind: OverTime, factory: Callable[..., CrossRegressedCorrelation]) -> OverTime:
    """Make the factory of a metric that regresses over time as the metrics of `factory` do without it."""

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
