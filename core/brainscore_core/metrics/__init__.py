"""Compare assemblies: the score, and the contracts of metric and ceiling."""

from brainscore_core.metrics._metric import Ceiling, Metric, Quantity, described, single_score
from brainscore_core.metrics._score import Score

__all__ = ["Ceiling", "Metric", "Quantity", "Score", "described", "single_score"]
