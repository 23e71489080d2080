"""Register a bank of Gabor filters: a model of primary visual cortex that learned nothing."""

from brainscore_vision import model_registry
from brainscore_vision.model_helpers.brain_transformation import ModelCommitment

from .model import LAYERS, REGION_LAYER_MAP, VISUAL_DEGREES, get_model

model_registry["gabor_bank"] = lambda: ModelCommitment(
    identifier="gabor_bank",
    activations_model=get_model("gabor_bank"),
    layers=LAYERS,
    region_layer_map=REGION_LAYER_MAP,
    visual_degrees=VISUAL_DEGREES,
)
