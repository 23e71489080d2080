"""Register the pixels of the stimuli as baseline."""

from brainscore_vision import model_registry
from brainscore_vision.model_helpers.brain_transformation import ModelCommitment

from .model import LAYERS, REGION_LAYER_MAP, PixelModel

model_registry["pixels"] = lambda: ModelCommitment(
    identifier="pixels", activations_model=PixelModel(), layers=LAYERS, region_layer_map=REGION_LAYER_MAP
)
