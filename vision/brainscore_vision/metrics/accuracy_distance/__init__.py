"""Compare the accuracy of a model with that of people."""

from brainscore_vision import metric_registry

from .metric import AccuracyDistance

metric_registry["accuracy_distance"] = AccuracyDistance
