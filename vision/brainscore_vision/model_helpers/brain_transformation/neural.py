"""Map the layers of a network to brain regions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import numpy as np

from brainscore_core.errors import ConfigurationError, UnknownIdentifierError
from brainscore_vision.model_helpers.brain_transformation.temporal import check_bins, in_time_bins
from brainscore_vision.model_interface import BrainModel

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = ["LayerMappedModel", "find_region_layer_map"]


class LayerMappedModel(BrainModel):
    """Give the activations of those layers that stand for a region, in the time bins of a recording.

    Parameters
    ----------
    activations_model : callable
        ``activations_model(stimuli, layers=[...], number_of_trials=..., require_variance=...)`` returns a
        `NeuroidAssembly` with level ``layer``.
    region_layer_map : mapping of str to str or list of str, or None
        Layer or layers of each region. None: looked up with `find_region_layer_map` when it is needed.
    visual_degrees : float or None
        Width of the field of view, in degrees. None: unknown.
    """

    def __init__(
        self,
        identifier: str,
        activations_model: Callable[..., NeuroidAssembly],
        region_layer_map: Mapping[str, str | list[str]] | None,
        visual_degrees: float | None = None,
    ) -> None:
        self._identifier = identifier
        self.activations_model = activations_model
        self._region_layer_map = None if region_layer_map is None else dict(region_layer_map)
        self._visual_degrees = visual_degrees
        self.recorded_regions: list[str] = []
        self._time_bins: list[tuple[float, float]] = []

    @property
    def identifier(self) -> str:
        """Name of the model."""
        return self._identifier

    @property
    def region_layer_map(self) -> dict[str, str | list[str]]:
        """Layer or layers of each region; empty if none is known."""
        if self._region_layer_map is None:
            self._region_layer_map = find_region_layer_map(self.identifier)
        return self._region_layer_map

    def visual_degrees(self) -> float:
        """Return the width of the model's field of view, in degrees."""
        if self._visual_degrees is None:
            raise ConfigurationError(f"Model {self.identifier!r} was made without visual_degrees; pass it.")
        return self._visual_degrees

    def start_recording(self, recording_target: str, time_bins: Sequence[tuple[float, float]] = ((70, 170),)) -> None:
        """See `BrainModel.start_recording`.

        Raises
        ------
        UnknownIdentifierError
            The map has no layer for the region.
        """
        bins = check_bins(time_bins)
        if str(recording_target) not in self.region_layer_map:
            raise UnknownIdentifierError(self._no_layer(str(recording_target)))
        self.recorded_regions, self._time_bins = [str(recording_target)], bins

    def _no_layer(self, region: str) -> str:
        remedy = (
            f"Pass region_layer_map={{{region!r}: '<layer>'}} to ModelCommitment, or put it as JSON into the file "
            f"region_layer_map/{self.identifier}.json in the folder of the model's plugin."
        )
        if not self.region_layer_map:
            return f"Model {self.identifier!r} does not say which layer stands for region {region!r}. {remedy}"
        known = ", ".join(self.region_layer_map)
        return f"Model {self.identifier!r} has no layer for region {region!r}; it has {known}. {remedy}"

    def look_at(
        self, stimuli: StimulusSet, number_of_trials: int = 1, *, require_variance: bool = False
    ) -> NeuroidAssembly:
        """See `BrainModel.look_at`; adds level ``region`` to the neuroids."""
        if not self.recorded_regions:
            raise RuntimeError(
                f"Model {self.identifier!r} is not recording; call start_recording(region, time_bins) before look_at."
            )
        region_of = {
            layer: region for region in self.recorded_regions for layer in _as_list(self.region_layer_map[region])
        }
        activations = self.activations_model(
            stimuli, layers=list(region_of), number_of_trials=number_of_trials, require_variance=require_variance
        )
        regions = np.asarray([region_of.get(str(layer), "") for layer in activations["layer"].values], dtype=str)
        return in_time_bins(activations.assign_coords(region=("neuroid", regions)), self._time_bins)


def _as_list(layers: str | Sequence[str]) -> list[str]:
    return [layers] if isinstance(layers, str) else list(layers)


def find_region_layer_map(identifier: str) -> dict[str, str | list[str]]:
    """Read which layers stand for which regions from the folder of a model's plugin.

    Returns
    -------
    dict of str to str or list of str
        Content of ``region_layer_map/<identifier>.json``; empty if there is no such plugin or file.

    Raises
    ------
    ConfigurationError
        The file is not a JSON object of regions and layers.
    """
    # Most models bring their map and need no look-up.
    from pydantic import Field, TypeAdapter, ValidationError

    from brainscore_vision.loading import find_plugin_directory

    try:
        directory = find_plugin_directory("model", identifier)
    except UnknownIdentifierError:
        return {}
    path = directory / "region_layer_map" / f"{identifier}.json"
    if not path.is_file():
        return {}
    try:
        return TypeAdapter(dict[str, str | Annotated[list[str], Field(min_length=1)]]).validate_json(
            path.read_bytes(), strict=True
        )
    except ValidationError as error:
        raise ConfigurationError(
            f"{path} is not a map of regions to layers: {error.errors()[0]['msg']}. Expected is such as "
            '{"V1": "layer1", "IT": ["layer4"]}.'
        ) from error
