"""Score all layers on all regions, and choose by cross-validation."""

from brainscore_vision.model_helpers.brain_transformation.layer_atlas.records import (
    LayerAtlas,
    draw_atlas,
    format_atlas,
    save_atlas,
)
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.selection import layer_atlas

__all__ = ["LayerAtlas", "draw_atlas", "format_atlas", "layer_atlas", "save_atlas"]
