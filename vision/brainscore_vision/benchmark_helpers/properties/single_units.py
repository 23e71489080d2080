"""Treat model units like recorded neurons: map receptive fields, turn activations into firing rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.errors import AssemblyError, NotApplicableError
from brainscore_vision.benchmark_helpers.properties.presentation_order import require_gratings
from brainscore_vision.benchmark_helpers.recordings.recording import show
from brainscore_vision.loading import load_stimulus_set

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices
    from brainscore_vision.model_interface import BrainModel

__all__ = [
    "BLANK_STIM_NAME",
    "MARQUES2020",
    "ORIENTATION_STIM_NAME",
    "RF_STIM_NAME",
    "GratingSets",
    "ReceptiveFields",
    "centres_of",
    "firing_rate_scale",
    "firing_rates",
    "map_receptive_fields",
    "record_from_model",
    "stimulus_position",
    "units_near",
]

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
