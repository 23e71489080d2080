"""Map layers to brain regions, with the origin of the map."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import numpy as np

from brainscore_core.errors import (
    BrainScoreError,
    ConfigurationError,
    NotApplicableError,
    UnknownIdentifierError,
    did_you_mean,
)
from brainscore_vision import loading
from brainscore_vision.model_interface import BrainModel

if TYPE_CHECKING:
    from pathlib import Path

    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = [
    "LayerMap",
    "LayerMappedModel",
    "Layers",
    "NoLayerForRegionError",
    "find_region_layer_map",
    "layer_list",
    "map_by_depth",
]

Layers = str | list[str]
Origin = Mapping[str, object]
EXPLICIT: Origin = {"from": "explicit"}


class NoLayerForRegionError(NotApplicableError, UnknownIdentifierError):
    """A model has no layer for the region to record."""


class LayerMap(dict[str, Layers]):
    """Layer or layers of each region, and their origin.

    Parameters
    ----------
    origins
        For regions without an explicit layer: ``from`` (``'file'`` or ``'selection'``) and details.

    Examples
    --------
    >>> layers = LayerMap({"V1": "conv1"}, {"V1": {"from": "file"}})
    >>> layers.origin("V1")
    {'from': 'file'}
    """

    def __init__(self, layers: Mapping[str, Layers] | None = None, origins: Mapping[str, Origin] | None = None) -> None:
        super().__init__(layers or {})
        self._origins = {region: (self[region], origin) for region, origin in (origins or {}).items()}

    def origin(self, region: str) -> Origin:
        """Return the origin of a region's layer; ``{'from': 'explicit'}`` if set explicitly."""
        stated, origin = self._origins.get(region, (None, EXPLICIT))
        return dict(origin if self.get(region) == stated else EXPLICIT)

    def commit(self, region: str, layers: Layers, origin: Origin) -> None:
        """Set the layer of a region and its origin."""
        self[region] = layers
        self._origins[region] = (layers, origin)


class LayerMappedModel(BrainModel):
    """Give activations of a region's layers, without time; `TemporalAligned` adds it.

    Parameters
    ----------
    region_layer_map : mapping of str to str or list of str, or callable
        A callable returns it when first needed.
    visual_degrees
        Width of the field of view, degrees; None if unknown.
    """

    def __init__(
        self,
        identifier: str,
        activations_model: Callable[..., NeuroidAssembly],
        region_layer_map: Mapping[str, Layers] | Callable[[], Mapping[str, Layers]],
        visual_degrees: float | None = None,
    ) -> None:
        self._identifier = identifier
        self.activations_model = activations_model
        self._find_map = region_layer_map if callable(region_layer_map) else None
        self._map = LayerMap() if callable(region_layer_map) else _as_layer_map(region_layer_map)
        self._visual_degrees = visual_degrees
        self.recorded_regions: list[str] = []

    @property
    def identifier(self) -> str:
        """Name of the model."""
        return self._identifier

    @property
    def region_layer_map(self) -> LayerMap:
        """Layer or layers of each region; entries may be changed."""
        if self._find_map is not None:
            self._map, self._find_map = _as_layer_map(self._find_map()), None
        return self._map

    @region_layer_map.setter
    def region_layer_map(self, layers: Mapping[str, Layers]) -> None:
        self._map, self._find_map = _as_layer_map(layers), None

    def visual_degrees(self) -> float:
        """See `BrainModel.visual_degrees`."""
        if self._visual_degrees is None:
            raise ConfigurationError(f"Model {self.identifier!r} was made without visual_degrees; pass it.")
        return self._visual_degrees

    def start_task(self, task: str, fitting_stimuli: object = None) -> None:  # noqa: ARG002 - the interface's
        """Accept the passive task; `NotImplementedError` for any other."""
        if task != BrainModel.Task.passive:
            raise NotImplementedError(
                f"Model {self.identifier!r} only has layers for regions, so it cannot do the task {task!r}. "
                "ModelCommitment adds behaviour."
            )

    def start_recording(self, recording_target: str, time_bins: Sequence[tuple[float, float]] | None = None) -> None:
        """Record from a region, without time bins; `NoLayerForRegionError` if the map lacks it."""
        if time_bins is not None:
            raise TypeError("LayerMappedModel knows no time bins; wrap it: TemporalAligned(layer_mapped_model).")
        region = str(recording_target)
        try:
            self.region_layer_map[region]
        except BrainScoreError:  # the error of a map that selects layers has more detail
            raise
        except KeyError as error:
            raise NoLayerForRegionError(self._no_layer(region)) from error
        self.recorded_regions = [region]

    def _no_layer(self, region: str) -> str:
        remedy = (
            f"To add one, pass region_layer_map={{{region!r}: '<layer>'}} to ModelCommitment, or write it as JSON to "
            f"region_layer_map/{self.identifier}.json in the folder of the model's plugin; brainscore score takes "
            f"--region-layer {region}=<layer> for a model in a file."
        )
        if not self.region_layer_map:
            return f"Model {self.identifier!r} has no layer for region {region!r}, nor for any other. {remedy}"
        regions = ", ".join(self.region_layer_map)
        hint = did_you_mean(region, self.region_layer_map)
        return f"Model {self.identifier!r} has no layer for region {region!r}; it has {regions}.{hint} {remedy}"

    def look_at(
        self, stimuli: StimulusSet, number_of_trials: int = 1, require_variance: bool = False
    ) -> NeuroidAssembly:
        """Show stimuli; see `BrainModel.look_at`.

        Returns
        -------
        NeuroidAssembly (presentation, neuroid[, time_bin])
            With level ``region`` on the neuroids.

        Raises
        ------
        ConfigurationError
            Two of the recorded regions claim the same layer.
        """
        if not self.recorded_regions:
            raise RuntimeError(
                f"Model {self.identifier!r} is not recording; call start_recording(region, time_bins) before look_at."
            )
        region_of = self._region_of_layer()
        activations = self.run_activations(
            stimuli, layers=list(region_of), number_of_trials=number_of_trials, require_variance=require_variance
        )
        layer_of_neuroid = activations["layer"].values
        regions = np.empty(len(layer_of_neuroid), dtype=f"<U{max(map(len, region_of.values()))}")
        for layer, region in region_of.items():
            regions[layer_of_neuroid == layer] = region
        return activations.assign_coords(region=("neuroid", regions))

    def run_activations(
        self, stimuli: StimulusSet, layers: Sequence[str], number_of_trials: int = 1, require_variance: bool = False
    ) -> NeuroidAssembly:
        """Ask the activations model for layers."""
        return self.activations_model(
            stimuli, layers=list(layers), number_of_trials=number_of_trials, require_variance=require_variance
        )

    def _region_of_layer(self) -> dict[str, str]:
        region_of: dict[str, str] = {}
        for region in self.recorded_regions:
            for layer in layer_list(self.region_layer_map[region]):
                if region_of.setdefault(layer, region) != region:
                    raise ConfigurationError(
                        f"Layer {layer!r} of model {self.identifier!r} is claimed by two regions that are recorded "
                        f"together, {region_of[layer]!r} and {region!r}; its units would count twice. Give each its "
                        "own layer in region_layer_map, or record one region at a time."
                    )
        return region_of


