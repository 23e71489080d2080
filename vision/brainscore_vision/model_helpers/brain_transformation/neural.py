"""Published plugins import this from here: layers of regions, and how to choose them."""

from brainscore_vision.model_helpers.brain_transformation.layer_atlas.scores import LayerScores
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.selection import LayerSelection, RegionLayerMap
from brainscore_vision.model_helpers.brain_transformation.mapping import LayerMappedModel

__all__ = ["LayerMappedModel", "LayerScores", "LayerSelection", "RegionLayerMap"]
