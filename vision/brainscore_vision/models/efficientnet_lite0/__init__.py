"""Register EfficientNet-Lite0, a small network trained on ImageNet."""

from brainscore_vision import model_registry
from brainscore_vision.model_helpers.brain_transformation import ModelCommitment

from .model import LAYERS, READOUT_LAYER, REGION_LAYER_MAP, VISUAL_DEGREES, get_model

model_registry["efficientnet_lite0"] = lambda: ModelCommitment(
    identifier="efficientnet_lite0",
    activations_model=get_model("efficientnet_lite0"),
    layers=LAYERS,
    behavioral_readout_layer=READOUT_LAYER,
    region_layer_map=REGION_LAYER_MAP,
    visual_degrees=VISUAL_DEGREES,
)
