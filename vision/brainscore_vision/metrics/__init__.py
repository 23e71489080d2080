"""Offer the contracts of metrics and hold one plugin folder for each family of metrics.

Several metrics take ``compat=True``: it gives the number of the published system where ours differs on purpose. What
differs, and why, is in the docstring of the plugin's module; what is longer than a line, in its `published`.

Names are loaded when they are first used. Plugin folders are found by `brainscore_vision.load_metric` and
never imported from here.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brainscore_core.metrics import Ceiling, Metric, Score

__all__ = ["Ceiling", "Metric", "Score"]


def __getattr__(name: str) -> Any:  # a class or a function
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("brainscore_core.metrics"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
