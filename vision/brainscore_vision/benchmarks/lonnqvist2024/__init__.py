"""Register the benchmarks of Lonnqvist2024: judgements of curves that cross, in three experiments."""

from brainscore_vision import benchmark_registry

from .benchmark import accuracy_distance, engineering_accuracy

benchmark_registry["Lonnqvist2024_InlabInstructionsBehavioralAccuracyDistance"] = lambda: accuracy_distance(
    "InlabInstructions", "inlab-instructions"
)
benchmark_registry["Lonnqvist2024_InlabNoInstructionsBehavioralAccuracyDistance"] = lambda: accuracy_distance(
    "InlabNoInstructions", "inlab-no-instructions"
)
benchmark_registry["Lonnqvist2024_OnlineNoInstructionsBehavioralAccuracyDistance"] = lambda: accuracy_distance(
    "OnlineNoInstructions", "online-no-instructions"
)
benchmark_registry["Lonnqvist2024_EngineeringAccuracy"] = engineering_accuracy
