"""Compare the accuracy of a model with that of people on what both answered."""

from brainscore_vision import metric_registry
from brainscore_vision.data_helpers import cite_data

from .metric import KatoAccuracyDistance

metric_registry["kato_accuracy_distance"] = KatoAccuracyDistance

BIBTEX = cite_data("kato2026")
