"""Record a model as the subjects were recorded (region, time bins, stimuli and their size), and prepare recordings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

import numpy as np
import xarray as xr

from brainscore_core.errors import AssemblyError, ContractError, StimulusError
from brainscore_core.metrics import described
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly, walk_coords
from brainscore_core.supported_data_standards.brainio.transform import average_repetition
from brainscore_vision.benchmark_helpers.checks import answer_of, checked_recordings, name_tested
from brainscore_vision.benchmark_helpers.screen import place_on_screen, presented
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, coords_along, has_coordinate
from brainscore_vision.model_interface import layer_origin, region_layers

if TYPE_CHECKING:
    from brainscore_core.metrics import Score
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.model_interface import BrainModel

__all__ = [
    "DEFAULT_TIMEBINS",
    "RecordingConditions",
    "apply_keep_attrs",
    "block_diagonal_concat",
    "check_degrees",
    "describe",
    "filter_reliable_neuroids",
    "flatten_timebins_into_neuroids",
    "name_neuroids_apart",
    "neuroid_concat",
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
    """Return an assembly's one region; `AssemblyError` if it isn't an assembly, is empty, or has none or several."""
    assembly = checked_recordings(assembly, benchmark=benchmark)
    if "region" not in assembly.coords:
        raise AssemblyError(
            f"The assembly of benchmark {benchmark!r} has no coordinate 'region' on neuroid, the region to "
            f"record in the model. It has {list(assembly.coords)}. Add it: assembly['region'] = 'neuroid', ['IT'] * n."
        )
    regions = np.unique(assembly["region"].values)
    if len(regions) != 1:
        raise AssemblyError(
            f"The assembly of benchmark {benchmark!r} holds the regions {[str(region) for region in regions]}; "
            "expected exactly one. Select it: assembly.sel(neuroid=assembly['region'] == 'IT')."
        )
    return str(regions[0])


def timebins(assembly: xr.DataArray, given: Sequence[tuple[float, float]] | None = None) -> list[tuple[float, float]]:
    """Return the windows to record: the given ones, the assembly's, or `DEFAULT_TIMEBINS`."""
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

    Different stimuli are counted over all assemblies, neuroids in the last; the seed is the first one's.
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


# -- blocks ------------------------------------------------------------------------------------------------------------
# Join assemblies with different neuroids, and the same or different stimuli.


