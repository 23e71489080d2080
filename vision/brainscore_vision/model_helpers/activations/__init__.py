"""Read out activations: any framework (`core`), PyTorch (`pytorch`), videos (`temporal`)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.module_wrapper import PytorchWrapper

__all__ = ["PytorchWrapper"]


def __getattr__(name: str) -> Any:  # keeps `activations.core` cheap for models without PyTorch
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("brainscore_vision.model_helpers.activations.pytorch"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
