"""Register the benchmarks on SIMULATED recordings, which need no download and whose truth is known."""

from brainscore_vision import benchmark_registry

from .benchmark import (
    SimulatedCortex2026,
    SimulatedCortex2026Choices,
    SimulatedCortex2026Preferences,
    SimulatedCortex2026Temporal,
)

benchmark_registry["SimulatedCortex2026.V1-pls"] = lambda: SimulatedCortex2026("V1", "pls")
benchmark_registry["SimulatedCortex2026.V1-ridge"] = lambda: SimulatedCortex2026("V1", "ridge")
benchmark_registry["SimulatedCortex2026.V1-rdm"] = lambda: SimulatedCortex2026("V1", "rdm")
benchmark_registry["SimulatedCortex2026.V1-cka"] = lambda: SimulatedCortex2026("V1", "cka")

benchmark_registry["SimulatedCortex2026.V2-pls"] = lambda: SimulatedCortex2026("V2", "pls")
benchmark_registry["SimulatedCortex2026.V2-ridge"] = lambda: SimulatedCortex2026("V2", "ridge")
benchmark_registry["SimulatedCortex2026.V2-rdm"] = lambda: SimulatedCortex2026("V2", "rdm")
benchmark_registry["SimulatedCortex2026.V2-cka"] = lambda: SimulatedCortex2026("V2", "cka")

benchmark_registry["SimulatedCortex2026.V4-pls"] = lambda: SimulatedCortex2026("V4", "pls")
benchmark_registry["SimulatedCortex2026.V4-ridge"] = lambda: SimulatedCortex2026("V4", "ridge")
benchmark_registry["SimulatedCortex2026.V4-rdm"] = lambda: SimulatedCortex2026("V4", "rdm")
benchmark_registry["SimulatedCortex2026.V4-cka"] = lambda: SimulatedCortex2026("V4", "cka")

benchmark_registry["SimulatedCortex2026.IT-pls"] = lambda: SimulatedCortex2026("IT", "pls")
benchmark_registry["SimulatedCortex2026.IT-ridge"] = lambda: SimulatedCortex2026("IT", "ridge")
benchmark_registry["SimulatedCortex2026.IT-rdm"] = lambda: SimulatedCortex2026("IT", "rdm")
benchmark_registry["SimulatedCortex2026.IT-cka"] = lambda: SimulatedCortex2026("IT", "cka")

# Version 2: the estimator recommended for single repetitions, in addition to version 1.
benchmark_registry["SimulatedCortex2026.V1-ridgecv_signal"] = lambda: SimulatedCortex2026("V1", "ridgecv_signal")
benchmark_registry["SimulatedCortex2026.V2-ridgecv_signal"] = lambda: SimulatedCortex2026("V2", "ridgecv_signal")
benchmark_registry["SimulatedCortex2026.V4-ridgecv_signal"] = lambda: SimulatedCortex2026("V4", "ridgecv_signal")
benchmark_registry["SimulatedCortex2026.IT-ridgecv_signal"] = lambda: SimulatedCortex2026("IT", "ridgecv_signal")

benchmark_registry["SimulatedCortex2026.IT-temporal-pls"] = lambda: SimulatedCortex2026Temporal("pls")
benchmark_registry["SimulatedCortex2026.IT-temporal-ridge"] = lambda: SimulatedCortex2026Temporal("ridge")

benchmark_registry["SimulatedCortex2026-i2n"] = SimulatedCortex2026Choices
benchmark_registry["SimulatedCortex2026.V1-pref_or"] = SimulatedCortex2026Preferences
