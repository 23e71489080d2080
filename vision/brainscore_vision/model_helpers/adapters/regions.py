"""Choose the default layers of regions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from brainscore_vision.model_helpers.brain_transformation.mapping import LayerMap, Layers

__all__ = ["map_by_depth", "region_map_for"]

_DEPTHS = {"V1": 0.25, "V2": 0.5, "V4": 0.75, "IT": 1.0}


def region_map_for(layers: Sequence[str]) -> LayerMap | None:
    """Map every region to a single layer; None for several layers, among which `ModelCommitment` chooses."""
    return _SingleLayer(layers[0]) if len(layers) == 1 else None


def map_by_depth(layers: Sequence[str]) -> LayerMap:
    """Map V1, V2, V4 and IT to the layers that end each quarter of the depth.

    Examples
    --------
    >>> dict(map_by_depth(["stem", "layer1", "layer2", "layer3", "layer4"]))
    {'V1': 'layer1', 'V2': 'layer2', 'V4': 'layer3', 'IT': 'layer4'}
    """
    mapped: dict[str, Layers] = {
        region: layers[math.ceil(depth * len(layers)) - 1] for region, depth in _DEPTHS.items()
    }
    return LayerMap(mapped, {region: {"from": "depth"} for region in mapped})


class _SingleLayer(LayerMap):
    def __init__(self, layer: str) -> None:
        super().__init__()
        self._layer = layer

    def __missing__(self, region: str) -> str:
        self.commit(region, self._layer, {"from": "single layer"})
        return self._layer
