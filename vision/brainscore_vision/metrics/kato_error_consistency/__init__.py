"""Tell whether a model errs on the same stimuli as people, among those that both answered."""

from brainscore_vision import metric_registry
from brainscore_vision.data_helpers import cite_data

from .metric import KatoErrorConsistency

metric_registry["kato_error_consistency"] = KatoErrorConsistency

BIBTEX = cite_data("kato2026")
