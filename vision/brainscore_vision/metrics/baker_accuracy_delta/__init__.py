"""Compare how much a disturbance of the shape of objects costs a model and people."""

from brainscore_vision import metric_registry
from brainscore_vision.data_helpers import cite_data

from .metric import BakerAccuracyDelta

metric_registry["baker_accuracy_delta"] = BakerAccuracyDelta

BIBTEX = cite_data("baker2022")
