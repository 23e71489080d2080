"""Register the benchmarks on human visual cortex that sees whole and occluded objects (Coggan and Tong 2024)."""

from brainscore_vision import benchmark_registry

from .benchmark import Coggan2024

benchmark_registry["tong.Coggan2024_fMRI.V1-rdm"] = lambda: Coggan2024("V1")
benchmark_registry["tong.Coggan2024_fMRI.V2-rdm"] = lambda: Coggan2024("V2")
benchmark_registry["tong.Coggan2024_fMRI.V4-rdm"] = lambda: Coggan2024("V4")
benchmark_registry["tong.Coggan2024_fMRI.IT-rdm"] = lambda: Coggan2024("IT")
