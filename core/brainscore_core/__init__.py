"""Serve every Brain-Score domain: data standards, contracts, the plugin system and scoring.

Names are loaded on first use, which keeps importing the package fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from brainscore_core._version import __version__

if TYPE_CHECKING:
    from brainscore_core.benchmarks import Benchmark
    from brainscore_core.metrics import Ceiling, Metric, Score

__all__ = ["Benchmark", "Ceiling", "Metric", "Score", "__version__"]


def __getattr__(name: str) -> Any:  # a class
    for home in ("brainscore_core.metrics", "brainscore_core.benchmarks") if name in __all__ else ():
        if hasattr(module := importlib.import_module(home), name):
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
