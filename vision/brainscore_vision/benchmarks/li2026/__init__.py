"""Register the benchmarks on macaque V1, V2, V4 and IT that see natural scenes of NSD (Li et al. 2026)."""

from brainscore_vision import benchmark_registry

from .benchmark import Li2026, Li2026RDM

benchmark_registry["Li2026.V1-ridgecv"] = lambda: Li2026("V1", "ridgecv")
benchmark_registry["Li2026.V2-ridgecv"] = lambda: Li2026("V2", "ridgecv")
benchmark_registry["Li2026.V4-ridgecv"] = lambda: Li2026("V4", "ridgecv")
benchmark_registry["Li2026.IT-ridgecv"] = lambda: Li2026("IT", "ridgecv")

benchmark_registry["Li2026.V1-rdm"] = lambda: Li2026RDM("V1")
benchmark_registry["Li2026.V2-rdm"] = lambda: Li2026RDM("V2")
benchmark_registry["Li2026.V4-rdm"] = lambda: Li2026RDM("V4")
benchmark_registry["Li2026.IT-rdm"] = lambda: Li2026RDM("IT")

benchmark_registry["Li2026.V1-pls"] = lambda: Li2026("V1", "pls")
benchmark_registry["Li2026.V2-pls"] = lambda: Li2026("V2", "pls")
benchmark_registry["Li2026.V4-pls"] = lambda: Li2026("V4", "pls")
benchmark_registry["Li2026.IT-pls"] = lambda: Li2026("IT", "pls")
