"""The benchmark contract, and normalisation of scores by ceilings."""

from brainscore_core.benchmarks._benchmark import Benchmark, BenchmarkBase, not_applicable, score_benchmark
from brainscore_core.benchmarks._clusters import InSequence
from brainscore_core.benchmarks._normalization import (
    LazyCeiling,
    as_ceiling,
    ceil_score,
    ceiled_ratio,
    explained_variance,
    explained_variance_ratio,
    validate_pair,
    validate_quantities,
)
from brainscore_core.metrics import Score

__all__ = [
    "Benchmark",
    "BenchmarkBase",
    "InSequence",
    "LazyCeiling",
    "Score",
    "as_ceiling",
    "ceil_score",
    "ceiled_ratio",
    "explained_variance",
    "explained_variance_ratio",
    "not_applicable",
    "score_benchmark",
    "validate_pair",
    "validate_quantities",
]
