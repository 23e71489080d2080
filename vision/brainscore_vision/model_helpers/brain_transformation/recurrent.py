"""Give each step of a recurrent network a time in ms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.errors import ConfigurationError, UnknownIdentifierError, did_you_mean
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly, walk_coords
from brainscore_vision.model_helpers.brain_transformation.commitment import ModelCommitment
from brainscore_vision.model_helpers.brain_transformation.mapping import LayerMappedModel
from brainscore_vision.model_helpers.brain_transformation.temporal import check_bins

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.model_helpers.brain_transformation.label_maps import GivenMap

__all__ = ["RecurrentCommitment", "RecurrentLayers", "regular_steps"]

ActivationsModel = Callable[..., NeuroidAssembly]
TimeMapping = Mapping[str, Mapping[int, tuple[float, float]]]


def regular_steps(regions: Mapping[str, tuple[float, float, int]]) -> dict[str, dict[int, tuple[float, float]]]:
    """Return start and end by region and step of equally long steps, ms after onset.

    Parameters
    ----------
    regions : mapping of str to (start, duration, steps)
        Start of the first step, duration of each step, ms, and number of steps.

    Examples
    --------
    >>> regular_steps({'IT': (100, 50, 2)})
    {'IT': {0: (100, 150), 1: (150, 200)}}
    """
    return {
        region: {step: (start + step * duration, start + (step + 1) * duration) for step in range(steps)}
        for region, (start, duration, steps) in regions.items()
    }


class RecurrentLayers(LayerMappedModel):
    """Give activations of a region's step nearest to each time bin.

    Parameters
    ----------
    activations_model
        Takes layers ``'<layer>-t<step>'``, such as a `RecurrentPytorchWrapper`.
    region_layer_map
        Layer or layers of each region, without steps.
    time_mapping
        Start and end of each step of each region, ms after stimulus onset; see `regular_steps`.
    """

    def __init__(
        self,
        identifier: str,
        activations_model: ActivationsModel,
        region_layer_map: Mapping[str, str | list[str]],
        time_mapping: TimeMapping,
        visual_degrees: float | None = None,
    ) -> None:
        super().__init__(identifier, activations_model, region_layer_map, visual_degrees=visual_degrees)
        self.time_mapping = {region: dict(sorted(steps.items())) for region, steps in time_mapping.items()}
        for region in region_layer_map:
            if not self.time_mapping.get(region):
                raise ConfigurationError(
                    f"The time mapping of model {identifier!r} has no entry for region {region!r}; expected start "
                    "and end of its steps in ms, such as {'IT': {0: (100, 200), 1: (200, 300)}}."
                )
            check_bins(list(self.time_mapping[region].values()))
        self._time_bins: list[tuple[float, float]] = []

    def start_recording(
        self, recording_target: str, time_bins: Sequence[tuple[float, float]] | None = ((70, 170),)
    ) -> None:
        """See `BrainModel.start_recording`."""
        bins = check_bins(time_bins or ())
        super().start_recording(recording_target)
        self._time_bins = bins

    def look_at(
        self, stimuli: StimulusSet, number_of_trials: int = 1, require_variance: bool = False
    ) -> NeuroidAssembly:
        """See `BrainModel.look_at`.

        Returns
        -------
        NeuroidAssembly (presentation, neuroid[, time_bin])
            For each requested bin the step whose start is nearest to the bin's start, the earlier one of two.
            ``time_bin_start`` and ``time_bin_end`` are the requested ones; a single bin leaves no dimension
            ``time_bin``. Levels ``layer`` and ``neuroid_id`` do not name the step.
        """
        if not self.recorded_regions:
            raise RuntimeError(
                f"Model {self.identifier!r} is not recording; call start_recording(region, time_bins) before look_at."
            )
        region = self.recorded_regions[0]
        steps = self._nearest_steps(region)
        mapped = self.region_layer_map[region]
        layers = [mapped] if isinstance(mapped, str) else list(mapped)
        used = sorted(set(steps))
        activations = self.activations_model(
            stimuli,
            layers=[f"{layer}-t{step}" for step in used for layer in layers],
            number_of_trials=number_of_trials,
            require_variance=require_variance,
        ).transpose("presentation", "neuroid")
        names = activations["layer"].values
        parts = {
            step: np.concatenate([np.flatnonzero(names == f"{layer}-t{step}") for layer in layers]) for step in used
        }
        return self._in_bins(activations, [parts[step] for step in steps], region)

    def _nearest_steps(self, region: str) -> list[int]:
        numbers = list(self.time_mapping[region])
        starts = np.asarray([self.time_mapping[region][step][0] for step in numbers])
        return [numbers[int(np.abs(starts - start).argmin())] for start, _ in self._time_bins]

    def _in_bins(
        self, activations: NeuroidAssembly, parts: list[np.ndarray[tuple[int], np.dtype[np.intp]]], region: str
    ) -> NeuroidAssembly:
        first = parts[0]
        coords = {
            name: (dims, values[first] if dims == ("neuroid",) else values)
            for name, dims, values in walk_coords(activations)
            if name != "neuroid_id"
        }
        layer_of = np.asarray([name.rpartition("-t")[0] for name in coords["layer"][1]])
        coords["layer"] = (("neuroid",), layer_of)
        numbers = coords["neuroid_num"][1]
        ids = [f"{self.identifier}.{layer}.{number}" for layer, number in zip(layer_of, numbers, strict=True)]
        coords |= {"neuroid_id": (("neuroid",), np.asarray(ids)), "region": (("neuroid",), np.full(len(ids), region))}
        values = activations.values
        if len(parts) == 1:
            return NeuroidAssembly(values[:, first], coords=coords, dims=["presentation", "neuroid"])
        starts, ends = zip(*self._time_bins, strict=True)
        return NeuroidAssembly(
            np.stack([values[:, part] for part in parts], axis=-1),
            coords={**coords, "time_bin_start": ("time_bin", list(starts)), "time_bin_end": ("time_bin", list(ends))},
            dims=["presentation", "neuroid", "time_bin"],
        )


class RecurrentCommitment(ModelCommitment):
    """A recurrent network with parts named after regions, committed to the times of its steps.

    See `RecurrentLayers` and `ModelCommitment` for further parameters.

    Parameters
    ----------
    layers
        Such as ``['V1.output-t0', ..., 'IT.output-t0', 'IT.output-t1', 'decoder.avgpool-t0']``. For each region of the
        time mapping, its layers begin with ``'<region>.'``.

    References
    ----------
    Kubilius, Schrimpf et al. (2019), NeurIPS 32, https://doi.org/10.48550/arXiv.1909.06161
    """

    def __init__(
        self,
        identifier: str,
        activations_model: ActivationsModel,
        layers: Sequence[str],
        time_mapping: TimeMapping,
        behavioral_readout_layer: str | Sequence[str] | None = None,
        visual_degrees: float = 8,
        *,
        label_map: GivenMap | None = None,
    ) -> None:
        regions = _layers_of_regions(identifier, layers, time_mapping)
        super().__init__(
            identifier,
            activations_model,
            layers,
            behavioral_readout_layer=behavioral_readout_layer,
            region_layer_map=regions,
            visual_degrees=visual_degrees,
            label_map=label_map,
        )
        steps = RecurrentLayers(identifier, activations_model, regions, time_mapping, visual_degrees)
        self.layer_model, self.time_mapping = steps, steps.time_mapping


def _layers_of_regions(identifier: str, layers: Sequence[str], time_mapping: TimeMapping) -> dict[str, str | list[str]]:
    regions: dict[str, str | list[str]] = {}
    for region in time_mapping:
        names = [layer.rpartition("-t")[0] or layer for layer in layers if layer.startswith(f"{region}.")]
        if not names:
            starts = sorted({layer.partition(".")[0] for layer in layers})
            raise UnknownIdentifierError(
                f"The time mapping of model {identifier!r} has region {region!r}, but no layer begins with "
                f"'{region}.'; layers begin with {', '.join(starts)}.{did_you_mean(region, starts)}"
            )
        regions[region] = list(dict.fromkeys(names))
    return regions
