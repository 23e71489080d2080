"""Choose the default layers of regions."""

from collections.abc import Sequence

from brainscore_vision.model_helpers.brain_transformation.mapping import LayerMap

__all__ = ["region_map_for"]


def region_map_for(layers: Sequence[str]) -> LayerMap | None:
    """Map every region to a single layer; None if `ModelCommitment` chooses among several."""
    return _SingleLayer(layers[0]) if len(layers) == 1 else None


class _SingleLayer(LayerMap):
    def __init__(self, layer: str) -> None:
        super().__init__()
        self._layer = layer

    def __missing__(self, region: str) -> str:
        self.commit(region, self._layer, {"from": "single layer"})
        return self._layer
