"""Register the benchmark on V4 of macaques of Cowley et al. (2026)."""

from brainscore_vision import benchmark_registry

from .benchmark import Cowley2026V4PLS

benchmark_registry["Cowley2026.V4-pls"] = Cowley2026V4PLS
