"""Register AlexNet, the network that others are compared with."""

from brainscore_vision import model_registry
from brainscore_vision.model_helpers.brain_transformation import ModelCommitment

from .model import LAYERS, READOUT_LAYER, REGION_LAYER_MAP, VISUAL_DEGREES, get_model

model_registry["alexnet"] = lambda: ModelCommitment(
    identifier="alexnet",
    activations_model=get_model("alexnet"),
    layers=LAYERS,
    behavioral_readout_layer=READOUT_LAYER,
    region_layer_map=REGION_LAYER_MAP,
    visual_degrees=VISUAL_DEGREES,
)
