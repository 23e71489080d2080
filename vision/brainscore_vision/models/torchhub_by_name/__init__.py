"""Register networks of torch.hub by repository and entry, such as ``torchhub:facebookresearch/dino:dino_vits16``."""

from brainscore_vision import model_registry
from brainscore_vision.model_helpers.adapters.libraries import LIBRARIES

model_registry["torchhub:"] = LIBRARIES["torchhub"]
