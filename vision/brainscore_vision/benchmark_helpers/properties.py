"""The design of benchmarks on single-neuron properties, which treats model units like recorded neurons.

Receptive fields are mapped, units at the stimuli selected, and their activations turned into firing rates; the
distribution of a property over units is compared with the published one.

References
----------
Marques et al. (2021), doi:10.1101/2021.03.01.433495.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from brainscore_core.benchmarks import BenchmarkBase, ceil_score
from brainscore_core.errors import AssemblyError, NotApplicableError
from brainscore_vision.benchmark_helpers.checks import checked_metric, compare, name_tested
from brainscore_vision.benchmark_helpers.recordings import region_of, show
from brainscore_vision.benchmark_helpers.stand_ins import once
from brainscore_vision.loading import load_stimulus_set

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from brainscore_core.metrics import Score
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly, PropertyAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices
    from brainscore_vision.model_interface import BrainModel
    from brainscore_vision.utils import LazyLoad

__all__ = [
    "BLANK_STIM_NAME",
    "MARQUES2020",
    "ORIENTATION_STIM_NAME",
    "RF_STIM_NAME",
    "GratingSets",
    "PropertiesBenchmark",
    "ReceptiveFields",
    "centres_of",
    "firing_rate_scale",
    "firing_rates",
    "map_receptive_fields",
    "record_from_model",
    "require_gratings",
    "require_textures",
    "stimulus_position",
    "units_near",
]

# -- presentation order ------------------------------------------------------------------------------------------------
# Require responses in the order of their conditions.

Labels = Mapping[str, NDArray[Any]]  # numbers or strings

_GRATING_COORDS = ("position_y", "position_x", "contrast", "radius", "spatial_frequency", "orientation", "phase")


def require_gratings(activations: xr.DataArray) -> None:
    """Require gratings in the order of the product of their conditions, phases fastest; `AssemblyError` otherwise.

    Sets that are not a full product vary the last three (spatial frequency, orientation, phase) fully within each other
    condition.
    """
    values = {name: np.asarray(activations[name].values) for name in _GRATING_COORDS}
    if len(values["phase"]) != _number_of_combinations(values):
        values = {name: values[name] for name in _GRATING_COORDS[-3:]}
    _require_product(values)


def require_textures(activations: xr.DataArray) -> None:
    """Require each combination of ``type``, ``family`` and ``sample`` once, in any order; `AssemblyError` otherwise."""
    names = ("type", "family", "sample")
    columns = {name: np.asarray(activations[name].values) for name in names}
    order = np.lexsort([columns[name] for name in reversed(names)])
    values = {name: column[order] for name, column in columns.items()}
    _require_product(values, repeats=False)


def _number_of_combinations(values: Labels) -> int:
    return int(np.prod([len(np.unique(column)) for column in values.values()]))


def _require_product(values: Labels, *, repeats: bool = True) -> None:
    size, n_stimuli = _number_of_combinations(values), len(next(iter(values.values())))
    problems = []
    if n_stimuli % size or (n_stimuli != size and not repeats):
        problems.append(f"{n_stimuli} presentations are not {'a multiple of ' if repeats else ''}{size}")
    else:
        grid = np.meshgrid(*(np.unique(column) for column in values.values()), indexing="ij")
        for (name, column), expected in zip(values.items(), grid, strict=True):
            if not np.array_equal(np.tile(expected.ravel(), n_stimuli // size), column):
                problems.append(f"{name!r} is not in its place")
    if problems:
        raise AssemblyError(
            f"Presentations are not an ordered product of {', '.join(values)}: {'; '.join(problems)}. The model must "
            "answer with the stimuli it was shown, in their order."
        )


# ----------------------------------------------------------------------------------------------------------------------

BLANK_STIM_NAME = "Marques2020_blank"
"""Stimulus set: one uniform grey image."""
RF_STIM_NAME = "Marques2020_receptive_field"
"""Stimulus set: small gratings all over the screen."""
ORIENTATION_STIM_NAME = "Marques2020_orientation"
"""Stimulus set: gratings of several orientations, spatial frequencies and phases."""

RF_NUMBER_OF_TRIALS = 10
ORIENTATION_NUMBER_OF_TRIALS = 20
RF_THRSH = 0.05  # share of the peak response above which a position belongs to the receptive field
RF_DELTA = 0.15  # largest distance between the centre of the field and the stimuli, degrees
# Recordings, spikes per second: medians over neurons, largest response, threshold of a response.
MEDIAN_MAX_RESP = {"V1": 33.8}
MEDIAN_SPONTANEOUS = {"V1": 0.82}
SINGLE_MAX_RESP = {"V1": 243.1}
RESP_THRESH = {"V1": 5}


@dataclass(frozen=True)
class GratingSets:
    """Registered stimulus sets that map receptive fields and measure response strength.

    ``blank`` is one uniform image; ``receptive_field`` small gratings at every position, row by row, under the same
    conditions; ``orientation`` gratings at one position, as in `require_gratings`.
    """

    blank: str
    receptive_field: str
    orientation: str


MARQUES2020 = GratingSets(BLANK_STIM_NAME, RF_STIM_NAME, ORIENTATION_STIM_NAME)


@dataclass(frozen=True)
class ReceptiveFields:
    """Positions at which units respond."""

    centres: Floats  # (n_units, 2): (y, x) in degrees, NaN for units that do not respond
    maps: Floats  # (n_units, n_y, n_x): largest response at each position minus that to the blank, at least 0
    position_y: Floats  # (n_y,), degrees
    position_x: Floats  # (n_x,), degrees


def record_from_model(model: BrainModel, stimuli: str | StimulusSet, number_of_trials: int) -> NeuroidAssembly:
    """Show stimuli with the column ``degrees``, or a registered set, to a recording model."""
    stimulus_set = load_stimulus_set(stimuli) if isinstance(stimuli, str) else stimuli
    return show(model, stimulus_set, None, number_of_trials)


def _rectified(model: BrainModel, stimuli: str | StimulusSet, number_of_trials: int) -> NeuroidAssembly:
    activations = record_from_model(model, stimuli, number_of_trials).transpose("neuroid", "presentation")
    return activations.copy(data=np.maximum(np.asarray(activations.values, dtype=np.float64), 0.0))


def stimulus_position(stimuli: StimulusSet | NeuroidAssembly) -> Floats:
    """Return the position of all stimuli, (y, x) in degrees; `AssemblyError` if they differ."""
    positions = [np.unique(np.asarray(stimuli[name])) for name in ("position_y", "position_x")]
    if any(len(values) != 1 for values in positions):
        raise AssemblyError(
            f"Stimuli must all be at one place; position_y takes {positions[0].tolist()[:5]}, position_x "
            f"{positions[1].tolist()[:5]}."
        )
    return np.array([float(values[0]) for values in positions])


def map_receptive_fields(model: BrainModel, gratings: GratingSets = MARQUES2020) -> ReceptiveFields:
    """Map the receptive fields of a recording model."""
    blank = _rectified(model, gratings.blank, RF_NUMBER_OF_TRIALS).values
    responses = _rectified(model, gratings.receptive_field, RF_NUMBER_OF_TRIALS)
    require_gratings(responses)
    position_y, position_x = (np.unique(responses[name].values) for name in ("position_y", "position_x"))
    places = responses.values.reshape(len(blank), len(position_y), len(position_x), -1)
    maps = np.maximum(places.max(axis=3) - blank[:, :1, None], 0.0)
    return ReceptiveFields(centres_of(maps, position_y, position_x), maps, position_y, position_x)


def centres_of(maps: Floats, position_y: Floats, position_x: Floats) -> Floats:
    """Return mean positions weighted by responses near the peak; shape (n_units, 2), NaN without a response."""
    peak = maps.max(axis=(1, 2), keepdims=True)
    weights = np.where(maps > peak * RF_THRSH, maps, 0.0)
    total = weights.sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):  # units that do not respond have no centre
        row = weights.sum(axis=2) @ np.arange(len(position_y)) / total
        column = weights.sum(axis=1) @ np.arange(len(position_x)) / total
    places = [
        np.interp(index, np.arange(len(position)), position)
        for index, position in ((row, position_y), (column, position_x))
    ]
    centres = np.stack(places, axis=1)
    centres[total == 0] = np.nan
    return centres


def units_near(centres: Floats, position: ArrayLike) -> Indices:
    """Return the units whose field is centred within `RF_DELTA` degrees of (y, x); `NotApplicableError` if none is."""
    distances = np.linalg.norm(centres - np.asarray(position), axis=1)
    units: Indices = np.flatnonzero(distances <= RF_DELTA)
    if not len(units):
        closest = float(np.nanmin(distances)) if not np.isnan(distances).all() else float("nan")
        raise NotApplicableError(
            f"None of {len(centres)} units has its receptive field within {RF_DELTA} degrees of the stimuli at "
            f"(y, x) = {np.asarray(position).tolist()}; the closest is {closest:.3g} degrees away "
            f"({int(np.isnan(distances).sum())} do not respond). Choose a layer with denser receptive fields."
        )
    return units


def firing_rate_scale(
    model: BrainModel, region: str, centres: Floats, gratings: GratingSets = MARQUES2020
) -> tuple[float, float]:
    """Return slope and offset that turn activations into a region's typical firing rates, spikes per second.

    The median responses to the best grating and to the blank, over responsive units, are mapped to those of recorded
    neurons. `NotApplicableError` if no unit responds to the gratings.
    """
    if region not in MEDIAN_MAX_RESP:
        raise AssemblyError(
            f"Typical firing rates are known for {', '.join(MEDIAN_MAX_RESP)}, not for region {region!r}."
        )
    blank = _rectified(model, gratings.blank, ORIENTATION_NUMBER_OF_TRIALS).values[:, 0]
    responses = _rectified(model, gratings.orientation, ORIENTATION_NUMBER_OF_TRIALS)
    require_gratings(responses)
    in_rf = units_near(centres, stimulus_position(responses))
    n_phases = len(np.unique(responses["phase"].values))
    by_phase = responses.values[in_rf].reshape(len(in_rf), -1, n_phases)
    best = by_phase.mean(axis=2).max(axis=1)
    baseline = blank[in_rf]
    evoked = best - baseline
    responsive = evoked > RESP_THRESH[region] / SINGLE_MAX_RESP[region] * evoked.max()
    if not responsive.any():
        raise NotApplicableError(f"None of {len(in_rf)} units responds to gratings more than to the blank.")
    low, high = np.median(baseline[responsive]), np.median(best[responsive])
    slope = (MEDIAN_MAX_RESP[region] - MEDIAN_SPONTANEOUS[region]) / (high - low)
    return float(slope), float(MEDIAN_SPONTANEOUS[region] - slope * low)


def firing_rates(
    model: BrainModel,
    stimuli: str | StimulusSet,
    number_of_trials: int,
    units: int | Indices,
    scale: tuple[float, float],
) -> NeuroidAssembly:
    """Return firing rates of some units, spikes per second, dims (neuroid, presentation)."""
    activations = _rectified(model, stimuli, number_of_trials).isel(neuroid=np.atleast_1d(units))
    slope, offset = scale
    return activations.copy(data=np.maximum(slope * activations.values + offset, 0.0))


# -- benchmark ---------------------------------------------------------------------------------------------------------


class PropertiesBenchmark(BenchmarkBase):
    """Compare a property's distribution over model units with that over recorded neurons.

    Score: ``ceil_score(similarity_metric(property of model units, recorded property), ceiling)``.

    Parameters
    ----------
    assembly
        Dims (neuroid, neuronal_property), with the coordinate ``region`` of a single value, the attribute
        ``number_of_trials``, and ``stimulus_set`` with the columns ``degrees``, ``position_x``, ``position_y``.
    neuronal_property
        ``neuronal_property(model_identifier=, responses=, baseline=)`` returns a PropertyAssembly; responses to the
        stimuli and to the blank are firing rates, dims (neuroid, presentation).
    timebins : list of (int, int)
        One window to record, ms after stimulus onset.
    **kwargs
        ``ceiling_func``, which is called with the assembly, and those of `BenchmarkBase`.
    """

    def __init__(
        self,
        identifier: str,
        assembly: PropertyAssembly | LazyLoad,
        neuronal_property: Callable[..., PropertyAssembly],
        similarity_metric: Callable[[PropertyAssembly, PropertyAssembly], Score],
        timebins: Sequence[tuple[float, float]],
        *,
        gratings: GratingSets = MARQUES2020,
        version: int = 1,
        **kwargs: Any,  # checked by BenchmarkBase
    ) -> None:
        estimate = kwargs.get("ceiling_func")
        if callable(estimate):
            kwargs["ceiling_func"] = lambda: estimate(assembly)
        super().__init__(identifier=identifier, version=version, **kwargs)
        self._assembly = cast("PropertyAssembly", assembly)  # a LazyLoad acts as the assembly
        self._neuronal_property = neuronal_property
        self._similarity_metric = checked_metric(similarity_metric, benchmark=identifier)
        self.timebins = timebins
        self._gratings = gratings

    @cached_property
    def region(self) -> str:
        """The one region of the recordings."""
        return region_of(self._assembly, self.identifier)

    @property
    def _number_of_trials(self) -> int:  # plugins and their tests read these names
        return int(self._assembly.attrs["number_of_trials"])

    @property
    def _visual_degrees(self) -> pd.Series:
        degrees: pd.Series = self._assembly.stimulus_set["degrees"]
        return degrees

    def __call__(self, candidate: BrainModel) -> Score:
        """Score a candidate; attributes also hold ``n_model_units`` (with a receptive field at the stimuli).

        The candidate sees the blank, gratings for receptive fields and response strength, and the experiment's stimuli;
        a `SharedCandidate` once for the whole experiment. `NotApplicableError` if no unit responds to gratings, or has
        its receptive field at the stimuli.
        """
        stimulus_set = self._assembly.stimulus_set
        candidate.start_recording(self.region, time_bins=self.timebins)
        model_property, n_units = once(
            candidate,
            self._neuronal_property,
            lambda: self._measure(candidate),
            stimulus_set,
            self._number_of_trials,
            *astuple(self._gratings),
        )
        raw = compare(self._similarity_metric, model_property, self._assembly, benchmark=self.identifier)
        score = ceil_score(raw, self.ceiling)
        score.attrs.update(n_stimuli=len(stimulus_set), n_model_units=n_units, n_trials=self._number_of_trials)
        name_tested(score, self._assembly)
        return score

    def _measure(self, candidate: BrainModel) -> tuple[PropertyAssembly, int]:
        stimulus_set = self._assembly.stimulus_set
        gratings, names = self._gratings, astuple(self._gratings)
        centres = once(candidate, "receptive fields", lambda: map_receptive_fields(candidate, gratings).centres, *names)
        scale = once(
            candidate, "firing rates", lambda: firing_rate_scale(candidate, self.region, centres, gratings), *names
        )
        units = units_near(centres, stimulus_position(stimulus_set))
        responses, baseline = (
            firing_rates(candidate, stimuli, self._number_of_trials, units, scale)
            for stimuli in (stimulus_set, gratings.blank)
        )
        measured = self._neuronal_property(
            model_identifier=candidate.identifier, responses=responses, baseline=baseline
        )
        return measured, len(units)
