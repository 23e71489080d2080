"""Register the benchmark of Coggan & Tong (2024): how occluders impair the recognition of objects."""

from brainscore_vision import benchmark_registry

from .benchmark import ConditionWiseAccuracySimilarity

benchmark_registry["tong.Coggan2024_behavior-ConditionWiseAccuracySimilarity"] = ConditionWiseAccuracySimilarity
