"""Register the benchmarks of Maniquet, Op de Beeck and Costantino (2024): confusions, and accuracies over tasks."""

from brainscore_vision import benchmark_registry

from .benchmark import Maniquet2024ConfusionSimilarity, Maniquet2024TasksConsistency

benchmark_registry["Maniquet2024-confusion_similarity"] = Maniquet2024ConfusionSimilarity
benchmark_registry["Maniquet2024-tasks_consistency"] = Maniquet2024TasksConsistency
