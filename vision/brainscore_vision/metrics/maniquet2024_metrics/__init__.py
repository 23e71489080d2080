"""Compare confusions, and accuracies over tasks, of a model and people."""

from brainscore_vision import metric_registry

from .metric import ConfusionSimilarity, TasksConsistency

metric_registry["confusion_similarity"] = ConfusionSimilarity
metric_registry["tasks_consistency"] = TasksConsistency

BIBTEX = """@article{maniquet2024recurrent,
  title={Recurrent issues with deep neural network models of visual recognition},
  author={Maniquet, Tim and Op de Beeck, Hans and Costantino, Andrea Ivan},
  journal={bioRxiv},
  year={2024},
  doi={10.1101/2024.04.02.587669}
}"""
