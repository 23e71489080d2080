"""Share what every Brain-Score domain needs: data standards, contracts, the plugin system and scoring.

This is the front door. Names are loaded when they are first used, so that importing the package stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from brainscore_core._version import __version__

if TYPE_CHECKING:
    from brainscore_core.benchmarks import Benchmark as Benchmark
    from brainscore_core.metrics import Ceiling as Ceiling
    from brainscore_core.metrics import Metric as Metric
    from brainscore_core.metrics import Score as Score

__all__ = ["Benchmark", "Ceiling", "Metric", "Score", "__version__"]

_HOME_OF = {
    "Benchmark": "brainscore_core.benchmarks",
    "Ceiling": "brainscore_core.metrics",
    "Metric": "brainscore_core.metrics",
    "Score": "brainscore_core.metrics",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
