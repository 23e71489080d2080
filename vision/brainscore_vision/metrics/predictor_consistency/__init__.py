"""Estimate reliability from halves of each stimulus's own repetitions."""

from brainscore_vision import metric_registry
from brainscore_vision.data_helpers import cite_plugin

from .ceiling import SplitHalfPredictorConsistency

metric_registry["predictor_consistency"] = SplitHalfPredictorConsistency

BIBTEX = cite_plugin("metrics/internal_consistency")
