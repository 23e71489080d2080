"""Register residual networks of 18, 34 and 50 layers."""

from brainscore_vision import model_registry
from brainscore_vision.model_helpers.brain_transformation import ModelCommitment

from .model import READOUT_LAYER, REGION_LAYER_MAP, VISUAL_DEGREES, get_layers, get_model


def _commit(identifier: str) -> ModelCommitment:
    return ModelCommitment(
        identifier=identifier,
        activations_model=get_model(identifier),
        layers=get_layers(identifier),
        behavioral_readout_layer=READOUT_LAYER,
        region_layer_map=REGION_LAYER_MAP,
        visual_degrees=VISUAL_DEGREES,
    )


model_registry["resnet18"] = lambda: _commit("resnet18")
model_registry["resnet34"] = lambda: _commit("resnet34")
model_registry["resnet50"] = lambda: _commit("resnet50")
