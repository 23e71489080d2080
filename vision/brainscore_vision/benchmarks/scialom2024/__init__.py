"""Register the benchmarks of Lonnqvist, Scialom et al. (2025): 20 ways to draw an object, and two joint sets."""

from functools import partial

from brainscore_vision import benchmark_registry

from .benchmark import accuracy_distance, engineering_accuracy, error_consistency

PARTS = ("12", "16", "21", "27", "35", "46", "59", "77", "100")  # percent of the elements that are drawn

for name in ("rgb", "contours"):
    benchmark_registry[f"Scialom2024_{name}BehavioralAccuracyDistance"] = partial(accuracy_distance, name)
    benchmark_registry[f"Scialom2024_{name}EngineeringAccuracy"] = partial(engineering_accuracy, name)
for kind in ("phosphenes", "segments"):
    for part in PARTS:
        benchmark_registry[f"Scialom2024_{kind}-{part}BehavioralAccuracyDistance"] = partial(
            accuracy_distance, f"{kind}-{part}"
        )
        benchmark_registry[f"Scialom2024_{kind}-{part}EngineeringAccuracy"] = partial(
            engineering_accuracy, f"{kind}-{part}"
        )
    benchmark_registry[f"Scialom2024_{kind}-allBehavioralErrorConsistency"] = partial(error_consistency, f"{kind}-all")
    benchmark_registry[f"Scialom2024_{kind}-allBehavioralAccuracyDistance"] = partial(accuracy_distance, f"{kind}-all")
