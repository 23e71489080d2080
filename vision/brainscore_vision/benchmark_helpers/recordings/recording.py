"""Record a model as the subjects were recorded: region, time bins, stimuli and their size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

import numpy as np
import xarray as xr

from brainscore_core.errors import AssemblyError, ContractError, StimulusError
from brainscore_core.metrics import described
from brainscore_core.supported_data_standards.brainio.transform import average_repetition
from brainscore_vision.benchmark_helpers.checks.handover import answer_of, checked_recordings, name_tested
from brainscore_vision.benchmark_helpers.screen.placement import place_on_screen
from brainscore_vision.benchmark_helpers.screen.presentation import presented
from brainscore_vision.metric_helpers.labelled.alignment import has_coordinate
from brainscore_vision.model_interface import layer_origin, region_layers

if TYPE_CHECKING:
    from brainscore_core.metrics import Score
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.model_interface import BrainModel

__all__ = [
    "DEFAULT_TIMEBINS",
    "RecordingConditions",
    "check_degrees",
    "describe",
    "record",
    "region_of",
    "show",
    "squeeze_single_timebin",
    "timebins",
    "timebins_from_assembly",
    "varies_over_time",
]

Array = TypeVar("Array", bound=xr.DataArray)

DEFAULT_TIMEBINS = [(70, 170)]
"""Window to record for measurements without time bins, ms after stimulus onset."""


class RecordingConditions(NamedTuple):
    """An experiment's conditions, repeated for a model."""

    region: str
    time_bins: Sequence[tuple[float, float]]  # ms after stimulus onset
    visual_degrees: float | None  # width of the stimuli; None: their column "degrees"
    number_of_trials: int


def check_degrees(visual_degrees: float | None, benchmark: str) -> None:
    """Raise `StimulusError` unless the width is positive; None refers to the column ``degrees``."""
    if visual_degrees is not None and not (np.isfinite(visual_degrees) and visual_degrees > 0):
        raise StimulusError(
            f"Benchmark {benchmark!r} shows its stimuli at {visual_degrees} degrees; expected positive numbers of "
            "degrees of visual angle: how wide they were in the experiment."
        )


def region_of(assembly: xr.DataArray, benchmark: str) -> str:
    """Return an assembly's one region; `AssemblyError` if it is no assembly, is empty, or has none or several."""
    assembly = checked_recordings(assembly, benchmark=benchmark)
    if "region" not in assembly.coords:
        raise AssemblyError(
            f"The assembly of benchmark {benchmark!r} has no coordinate 'region' on neuroid, which says where to "
            f"record the model. It has {list(assembly.coords)}. Add it: assembly['region'] = 'neuroid', ['IT'] * n."
        )
    regions = np.unique(assembly["region"].values)
    if len(regions) != 1:
        raise AssemblyError(
            f"The assembly of benchmark {benchmark!r} holds the regions {[str(region) for region in regions]}; "
            "expected exactly one. Select it: assembly.sel(neuroid=assembly['region'] == 'IT')."
        )
    return str(regions[0])


def timebins(assembly: xr.DataArray, given: Sequence[tuple[float, float]] | None = None) -> list[tuple[float, float]]:
    """Return the windows to record: those given, else of the assembly, else `DEFAULT_TIMEBINS`."""
    if given is not None:
        return [(start, end) for start, end in given]
    try:
        return timebins_from_assembly(assembly)
    except KeyError:
        return list(DEFAULT_TIMEBINS)


def timebins_from_assembly(assembly: xr.DataArray) -> list[tuple[float, float]]:
    """Return the windows of an assembly, ms after stimulus onset; `KeyError` if it has none.

    ``time_bin`` may be a dimension, or a scalar coordinate after `squeeze`.
    """
    if "time_bin_start" in assembly.coords and "time_bin_end" in assembly.coords:
        starts, ends = (np.atleast_1d(assembly[name].values).tolist() for name in ("time_bin_start", "time_bin_end"))
        return list(zip(starts, ends, strict=True))
    if "time_bin" not in assembly.coords:
        raise KeyError(
            "The assembly has no time_bin: expected the coordinates time_bin_start and time_bin_end. "
            f"It has {list(assembly.coords)}."
        )
    bins = assembly["time_bin"].values
    pairs = [bins.item()] if bins.ndim == 0 else bins
    return [(np.asarray(start).item(), np.asarray(end).item()) for start, end in pairs]


