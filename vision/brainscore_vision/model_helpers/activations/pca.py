"""Published plugins import this from here."""

from brainscore_vision.model_helpers.activations.reduction import LayerPCA

__all__ = ["LayerPCA"]
