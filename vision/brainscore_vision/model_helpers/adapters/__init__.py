"""Adapt models of any kind to `BrainModel`."""

from brainscore_vision.model_helpers.adapters.front_door import as_brain_model

__all__ = ["as_brain_model"]
