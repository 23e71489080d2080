"""Compare all layers of a model with all regions from one pass over the stimuli, and choose by cross-validation.

==============  ========================================================================================================
`models`        `layer_atlas`: the atlas of a model, on declared public benchmarks or on those that are named
`atlas`         `make_atlas`: all layers and regions
`one_pass`      show stimuli to a model once, and answer for any layer from that
`fits`          fit one layer to one region, and keep the result
`nested`        choose by nested cross-validation, on arrays
`records`       what came out, as plain numbers and as a table
`drawing`       what came out, as a figure
`scores`        `LayerScores`: layers on one benchmark, each as a model of its own
`selection`     `LayerSelection`, `RegionLayerMap`: choose when a region is first asked for
`declared`      the benchmarks on which layers are chosen when nobody says which
==============  ========================================================================================================
"""

from brainscore_vision.model_helpers.brain_transformation.layer_atlas.drawing import draw_atlas, save_atlas
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.models import layer_atlas
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.records import LayerAtlas, format_atlas

__all__ = ["LayerAtlas", "draw_atlas", "format_atlas", "layer_atlas", "save_atlas"]
