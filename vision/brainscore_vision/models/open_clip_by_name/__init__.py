"""Register the image towers of open_clip by architecture and training, such as ``open_clip:ViT-B-32/openai``."""

from brainscore_vision import model_registry
from brainscore_vision.model_helpers.adapters.libraries import LIBRARIES

model_registry["open_clip:"] = LIBRARIES["open_clip"]
