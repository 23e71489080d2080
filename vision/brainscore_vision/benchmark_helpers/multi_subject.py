"""Published plugins import this from here."""

from brainscore_vision.benchmark_helpers.neural.averaged import (
    WRAPPER_N_BOOTSTRAP,
    KFoldNeuralBenchmark,
    MultiSubjectNeuralBenchmark,
)
from brainscore_vision.benchmark_helpers.neural.averaged import ask_child_for_memory as _scaled_preallocate_memory
from brainscore_vision.benchmark_helpers.neural.averaged import raw_mean as _child_raw_scalar
from brainscore_vision.benchmark_helpers.neural.averaged import release as _release
from brainscore_vision.benchmark_helpers.recordings.blocks import block_diagonal_concat

__all__ = [
    "WRAPPER_N_BOOTSTRAP",
    "KFoldNeuralBenchmark",
    "MultiSubjectNeuralBenchmark",
    "_child_raw_scalar",
    "_release",
    "_scaled_preallocate_memory",
    "block_diagonal_concat",
]
