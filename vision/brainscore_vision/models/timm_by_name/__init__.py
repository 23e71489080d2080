"""Register the networks of timm by their names there, such as ``timm:resnet18.a1_in1k``."""

from brainscore_vision import model_registry
from brainscore_vision.model_helpers.adapters.libraries import LIBRARIES

model_registry["timm:"] = LIBRARIES["timm"]
