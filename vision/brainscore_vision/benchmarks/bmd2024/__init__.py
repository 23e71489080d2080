"""Register the benchmarks of BMD2024: how accurately people name textured and dotted objects."""

from brainscore_vision import benchmark_registry

from .benchmark import accuracy_distance

benchmark_registry["BMD2024.texture_1Behavioral-accuracy_distance"] = lambda: accuracy_distance("texture_1")
benchmark_registry["BMD2024.texture_2Behavioral-accuracy_distance"] = lambda: accuracy_distance("texture_2")
benchmark_registry["BMD2024.dotted_1Behavioral-accuracy_distance"] = lambda: accuracy_distance("dotted_1")
benchmark_registry["BMD2024.dotted_2Behavioral-accuracy_distance"] = lambda: accuracy_distance("dotted_2")