def squeeze_single_timebin(assembly: Array) -> Array:
    """Remove a time bin of length one, keeping its coordinates; return other assemblies unchanged."""
    if "time_bin" in assembly.dims and assembly.sizes["time_bin"] == 1:
        return assembly.squeeze("time_bin")
    return assembly


def varies_over_time(responses: xr.DataArray) -> bool:
    """Return whether any response changes between time bins."""
    if "time_bin" not in responses.dims:
        return False
    values = responses.transpose(..., "time_bin").values
    return bool((values != values[..., :1]).any())


def show(
    candidate: BrainModel, stimulus_set: StimulusSet, visual_degrees: float | None, number_of_trials: int
) -> NeuroidAssembly:
    """Show stimuli at their size in the experiment to a recording model.

    The answer is averaged over ``repetition`` if stimuli have several trials; a time bin of length one is squeezed.
    """
    on_screen = place_on_screen(
        stimulus_set, target_visual_degrees=candidate.visual_degrees(), source_visual_degrees=visual_degrees
    )
    shown = presented(candidate).look_at(on_screen, number_of_trials=number_of_trials)
    activity = cast("NeuroidAssembly", shown)
    answer_of(candidate, activity, ["presentation", "neuroid"])
    if activity.sizes["presentation"] > len(on_screen) and has_coordinate(activity, "repetition"):
        activity = average_repetition(activity)
    return squeeze_single_timebin(activity)


def record(
    candidate: BrainModel, assembly: NeuroidAssembly, conditions: RecordingConditions, *, benchmark: str
) -> NeuroidAssembly:
    """Record a model that sees the stimuli of recordings; `AssemblyError` if they lack these."""
    if isinstance(candidate, (str, type)):
        remedy = f"Load it: load_model({candidate!r})." if isinstance(candidate, str) else "Make one of the class."
        raise ContractError(
            f"Benchmark {benchmark!r} is asked to score {described(candidate)}; expected a model. {remedy}"
        )
    assembly = checked_recordings(assembly, benchmark=benchmark)
    candidate.start_recording(conditions.region, time_bins=conditions.time_bins)
    stimulus_set = assembly.attrs.get("stimulus_set")
    if stimulus_set is None:
        raise AssemblyError(
            f"The assembly of benchmark {benchmark!r} has no attribute 'stimulus_set', so there is nothing to show. "
            "Load it with a stimulus_set_loader; after arithmetic or a reduction set assembly.attrs['stimulus_set']."
        )
    return show(candidate, stimulus_set, conditions.visual_degrees, conditions.number_of_trials)


def describe(
    score: Score, candidate: BrainModel, assemblies: Sequence[xr.DataArray], conditions: RecordingConditions
) -> None:
    """Attach the facts of a score's summary.

    Different stimuli are counted over all assemblies, neuroids in the last; the seed is that of the first.
    """
    stimulus_ids = {stimulus_id for assembly in assemblies for stimulus_id in assembly["stimulus_id"].values.tolist()}
    score.attrs.update(
        n_stimuli=len(stimulus_ids),
        n_neuroids=int(assemblies[-1].sizes["neuroid"]),
        n_trials=int(conditions.number_of_trials),
        simulated=any(bool(assembly.attrs.get("simulated", False)) for assembly in assemblies),
    )
    name_tested(score, assemblies[-1])
    seed = assemblies[0].attrs.get("seed")
    if seed is not None:
        score.attrs["seed"] = int(seed)
    layers = region_layers(candidate)
    if conditions.region in layers:
        score.attrs["layers"] = {conditions.region: layers[conditions.region]}
        origin = layer_origin(candidate, conditions.region)
        if origin:
            score.attrs["layer_origin"] = {conditions.region: origin}
