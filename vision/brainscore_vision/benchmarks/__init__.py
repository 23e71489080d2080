"""Offer the contracts of benchmarks; each folder is the plugin of a family of benchmarks."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brainscore_core.benchmarks import Benchmark, BenchmarkBase, ceil_score, explained_variance, score_benchmark

__all__ = ["Benchmark", "BenchmarkBase", "ceil_score", "explained_variance", "score_benchmark"]


def __getattr__(name: str) -> Any:  # a class or a function
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("brainscore_core.benchmarks"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
