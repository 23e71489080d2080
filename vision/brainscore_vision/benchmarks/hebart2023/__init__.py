"""Register the benchmark of Hebart et al. (2023): which of three objects is the odd one out."""

from brainscore_vision import benchmark_registry

from .benchmark import Hebart2023Match

benchmark_registry["Hebart2023-match"] = Hebart2023Match
