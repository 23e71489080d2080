"""Register the benchmark of Coggan & Tong (2024): which ways to occlude an object make it hard to recognise."""

from brainscore_vision import benchmark_registry

from .benchmark import ConditionWiseAccuracySimilarity

benchmark_registry["tong.Coggan2024_behavior-ConditionWiseAccuracySimilarity"] = ConditionWiseAccuracySimilarity
