"""Choose the layers of regions: default benchmarks, the choice on first access, and a whole atlas."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from brainscore_core.errors import ConfigurationError, DownloadError, RequirementsError, UnknownIdentifierError, listed
from brainscore_vision.loading import load_benchmark, unwatched
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.atlas import make_atlas
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.scores import region_recorded
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
    from brainscore_vision.model_interface import BrainModel

__all__ = ["REGION_BENCHMARKS", "DeclaredBenchmarks", "LayerSelection", "RegionLayerMap", "available", "layer_atlas"]

# -- default benchmarks ------------------------------------------------------------------------------------------------
# Declare the default benchmarks for choosing the layers of regions.

REGION_BENCHMARKS: Mapping[str, tuple[str, ...]] = {
    "V1": ("FreemanZiemba2013public.V1-pls", "SimulatedCortex2026.V1-pls"),
    "V2": ("FreemanZiemba2013public.V2-pls", "SimulatedCortex2026.V2-pls"),
    "V4": ("MajajHong2015public.V4-pls", "SimulatedCortex2026.V4-pls"),
    "IT": ("MajajHong2015public.IT-pls", "SimulatedCortex2026.IT-pls"),
}
"""Identifiers for each region; the first one with available data is used.

Public recordings come first, as in the published system, then simulated ones, which every choice reports.
"""

_NOT_HERE = (UnknownIdentifierError, DownloadError, RequirementsError)


class DeclaredBenchmarks(Mapping[str, "Benchmark"]):
    """The benchmark of each region, loaded on first access.

    `declared` are identifiers for each region, in order of preference. None: `REGION_BENCHMARKS`.
    """

    def __init__(self, declared: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self._declared = dict(REGION_BENCHMARKS if declared is None else declared)
        self._loaded: dict[str, Benchmark] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __contains__(self, region: object) -> bool:
        return region in self._declared  # loads nothing

    def __len__(self) -> int:
        return len(self._declared)

    def __getitem__(self, region: str) -> Benchmark:
        """Load a region's benchmark with data; `UnknownIdentifierError` if none is available."""
        if region not in self._loaded:
            self._loaded[region] = self._load(region)
        return self._loaded[region]

    def _load(self, region: str) -> Benchmark:
        problems, preferred = [], self._declared[region][0]
        for identifier in self._declared[region]:
            try:
                benchmark = load_benchmark(identifier)
                _ = benchmark.ceiling  # needs the data
            except _NOT_HERE as error:
                problems.append(f"{identifier}: {error}")
                continue
            if problems:
                _logger.warning(
                    "The layer of region %s is chosen on %s, because %s is not available. Fetch its data (brainscore "
                    "data fetch --benchmark %s), or name the layer: --region-layer %s=LAYER (region_layer_map).",
                    *(region, identifier, preferred, preferred, region),
                )
                _logger.info("Not available:%s", listed(problems))
            return benchmark
        raise UnknownIdentifierError(
            f"None of the benchmarks for choosing the layer of region {region!r} is available:{listed(problems)}\n"
            f"Name the layer: --region-layer {region}=LAYER, or region_layer_map={{{region!r}: 'LAYER'}} in Python."
        )


def available(benchmarks: Mapping[str, Benchmark]) -> dict[str, Benchmark]:
    """Load the benchmarks of all regions, skipping unavailable ones."""
    loaded = {}
    for region in benchmarks:
        try:
            loaded[region] = benchmarks[region]
        except _NOT_HERE as error:
            _logger.info("Region %s gets no layer: %s", region, error)
    return loaded


# -- choice on first access --------------------------------------------------------------------------------------------

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

    A benchmark of one region thus pays only for the choice of that region; ``brainscore atlas`` chooses for all of them
    from one pass over the stimuli.

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
                f"No benchmark is available to choose the layer of region {region!r}; there are some for "
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


# -- atlas of a model --------------------------------------------------------------------------------------------------


def layer_atlas(
    model: BrainModel,
    benchmarks: Sequence[str] | Mapping[str, Benchmark] | None = None,
    *,
    layers: Sequence[str] | None = None,
    seed: int = 0,
) -> LayerAtlas:
    """See `make_atlas`.

    Parameters
    ----------
    model
        With `layers` and `activations_model`, such as a `ModelCommitment`.
    benchmarks
        Identifiers, or benchmarks by region. None: the available ones of `REGION_BENCHMARKS`.
    layers
        From early to late. None: the model's.

    Raises
    ------
    ConfigurationError
        The model has no layers or activations_model.
    UnknownIdentifierError
        There is no such benchmark, or none is available.
    """
    activations_model: Callable[..., Any] | None = getattr(model, "activations_model", None)
    names = layers or getattr(model, "layers", None)
    if activations_model is None or not names:
        raise ConfigurationError(
            f"A {type(model).__qualname__} does not give the activations of its layers; expected a model with layers "
            "and activations_model, such as a ModelCommitment."
        )
    return make_atlas(
        model.identifier, activations_model, list(names), model.visual_degrees(), _benchmarks(benchmarks), seed=seed
    )


def _benchmarks(benchmarks: Sequence[str] | Mapping[str, Benchmark] | None) -> Mapping[str, Benchmark]:
    if isinstance(benchmarks, Mapping):
        return benchmarks
    if benchmarks is None:
        declared = available(DeclaredBenchmarks())
        if not declared:
            raise UnknownIdentifierError(
                "None of the benchmarks that are declared for choosing layers is available. Name others: "
                "benchmarks=['<identifier>', ...]."
            )
        return declared
    loaded = [load_benchmark(identifier) for identifier in benchmarks]
    regions = [region_recorded(benchmark) for benchmark in loaded]
    times = Counter(regions)
    # The identifiers distinguish two benchmarks of one region.
    names = [
        region if times[region] == 1 else str(benchmark.identifier)
        for region, benchmark in zip(regions, loaded, strict=True)
    ]
    return dict(zip(names, loaded, strict=True))
