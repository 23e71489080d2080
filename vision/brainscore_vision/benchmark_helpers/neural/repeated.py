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

    Compare = Callable[..., Score]
    Normalization = Callable[[Score, Score], Score]

__all__ = ["benchmark_of_repetitions"]

_ALIGNMENTS = ("cka", "cka_cv")
_WITHOUT_SPLITS = ("rdm", "rdm_rho_a", "rdm_whitened", "cka")  # they take all stimuli at once
_SPAN_TIME, _PER_TIME = "spantime_", "_pertime"


def benchmark_of_repetitions(
    identifier: str,
    load: Callable[[], NeuroidAssembly],
    similarity_metric: Compare | str,
    *,
    crossvalidation_kwargs: Mapping[str, Any] | None = None,
    average: Callable[[NeuroidAssembly], NeuroidAssembly] = average_repetition,
    ceiler: Callable[[NeuroidAssembly], Score] | None = None,
    compat: bool = False,
    **kwargs: Any,  # checked by NeuralBenchmark
) -> NeuralBenchmark:
    """Make a `NeuralBenchmark` from single repetitions.

    The ``quantity`` of the metric determines ceiling and normalisation.

    =============================  ==================================================  ====================
    metric                         ceiling                                             normalization
    =============================  ==================================================  ====================
    ``correlation``, or nothing    ``internal_consistency``                            `explained_variance`
    ``dissimilarity_correlation``  `geometry_ceiling`                                  `ceil_score`
    ``cka``, ``cka_cv``            `geometry_ceiling`                                  `ceil_score`
    ``spantime_*``, ``*_pertime``  ``internal_consistency_temporal``; see `over_time`  `explained_variance`
    ``takes_repetitions``          none: 1                                             `ceil_score`
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
    metric, ceiling, normalization = _pattern(similarity_metric, crossvalidation_kwargs, compat, of=identifier)
    apart = getattr(metric, "takes_repetitions", False)
    return NeuralBenchmark(
        identifier=identifier,
        assembly=LazyLoad(repetitions if apart else lambda: average(repetitions())),
        similarity_metric=metric,
        normalization=normalization,
        ceiling_func=LazyCeiling(ceiler or ceiling, repetitions),
        **kwargs,
    )


def _pattern(
    metric: Compare | str, crossvalidation_kwargs: Mapping[str, Any] | None, compat: bool, *, of: str
) -> tuple[Compare, Callable[[NeuroidAssembly], Score], Normalization]:
    name = metric if isinstance(metric, str) else ""
    if compat:
        crossvalidation_kwargs = {"compat": True, **(crossvalidation_kwargs or {})}
    splits = {"crossvalidation_kwargs": crossvalidation_kwargs}
    is_split = crossvalidation_kwargs is not None and name not in _WITHOUT_SPLITS
    compare: Compare = load_metric(metric, **(splits if is_split else {})) if isinstance(metric, str) else metric
    quantity = getattr(compare, "quantity", None)
    if getattr(compare, "takes_repetitions", False):
        return compare, partial(_no_ceiling, quantity), ceil_score
    if quantity == "dissimilarity_correlation" or name in _ALIGNMENTS:
        return compare, partial(geometry_ceiling, compare), ceil_score
    if quantity not in (None, "correlation"):
        raise CeilingError(
            f"Benchmark {of!r} has a metric whose scores are of the quantity {quantity!r}, and no ceiling of "
            "repetitions is one for it. Make a NeuralBenchmark with a ceiling_func of its own and "
            "normalization=ceil_score."
        )
    if name.startswith(_SPAN_TIME) or name.endswith(_PER_TIME):
        reliability = load_ceiling("internal_consistency_temporal")
        return over_time(compare), lambda repetitions: ceiling_over_time(reliability(repetitions)), explained_variance
    return compare, load_ceiling("internal_consistency"), explained_variance


def _no_ceiling(quantity: str | None, repetitions: NeuroidAssembly) -> Score:  # noqa: ARG001 - the signature of ceilings
    """Return 1, the expected score of true responses where the metric accounts for noise."""
    ceiling = Score(1.0)
    ceiling.attrs["quantity"] = quantity
    return declare_no_error(ceiling, "exact: the metric itself knows what the noise allows")
