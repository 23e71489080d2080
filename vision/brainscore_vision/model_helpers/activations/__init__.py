"""Read out the activations of models: packaging and caching (`core`), PyTorch modules (`pytorch`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper

__all__ = ["PytorchWrapper"]


def __getattr__(name: str) -> Any:
    # Models without PyTorch import `activations.core`; they shall not pay for torch.
    if name == "PytorchWrapper":
        from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper

        return PytorchWrapper
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
