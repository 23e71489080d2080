"""Adapt modules of PyTorch, timm, transformers or open_clip, ONNX files, functions and features to `BrainModel`."""

from brainscore_vision.model_helpers.adapters.front_door import as_brain_model

__all__ = ["as_brain_model"]
