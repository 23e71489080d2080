"""Compare two single numbers."""

from brainscore_vision import metric_registry

from .metric import ValueDelta

metric_registry["value_delta"] = ValueDelta
