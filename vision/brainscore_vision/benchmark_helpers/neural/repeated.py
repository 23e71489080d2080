"""Benchmarks from single repetitions, whose reliability is the ceiling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from brainscore_core.benchmarks import LazyCeiling, ceil_score, explained_variance
from brainscore_core.errors import CeilingError
from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.transform import average_repetition
from brainscore_vision.benchmark_helpers.neural.benchmark import NeuralBenchmark
from brainscore_vision.benchmark_helpers.scores.ceilings import ceiling_over_time, geometry_ceiling, over_time
from brainscore_vision.loading import load_ceiling, load_metric
from brainscore_vision.metric_helpers.uncertainty.errors import declare_no_error
from brainscore_vision.utils import LazyLoad

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

    Ceiler = Callable[[NeuroidAssembly], Score]
    Compare = Callable[..., Score]
    Normalization = Callable[[Score, Score], Score]

__all__ = ["benchmark_of_repetitions"]


def benchmark_of_repetitions(
    identifier: str,
    load: Callable[[], NeuroidAssembly],
    similarity_metric: Compare | str,
    *,
    crossvalidation_kwargs: Mapping[str, Any] | None = None,
    average: Callable[[NeuroidAssembly], NeuroidAssembly] = average_repetition,
    ceiler: Ceiler | None = None,
    compat: bool = False,
    **kwargs: Any,  # checked by NeuralBenchmark
) -> NeuralBenchmark:
    """Make a `NeuralBenchmark` from single repetitions.

    The metric's declarations, above all its ``quantity``, determine ceiling and normalisation.

    =============================  ==================================================  ====================
    metric                         ceiling                                             normalization
    =============================  ==================================================  ====================
    ``correlation``, or nothing    ``internal_consistency``                            `explained_variance`
    ``dissimilarity_correlation``  `geometry_ceiling`                                  `ceil_score`
    ``is_of_geometry``             `geometry_ceiling`                                  `ceil_score`
    ``scores_time_bins``           ``internal_consistency_temporal``; see `over_time`  `explained_variance`
    ``takes_repetitions``          none: 1                                             `ceil_score`
    any other quantity             `ceiler`, which has to be given                     `ceil_score`
    =============================  ==================================================  ====================

    Parameters
    ----------
    load
        Returns single repetitions of one region.
    similarity_metric : Metric or str
        Compares a model with the average; or its identifier.
    crossvalidation_kwargs
        For a regression given by its identifier, such as ``{'stratification_coord': 'object_name'}``.
    average, ceiler
        Map the repetitions to the target of the comparison, and to a `Score`; None: as in the table.
    compat
        For a metric given by its identifier: draw splits as published, from the stimuli in the order of the average
        (see `labelled.splits`).
    """
    repetitions = cache(load)
    if compat:
        crossvalidation_kwargs = {"compat": True, **(crossvalidation_kwargs or {})}
    metric, ceiling, normalization = _pattern(_loaded(similarity_metric, crossvalidation_kwargs), ceiler, of=identifier)
    apart = getattr(metric, "takes_repetitions", False)
    return NeuralBenchmark(
        identifier=identifier,
        assembly=LazyLoad(repetitions if apart else lambda: average(repetitions())),
        similarity_metric=metric,
        normalization=normalization,
        ceiling_func=LazyCeiling(ceiling, repetitions),
        **kwargs,
    )


def _loaded(metric: Compare | str, crossvalidation_kwargs: Mapping[str, Any] | None) -> Compare:
    """Load a metric given by its identifier, with the splits if it draws any."""
    if not isinstance(metric, str):
        return metric
    compare: Compare = load_metric(metric)
    if crossvalidation_kwargs is None or getattr(compare, "takes_all_stimuli", False):
        return compare
    with_splits: Compare = load_metric(metric, crossvalidation_kwargs=crossvalidation_kwargs)
    return with_splits


def _pattern(compare: Compare, ceiler: Ceiler | None, *, of: str) -> tuple[Compare, Ceiler, Normalization]:
    """Return the comparison, the ceiling, `ceiler` before any other, and the normalisation."""
    quantity = getattr(compare, "quantity", None)
    if getattr(compare, "takes_repetitions", False):
        return compare, ceiler or partial(_no_ceiling, quantity), ceil_score
    if quantity == "dissimilarity_correlation" or getattr(compare, "is_of_geometry", False):
        return compare, ceiler or partial(geometry_ceiling, compare), ceil_score
    if quantity not in (None, "correlation"):
        if ceiler is not None:
            return compare, ceiler, ceil_score
        raise CeilingError(
            f"Benchmark {of!r} has a metric whose scores are of the quantity {quantity!r}, and no ceiling of "
            "repetitions is one for it. Pass ceiler=, a function of the single repetitions that returns a Score of "
            "that quantity."
        )
    if getattr(compare, "scores_time_bins", False):
        reliability = load_ceiling("internal_consistency_temporal")
        return over_time(compare), ceiler or partial(_ceiling_of_bins, reliability), explained_variance
    return compare, ceiler or load_ceiling("internal_consistency"), explained_variance


def _ceiling_of_bins(reliability: Ceiler, repetitions: NeuroidAssembly) -> Score:
    return ceiling_over_time(reliability(repetitions))


def _no_ceiling(quantity: str | None, repetitions: NeuroidAssembly) -> Score:  # noqa: ARG001 - the signature of ceilings
    """Return 1, the expected score of true responses where the metric accounts for noise."""
    ceiling = Score(1.0)
    ceiling.attrs["quantity"] = quantity
    return declare_no_error(ceiling, "exact: the metric itself knows what the noise allows")
