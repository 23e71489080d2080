"""Compare confusions, and accuracies over tasks, of a model and people."""

from brainscore_vision import metric_registry
from brainscore_vision.data_helpers import cite_data

from .metric import ConfusionSimilarity, TasksConsistency

metric_registry["confusion_similarity"] = ConfusionSimilarity
metric_registry["tasks_consistency"] = TasksConsistency

BIBTEX = cite_data("maniquet2024")
