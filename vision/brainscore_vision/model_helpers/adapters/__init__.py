"""Take models as they come: modules of PyTorch, timm, transformers or open_clip, ONNX files, functions, features.

===================== =================================================================================
`front_door`          `as_brain_model`: find out what was given, and make an experimental subject of it
`adapted`             what every adapter takes and returns
`preprocessing`       from files to inputs: named pipelines, functions on one picture, image processors
`regions`             which layer stands for which region
`torch_modules`       PyTorch modules; asks the following three what they know about their own models
`timm_models`         preprocessing, stages and classifier of timm
`transformers_models` the same for transformers
`open_clip_models`    the same for open_clip
`onnx_models`         ONNX files and sessions
`functions`           functions of pictures
`features`            features that were computed elsewhere
`files`               models that a function in a file returns
===================== =================================================================================

Frameworks are imported only if an object of theirs was given.
"""

from brainscore_vision.model_helpers.adapters.front_door import as_brain_model

__all__ = ["as_brain_model"]
