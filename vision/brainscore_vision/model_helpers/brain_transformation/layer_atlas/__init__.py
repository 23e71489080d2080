"""Score all layers of a model on all regions from one pass over the stimuli, and choose by cross-validation."""

from brainscore_vision.model_helpers.brain_transformation.layer_atlas.drawing import draw_atlas, save_atlas
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.models import layer_atlas
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.records import LayerAtlas, format_atlas

__all__ = ["LayerAtlas", "draw_atlas", "format_atlas", "layer_atlas", "save_atlas"]
