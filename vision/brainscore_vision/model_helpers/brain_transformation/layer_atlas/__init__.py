"""Score all layers on all regions, and choose by cross-validation."""

from brainscore_vision.model_helpers.brain_transformation.layer_atlas.drawing import draw_atlas, save_atlas
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.models import layer_atlas
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.records import LayerAtlas, format_atlas

__all__ = ["LayerAtlas", "draw_atlas", "format_atlas", "layer_atlas", "save_atlas"]