def layer_list(layers: str | Sequence[str]) -> list[str]:
    """Return a region's layers as a list."""
    return [layers] if isinstance(layers, str) else list(layers)


def _as_layer_map(layers: Mapping[str, Layers]) -> LayerMap:
    # A copy, because callers change the entries of a model.
    return copy.copy(layers) if isinstance(layers, LayerMap) else LayerMap(layers)


_DEPTHS = {"V1": 0.25, "V2": 0.5, "V4": 0.75, "IT": 1.0}


def map_by_depth(layers: Sequence[str]) -> LayerMap:
    """Map V1, V2, V4 and IT to the layers that end each quarter of the depth; without layers, map none.

    Examples
    --------
    >>> dict(map_by_depth(["stem", "layer1", "layer2", "layer3", "layer4"]))
    {'V1': 'layer1', 'V2': 'layer2', 'V4': 'layer3', 'IT': 'layer4'}
    """
    mapped: dict[str, Layers] = {
        region: layers[math.ceil(depth * len(layers)) - 1] for region, depth in _DEPTHS.items() if layers
    }
    return LayerMap(mapped, {region: {"from": "depth"} for region in mapped})


def find_region_layer_map(identifier: str) -> LayerMap | None:
    """Read the layers of regions from ``region_layer_map/<identifier>.json`` in the folder of a model's plugin.

    None if there is no such plugin or file; `ConfigurationError` if it is not a JSON object of regions and layers.
    """
    try:
        directory = loading.find_plugin_directory("model", identifier)
    except UnknownIdentifierError:
        return None
    from brainscore_core.records.record import file_name_of  # heavy: pydantic

    path = directory / "region_layer_map" / f"{file_name_of(identifier)}.json"
    if not path.is_file():
        return None
    layers = _read_map(path)
    origin = {"from": "file", "file": f"{path.parent.name}/{path.name}"}
    return LayerMap(layers, dict.fromkeys(layers, origin))


def _read_map(path: Path) -> dict[str, Layers]:
    import pydantic  # slow for start-up

    try:
        layers = Annotated[list[str], pydantic.Field(min_length=1)]
        return pydantic.TypeAdapter(dict[str, str | layers]).validate_json(path.read_bytes(), strict=True)
    except pydantic.ValidationError as error:
        raise ConfigurationError(
            f"{path} is not a map of regions to layers: {error.errors()[0]['msg']}. Expected is such as "
            '{"V1": "layer1", "IT": ["layer4"]}.'
        ) from error