def block_diagonal_concat(
    slices: Sequence[xr.DataArray],
    presentation_coords: Sequence[str] | None = None,
    neuroid_coords: Sequence[str] | None = None,
) -> NeuroidAssembly:
    """Join assemblies with different stimuli and neuroids along both dimensions, such as one per subject.

    Parameters
    ----------
    presentation_coords, neuroid_coords
        Coordinates to keep, of those that every slice has. None: all.

    Returns
    -------
    NeuroidAssembly, dims (presentation, neuroid)
        Slices are blocks on the diagonal; NaN elsewhere. The dtype of the first slice if that is a float, otherwise
        float32.
    """
    dims = ("presentation", "neuroid")
    wrong = [tuple(assembly.dims) for assembly in slices if set(assembly.dims) != set(dims)]
    if wrong or not slices:
        raise AssemblyError(
            f"Expected at least one assembly, all of dimensions {dims}; got {len(slices)}; {len(wrong)} have "
            f"others{f', such as {wrong[0]}' if wrong else ''}. Select or average other dimensions first."
        )
    dtype = slices[0].dtype if slices[0].dtype.kind == "f" else np.dtype(np.float32)
    values = np.full([sum(assembly.sizes[dim] for assembly in slices) for dim in dims], np.nan, dtype=dtype)
    row = column = 0
    for part in slices:
        block = part.transpose(*dims).values
        values[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    coords = {}
    for dim, selection in zip(dims, (presentation_coords, neuroid_coords), strict=True):
        tables = [coords_along(assembly, dim) for assembly in slices]
        for name in tables[0] if selection is None else selection:
            if all(name in table for table in tables):
                coords[name] = (dim, np.concatenate([table[name][1] for table in tables]))
    return NeuroidAssembly(values, coords=coords, dims=list(dims))


def neuroid_concat(parts: Sequence[xr.DataArray]) -> NeuroidAssembly:
    """Join assemblies with different neuroids, such as one per subject, keeping shared stimuli.

    Stimuli are in the order of the first part, with ``stimulus_id``; neuroids with the coordinates that every part has.
    `AssemblyError` if a stimulus repeats within a part, or none is shared by all.
    """
    ids = [coordinate(part, "stimulus_id") for part in parts]
    common = set(ids[0]).intersection(*ids[1:])
    repeated = [position for position, names in enumerate(ids) if len(set(names)) < len(names)]
    if repeated or not common:
        reason = f"stimuli of the assemblies {repeated} occur more than once" if repeated else "no stimulus is in all"
        raise AssemblyError(f"Assemblies cannot be joined: {reason}. Average repetitions, or take other stimuli.")
    shared = [name for name in ids[0] if name in common]
    rows = [{name: row for row, name in enumerate(names)} for names in ids]
    values = [
        part.transpose("presentation", "neuroid").values[[row[name] for name in shared]]
        for part, row in zip(parts, rows, strict=True)
    ]
    tables = [coords_along(part, "neuroid") for part in parts]
    coords = {
        name: ("neuroid", np.concatenate([table[name][1] for table in tables]))
        for name in tables[0]
        if all(name in table for table in tables)
    }
    coords["stimulus_id"] = ("presentation", np.asarray(shared))
    return NeuroidAssembly(np.concatenate(values, axis=1), coords=coords, dims=["presentation", "neuroid"])


# -- preparation -------------------------------------------------------------------------------------------------------
# Prepare recordings.


def filter_reliable_neuroids(assembly: Array, reliab_threshold: float, reliab_coord: str) -> Array:
    """Keep neuroids with a reliability above a threshold; `AssemblyError` if there are none."""
    (dim,) = assembly[reliab_coord].dims
    reliability = np.asarray(assembly[reliab_coord].values, dtype=float)
    reliable = np.flatnonzero(reliability > reliab_threshold)
    if not len(reliable):
        raise AssemblyError(
            f"No neuroid has {reliab_coord!r} above {reliab_threshold}: the highest of {reliability.size} is "
            f"{np.nanmax(reliability)}. Lower the threshold."
        )
    return assembly[{dim: reliable}]


def flatten_timebins_into_neuroids(assembly: Array) -> Array:
    """Treat every pair of neuroid and time bin as a neuroid.

    Dims stay (presentation, neuroid, time_bin); the shape becomes (P, N * T, 1), time bins running fastest. Neuroids
    have ``recording_time``, the start of their bin; the one time bin spans them all.
    """
    expected = ("presentation", "neuroid", "time_bin")
    if tuple(assembly.dims) != expected:
        raise AssemblyError(f"The dims are {tuple(assembly.dims)}; expected {expected}. Use assembly.transpose(*dims).")
    bins = timebins_from_assembly(assembly)
    n_neuroids, n_bins = assembly.sizes["neuroid"], len(bins)
    repeated = coords_along(assembly, "neuroid").items()
    coords = coords_along(assembly, "presentation")
    coords |= {name: (dim, np.repeat(values, n_bins)) for name, (dim, values) in repeated}
    coords["recording_time"] = ("neuroid", np.tile([start for start, _ in bins], n_neuroids))
    coords["time_bin_start"] = ("time_bin", np.array([bins[0][0]]))
    coords["time_bin_end"] = ("time_bin", np.array([bins[-1][1]]))
    values = np.asarray(assembly.values).reshape(assembly.sizes["presentation"], n_neuroids * n_bins, 1)
    return type(assembly)(values, coords=coords, dims=expected, attrs=dict(assembly.attrs))


def name_neuroids_apart(assembly: Array, by: str = "subject") -> Array:
    """Rename neuroids ``<subject>/<neuroid_id>`` unless their ids are unique; values are not copied.

    `by` is the coordinate within which ``neuroid_id`` is unique; `AssemblyError` if it is not.
    """
    ids, groups = (coordinate(assembly, name).astype(str) for name in ("neuroid_id", by))
    if len(np.unique(ids)) == len(ids):
        return assembly
    names = np.char.add(np.char.add(groups, "/"), ids)
    repeated = len(names) - len(np.unique(names))
    if repeated:
        raise AssemblyError(f"{repeated} neuroids have the neuroid_id of another also within one {by!r}; rename them.")
    coords = {name: (dims, values) for name, dims, values in walk_coords(assembly)}
    coords["neuroid_id"] = (assembly["neuroid_id"].dims, names)
    return type(assembly)(assembly.values, coords=coords, dims=assembly.dims, attrs=dict(assembly.attrs))


def apply_keep_attrs(assembly: Array, fnc: Callable[[Array], Array]) -> Array:
    """Return ``fnc(assembly)`` with a copy of the assembly's attributes."""
    result = fnc(assembly)
    result.attrs = dict(assembly.attrs)
    return result
