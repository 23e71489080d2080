"""Register the benchmarks on SIMULATED recordings, which need no download and whose truth is known."""

from brainscore_vision import benchmark_registry

from .benchmark import SimulatedCortex2026ITPLS, SimulatedCortex2026V1PLS

benchmark_registry["SimulatedCortex2026.V1-pls"] = SimulatedCortex2026V1PLS
benchmark_registry["SimulatedCortex2026.IT-pls"] = SimulatedCortex2026ITPLS
