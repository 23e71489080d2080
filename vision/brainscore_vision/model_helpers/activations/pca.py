"""Published plugins import this from here."""

from __future__ import annotations

from brainscore_vision.model_helpers.activations.reduction import LayerPCA

__all__ = ["LayerPCA"]
