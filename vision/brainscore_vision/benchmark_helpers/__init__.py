"""Help to write benchmarks: standard designs, stand-ins for models, and checks."""

from brainscore_vision.benchmark_helpers.normalization import bound_score
from brainscore_vision.benchmark_helpers.precomputed import PrecomputedFeatures
from brainscore_vision.benchmark_helpers.standard_format import check_standard_format

__all__ = ["PrecomputedFeatures", "bound_score", "check_standard_format"]
