"""Align activity with the time bins of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly, walk_coords
from brainscore_vision.metric_helpers.labelled.alignment import squeeze_time_bin
from brainscore_vision.model_helpers.activations.temporal.alignment import align_bins
from brainscore_vision.model_interface import BrainModel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = [
    "LayerModel",
    "TemporalAligned",
    "align_bins",
    "assembly_time_align",
    "check_bins",
    "fix_timebin_naming",
    "in_time_bins",
    "repeat_in_time",
]

Assembly = TypeVar("Assembly", bound=DataAssembly)
_LEVELS = ("time_bin_start", "time_bin_end")


class LayerModel(Protocol):
    """A model of regions, such as a `LayerMappedModel`."""

    activations_model: Callable[..., NeuroidAssembly]

    @property
    def identifier(self) -> str:
        """Name of the model."""
        ...

    @property
    def region_layer_map(self) -> Mapping[str, str | list[str]]:
        """Layer or layers of each region."""
        ...

    @region_layer_map.setter
    def region_layer_map(self, layers: Mapping[str, str | list[str]]) -> None: ...

    def visual_degrees(self) -> float:
        """Return the width of the field of view, degrees."""
        ...

    def start_task(self, task: str) -> None:
        """Accept the passive task."""
        ...

    def start_recording(self, recording_target: str) -> None:
        """Record from a region."""
        ...

    def look_at(
        self, stimuli: StimulusSet, number_of_trials: int = 1, require_variance: bool = False
    ) -> NeuroidAssembly:
        """See `BrainModel.look_at`."""
        ...


class TemporalAligned(BrainModel):
    """Align the activity of a `LayerModel` with time bins; see `in_time_bins`."""

    def __init__(self, layer_model: LayerModel) -> None:
        self._layer_model = layer_model
        self._time_bins: list[tuple[float, float]] = []

    @property
    def identifier(self) -> str:
        """Name of the model."""
        return self._layer_model.identifier

    @property
    def activations_model(self) -> Callable[..., NeuroidAssembly]:
        """Gives the activations of layers."""
        return self._layer_model.activations_model

    @property
    def region_layer_map(self) -> Mapping[str, str | list[str]]:
        """Layer or layers of each region."""
        return self._layer_model.region_layer_map

    @region_layer_map.setter
    def region_layer_map(self, layers: Mapping[str, str | list[str]]) -> None:
        self._layer_model.region_layer_map = layers

    def visual_degrees(self) -> float:
        """Return the width of the model's field of view, degrees."""
        return self._layer_model.visual_degrees()

    def start_task(self, task: str, fitting_stimuli: object = None) -> None:  # noqa: ARG002 - the interface's
        """See `LayerMappedModel.start_task`."""
        self._layer_model.start_task(task)

    def start_recording(self, recording_target: str, time_bins: Sequence[tuple[float, float]]) -> None:
        """See `LayerMappedModel.start_recording`; for time bins, ms, `check_bins`."""
        bins = check_bins(time_bins)
        self._layer_model.start_recording(recording_target)
        self._time_bins = bins

    def look_at(
        self, stimuli: StimulusSet, number_of_trials: int = 1, require_variance: bool = False
    ) -> NeuroidAssembly:
        """Return activity (presentation, neuroid[, time_bin]), with time if several bins are recorded."""
        options = {"require_variance": True} if require_variance else {}
        answer = self._layer_model.look_at(stimuli, number_of_trials=number_of_trials, **options)
        return in_time_bins(answer, self._time_bins)


def check_bins(time_bins: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return time bins as pairs of start and end, ms; ValueError if there are none or one ends before its start."""
    bins = [tuple(bin_edges) for bin_edges in time_bins]
    wrong = [edges for edges in bins if len(edges) != 2 or not edges[0] < edges[1]]
    if not bins or wrong:
        raise ValueError(
            f"time_bins is {time_bins!r}; expected at least one (start, end) in ms with start < end, such as "
            "[(70, 170)]."
        )
    return [(start, end) for start, end in bins]


def in_time_bins(activity: Assembly, bins: Sequence[tuple[float, float]]) -> Assembly:
    """Return activity in the requested time bins (start, end), ms.

    A static model responds equally in every bin; the activity of a model with time is averaged over the overlap of its
    bins with each requested bin. A single requested bin leaves no dimension ``time_bin``.
    """
    if "time_bin" in activity.dims:
        return squeeze_time_bin(assembly_time_align(activity, bins))
    return activity if len(bins) == 1 else repeat_in_time(activity, bins)


def repeat_in_time(assembly: Assembly, time_bins: Sequence[tuple[float, float]]) -> Assembly:
    """Repeat values along a new dimension ``time_bin`` of (start, end), ms; attributes are dropped."""
    values = np.repeat(assembly.values[..., np.newaxis], len(time_bins), axis=-1)
    return _in_bins(assembly, values, [*assembly.dims, "time_bin"], time_bins)


def _in_bins(
    assembly: Assembly, values: npt.NDArray[np.floating], dims: Sequence[Hashable], bins: Sequence[tuple[float, float]]
) -> Assembly:
    coords = {name: (dims, coord) for name, dims, coord in walk_coords(assembly) if "time_bin" not in dims}
    edges = {level: ("time_bin", [pair[index] for pair in bins]) for index, level in enumerate(_LEVELS)}
    return type(assembly)(values, coords={**coords, **edges}, dims=dims)


def assembly_time_align(
    source: Assembly, target_time_bins: Sequence[tuple[float, float]], mode: str = "portion"
) -> Assembly:
    """Average an assembly (..., time_bin), with levels in ms, onto other time bins (start, end); see `align_bins`.

    Dimensions stay, attributes don't; `AssemblyError` if the source does not cover a target bin.
    """
    source_bins = list(zip(*(source[level].values.tolist() for level in _LEVELS), strict=True))
    uncovered = [edges for edges in target_time_bins if not _is_covered(edges, source_bins)]
    if uncovered:
        raise AssemblyError(
            f"The time bins {uncovered} are not fully covered by the bins of the activity, {source_bins}. Ask for bins "
            "inside of them."
        )
    axis = source.dims.index("time_bin")
    values = align_bins(np.moveaxis(source.values, axis, -1), source_bins, target_time_bins, mode)
    return _in_bins(source, np.moveaxis(values, -1, axis), source.dims, target_time_bins)


def _is_covered(target: tuple[float, float], source_bins: Sequence[tuple[float, float]]) -> bool:
    reached, end = target
    for source_start, source_end in sorted(source_bins):
        if source_start <= reached < source_end:
            reached = source_end
    return reached >= end


def fix_timebin_naming(assembly: Assembly) -> Assembly:
    """Rename levels ``time_bin_level_0`` and ``time_bin_level_1`` to ``time_bin_start`` and ``time_bin_end``."""
    names = {f"time_bin_level_{index}": level for index, level in enumerate(_LEVELS)}
    coords = {names.get(name, name): (dims, values) for name, dims, values in walk_coords(assembly)}
    return type(assembly)(assembly.values, coords=coords, dims=assembly.dims)
