"""Register the networks of torchvision by their names there, such as ``torchvision:resnet18.IMAGENET1K_V1``."""

from brainscore_vision import model_registry
from brainscore_vision.model_helpers.adapters.libraries import LIBRARIES

model_registry["torchvision:"] = LIBRARIES["torchvision"]
