"""Register four networks of timm: a vision transformer, ConvNeXt, the image tower of CLIP, and DINOv2."""

from brainscore_vision import model_registry
from brainscore_vision.model_helpers.brain_transformation import ModelCommitment

from .model import MODELS, VISUAL_DEGREES, get_layers, get_model


def _commit(identifier: str) -> ModelCommitment:
    return ModelCommitment(
        identifier=identifier,
        activations_model=get_model(identifier),
        layers=get_layers(identifier),
        behavioral_readout_layer=MODELS[identifier].features,
        region_layer_map=MODELS[identifier].region_layer_map,
        visual_degrees=VISUAL_DEGREES,
    )


model_registry["vit_b_16"] = lambda: _commit("vit_b_16")
model_registry["convnext_tiny"] = lambda: _commit("convnext_tiny")
model_registry["clip_vit_b_32"] = lambda: _commit("clip_vit_b_32")
model_registry["dinov2_vits14"] = lambda: _commit("dinov2_vits14")
