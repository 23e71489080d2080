"""Register CORnet-S, a recurrent network with four areas and the time of their steps."""

from brainscore_vision import model_registry
from brainscore_vision.model_helpers.brain_transformation.recurrent import RecurrentCommitment

from .model import LAYERS, READOUT_LAYER, TIME_MAPPING, VISUAL_DEGREES, get_model

model_registry["cornet_s"] = lambda: RecurrentCommitment(
    identifier="cornet_s",
    activations_model=get_model("cornet_s"),
    layers=LAYERS,
    time_mapping=TIME_MAPPING,
    behavioral_readout_layer=READOUT_LAYER,
    visual_degrees=VISUAL_DEGREES,
)
