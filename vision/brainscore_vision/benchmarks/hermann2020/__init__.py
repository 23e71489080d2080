"""Register the benchmarks of Hermann et al. (2020): shape against texture in images that show both."""

from brainscore_vision import benchmark_registry

from .benchmark import CueConflict

benchmark_registry["Hermann2020cueconflict-shape_bias"] = lambda: CueConflict("shape_bias")
benchmark_registry["Hermann2020cueconflict-shape_match"] = lambda: CueConflict("shape_match")
