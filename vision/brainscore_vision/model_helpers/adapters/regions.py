"""Decide which layer stands for which region when nobody says it."""

from __future__ import annotations

from collections.abc import Sequence

from brainscore_vision.model_helpers.brain_transformation.mapping import LayerMap

__all__ = ["region_map_for"]


def region_map_for(layers: Sequence[str]) -> LayerMap | None:
    """Return the map of a model that came without one.

    Returns
    -------
    LayerMap or None
        Of a model with a single layer, that layer for every region that is asked for. None of a model with several
        layers: `ModelCommitment` chooses among them.
    """
    return _SingleLayer(layers[0]) if len(layers) == 1 else None


class _SingleLayer(LayerMap):
    """Answer for every region with the one layer that there is."""

    def __init__(self, layer: str) -> None:
        super().__init__()
        self._layer = layer

    def __missing__(self, region: str) -> str:
        self.commit(region, self._layer, {"from": "single layer"})
        return self._layer
