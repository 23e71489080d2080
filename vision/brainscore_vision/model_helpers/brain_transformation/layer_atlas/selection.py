"""Choose the layer of a region on first access."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from brainscore_core.errors import UnknownIdentifierError
from brainscore_vision.loading import unwatched
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.atlas import make_atlas
from brainscore_vision.model_helpers.brain_transformation.mapping import (
    LayerMap,
    Layers,
    NoLayerForRegionError,
    map_by_depth,
)

if TYPE_CHECKING:
    from brainscore_core.benchmarks import Benchmark
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_vision.model_helpers.brain_transformation.layer_atlas.records import LayerAtlas

__all__ = ["LayerSelection", "RegionLayerMap"]

_logger = logging.getLogger(__name__)


class LayerSelection:
    """Choose among a model's layers, from early to late; see `ModelCommitment`."""

    def __init__(
        self,
        model_identifier: str,
        activations_model: Callable[..., NeuroidAssembly],
        layers: Sequence[str],
        visual_degrees: float,
    ) -> None:
        self.model_identifier = model_identifier
        self.activations_model = activations_model
        self.layers = list(layers)
        self.visual_degrees = visual_degrees

    def __call__(self, selection_identifier: str, benchmark: Benchmark) -> str:
        """Return the layer that scores highest on a benchmark; `selection_identifier` names the choice."""
        return self.atlas({selection_identifier: benchmark})[selection_identifier].layer

    def atlas(self, benchmarks: Mapping[str, Benchmark]) -> LayerAtlas:
        """Score all layers on the benchmarks of all regions; see `make_atlas`."""
        return make_atlas(self.model_identifier, self.activations_model, self.layers, self.visual_degrees, benchmarks)


class RegionLayerMap(LayerMap):
    """The layer of each region, chosen on first access.

    A benchmark of one region thus pays for the choice of that region alone; ``brainscore atlas`` chooses for all of
    them from one pass over the stimuli.

    Parameters
    ----------
    layer_selection
        ``layer_selection(selection_identifier=region, benchmark=benchmark)`` returns a layer.
    region_benchmarks
        Benchmarks for the choice, such as `DeclaredBenchmarks`.
    """

    def __init__(
        self, layer_selection: Callable[..., str] | LayerSelection, region_benchmarks: Mapping[str, Benchmark]
    ) -> None:
        super().__init__()
        self.layer_selection = layer_selection
        self.region_benchmarks = region_benchmarks
        self.atlas: LayerAtlas | None = None

    def __missing__(self, region: str) -> Layers:
        self.commit_region(region)
        return self[region]

    def commit_region(self, region: str) -> None:
        """Choose the layer of a region.

        Raises
        ------
        NoLayerForRegionError
            There is no benchmark for the region.
        UnknownIdentifierError
            None of its benchmarks is available; V1, V2, V4 and IT then get layers by their depth, see `map_by_depth`.
        """
        if region not in self.region_benchmarks:
            layer = (getattr(self.layer_selection, "layers", None) or ["LAYER"])[-1]
            raise NoLayerForRegionError(
                f"There is no benchmark on which to choose the layer of region {region!r}; there are some for "
                f"{', '.join(self.region_benchmarks)}. Name the layer, such as --region-layer {region}={layer}, or "
                f"region_layer_map={{{region!r}: {layer!r}}} in Python."
            )
        with unwatched():  # these data choose the layer; they are not ingredients of the requesting benchmark
            try:
                _ = self.region_benchmarks[region]
            except UnknownIdentifierError as error:  # as in a box, which has no benchmarks
                by_depth = map_by_depth(getattr(self.layer_selection, "layers", ()))
                if region not in by_depth:
                    raise
                _logger.warning("Region %s has the layer at its depth, %s. %s", region, by_depth[region], error)
                self.commit(region, by_depth[region], by_depth.origin(region))
            else:
                self._choose(region)

    def _choose(self, region: str) -> None:
        selection = self.layer_selection
        if not isinstance(selection, LayerSelection) or type(selection).__call__ is not LayerSelection.__call__:
            layer = selection(selection_identifier=region, benchmark=self.region_benchmarks[region])
            self.commit(region, layer, {"from": "selection"})
            return
        self.atlas = selection.atlas({region: self.region_benchmarks[region]})
        choice = self.atlas[region]
        self.commit(region, choice.layer, choice.origin())
