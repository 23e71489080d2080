"""Register networks of transformers by their repository, such as ``transformers:google/vit-base-patch16-224``."""

from brainscore_vision import model_registry
from brainscore_vision.model_helpers.adapters.libraries import LIBRARIES

model_registry["transformers:"] = LIBRARIES["transformers"]
