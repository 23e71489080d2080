"""Register HMAX, the classical hierarchy of filters and maxima, which needs no training."""

from brainscore_vision import model_registry
from brainscore_vision.model_helpers.brain_transformation import ModelCommitment

from .model import LAYERS, READOUT_LAYER, REGION_LAYER_MAP, VISUAL_DEGREES, get_model

model_registry["hmax_discs"] = lambda: ModelCommitment(
    identifier="hmax_discs",
    activations_model=get_model("hmax_discs"),
    layers=LAYERS,
    behavioral_readout_layer=READOUT_LAYER,
    region_layer_map=REGION_LAYER_MAP,
    visual_degrees=VISUAL_DEGREES,
)
