"""Help to write benchmarks: standard designs, stand-ins for models, and checks."""

from brainscore_vision.benchmark_helpers._format import bound_score, check_standard_format
from brainscore_vision.benchmark_helpers._precomputed import PrecomputedFeatures

__all__ = ["PrecomputedFeatures", "bound_score", "check_standard_format"]
