"""Compute properties of single units from firing rates, as the experiments did for neurons.

Every function takes firing rates in spikes per second, dims (neuroid, presentation) in the experiment and
(neuroid, 1) to the blank, and returns a PropertyAssembly, dims (neuroid, neuronal_property), of units that respond with
more than 5 spikes per second above the blank. `PropertiesBenchmark` also passes the model, which is ignored.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly, PropertyAssembly
from brainscore_vision.benchmark_helpers.properties import require_gratings, require_textures
from brainscore_vision.metric_helpers.arrays.tuning import (
    calc_bandwidth,
    calc_circular_variance,
    calc_orthogonal_preferred_ratio,
    calc_size_tuning,
    calc_sparseness,
    calc_spatial_frequency_tuning,
    calc_texture_modulation,
    calc_variance_ratio,
)

Array = NDArray[np.float64]

RESPONSE_THRESHOLD = 5.0  # spikes per second above the blank
HALF_POWER = 0.707  # share of the peak at which bandwidths are measured
WINDOW_S = 0.1  # window for counting spikes
LAST_ORIENTATION = 157.5  # orientations from here on become negative: the first bin is centred on 0


def size_tuning(responses: NeuroidAssembly, baseline: NeuroidAssembly, **_: object) -> PropertyAssembly:
    """Measure summation field and surround with gratings of growing size (Cavanaugh et al. 2002)."""
    evoked = _mean_and_modulation(responses, baseline)
    curves = _through_peak(evoked, axis=1)
    field, surround, ratio, suppression = calc_size_tuning(curves, np.unique(responses["radius"].values))
    values = {
        "surround_suppression_index": suppression,
        "strongly_suppressed": (suppression >= 0.1).astype(float),
        "grating_summation_field": field,
        "surround_diameter": surround,
        "surround_grating_summation_field_ratio": ratio,
    }
    return _assembly(values, _peak(evoked) > RESPONSE_THRESHOLD)


def orientation_tuning(responses: NeuroidAssembly, baseline: NeuroidAssembly, **_: object) -> PropertyAssembly:
    """Measure the selectivity of units for orientation and for phase (Ringach et al. 2002)."""
    rates = _by_condition(responses)
    mean, modulation = rates.mean(axis=-1), _first_harmonic(rates)
    orientations = np.unique(responses["orientation"].values)
    curves = _through_peak(mean, axis=3)
    strongest = _peak(mean)
    at_strongest = np.take_along_axis(_flat(modulation), _flat(mean).argmax(axis=1)[:, None], axis=1)[:, 0]
    variance = calc_circular_variance(curves, orientations)
    bandwidth = calc_bandwidth(curves, orientations, filt_type="hanning", thrsh=HALF_POWER, mode="half")[0]
    orthogonal = calc_orthogonal_preferred_ratio(curves, orientations)
    blank = baseline.values[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):  # silent units are excluded
        values = {
            "baseline": blank,
            "max_dc": strongest,
            "min_dc": curves.min(axis=-1),
            "max_ac": at_strongest,
            "modulation_ratio": at_strongest / strongest,
            "circular_variance": variance,
            "bandwidth": bandwidth,
            "orthogonal_preferred_ratio": orthogonal,
            "orientation_selective": (~np.isnan(bandwidth)).astype(float),
            "circular_variance_bandwidth_ratio": variance / bandwidth,
            "orthogonal_preferred_ratio_circular_variance_difference": orthogonal - variance,
            "orthogonal_preferred_ratio_bandwidth_ratio": orthogonal / bandwidth,
        }
    return _assembly(values, strongest > blank + RESPONSE_THRESHOLD)


def preferred_orientation(responses: NeuroidAssembly, baseline: NeuroidAssembly, **_: object) -> PropertyAssembly:
    """Find preferred orientations, -22 to 157 degrees (De Valois, Yund & Hepler 1982)."""
    mean = _by_condition(responses).mean(axis=-1)
    orientations = np.unique(responses["orientation"].values)
    preferred = calc_bandwidth(_through_peak(mean, axis=3), orientations, filt_type="smooth")[1].astype(float)
    preferred = np.where(preferred >= LAST_ORIENTATION, preferred - 180.0, preferred)
    responsive = _peak(mean) > baseline.values[:, 0] + RESPONSE_THRESHOLD
    return _assembly({"preferred_orientation": preferred}, responsive)


def peak_frequency(responses: NeuroidAssembly, baseline: NeuroidAssembly, **_: object) -> PropertyAssembly:
    """Find preferred spatial frequencies, cycles per degree (De Valois, Albrecht & Thorell 1982)."""
    evoked = _mean_and_modulation(responses, baseline)
    frequencies = np.unique(responses["spatial_frequency"].values)
    tuning = calc_spatial_frequency_tuning(_through_peak(evoked, axis=2), frequencies, filt_type="smooth")
    return _assembly({"peak_spatial_frequency": tuning[1]}, _peak(evoked) > RESPONSE_THRESHOLD)


def frequency_selectivity(responses: NeuroidAssembly, baseline: NeuroidAssembly, **_: object) -> PropertyAssembly:
    """Measure bandwidths of spatial frequency, 100 low / high (Schiller et al. 1976)."""
    mean = _by_condition(responses).mean(axis=-1)
    frequencies = np.unique(responses["spatial_frequency"].values)
    bandwidth = calc_spatial_frequency_tuning(
        _through_peak(mean, axis=2), frequencies, filt_type="smooth", thrsh=HALF_POWER, mode="ratio"
    )[0]
    values = {
        "spatial_frequency_selective": (~np.isnan(bandwidth)).astype(float),
        "spatial_frequency_bandwidth": bandwidth,
    }
    return _assembly(values, _peak(mean) > baseline.values[:, 0] + RESPONSE_THRESHOLD)


def texture_tuning(
    responses: NeuroidAssembly, baseline: NeuroidAssembly, *, rectify: bool = True, **_: object
) -> PropertyAssembly:
    """Compare responses to textures and to noise of the same spectrum (Freeman, Ziemba et al. 2013).

    Responses above the blank are rectified, as recorded: otherwise suppressed units have indices beyond -1 and 1.
    """
    require_textures(responses)
    kinds = ("type", "family", "sample")
    order = np.lexsort([responses[kind].values for kind in reversed(kinds)])
    shape = [len(np.unique(responses[kind].values)) for kind in kinds]
    rates = responses.values[:, order].reshape(-1, *shape)  # noise, then textures
    counts = rates[:, 1] * WINDOW_S
    stable = np.sqrt(counts) + np.sqrt(counts + 1.0)  # variance does not grow with the mean (Freeman & Tukey 1950)
    evoked = rates - baseline.values.reshape(-1, 1, 1, 1)
    if rectify:
        evoked = np.maximum(evoked, 0.0)
    families = evoked.mean(axis=-1)
    modulation = calc_texture_modulation(families)[0]
    ratio, of_samples, of_families = np.array([calc_variance_ratio(response) for response in stable]).reshape(-1, 3).T
    noise, texture = _flat(evoked[:, 0]).max(axis=1), _flat(evoked[:, 1]).max(axis=1)
    values = {
        "texture_modulation_index": modulation,
        "absolute_texture_modulation_index": np.abs(modulation),
        "texture_selectivity": _sparseness(families[:, 1]),
        "noise_selectivity": _sparseness(families[:, 0]),
        "texture_sparseness": _sparseness(evoked[:, 1]),
        "noise_sparseness": _sparseness(evoked[:, 0]),
        "variance_ratio": ratio,
        "sample_variance": of_samples,
        "family_variance": of_families,
        "max_texture": texture,
        "max_noise": noise,
    }
    return _assembly(values, np.maximum(noise, texture) > RESPONSE_THRESHOLD)


published_texture_tuning = partial(texture_tuning, rectify=False)  # the values published for models


def _by_condition(responses: NeuroidAssembly) -> Array:
    """Return shape (neuroid, size, spatial frequency, orientation, phase)."""
    require_gratings(responses)
    shape = [len(np.unique(responses[name].values)) for name in ("spatial_frequency", "orientation", "phase")]
    values: Array = responses.values
    return values.reshape(len(values), -1, *shape)


def _first_harmonic(rates: Array) -> Array:
    n = rates.shape[-1]
    amplitude: Array = np.abs(rates @ np.exp(-2j * np.pi * np.arange(n) / n)) * 2 / n
    return amplitude


def _mean_and_modulation(responses: NeuroidAssembly, baseline: NeuroidAssembly) -> Array:
    """Stack mean responses above the blank and their modulation; shape (neuroid, size, frequency, orientation, 2)."""
    rates = _by_condition(responses)
    return np.stack([rates.mean(axis=-1) - baseline.values.reshape(-1, 1, 1, 1), _first_harmonic(rates)], axis=-1)


def _flat(values: Array) -> Array:
    return values.reshape(len(values), -1)


def _peak(values: Array) -> Array:
    peak: Array = _flat(values).max(axis=1)
    return peak


def _through_peak(values: Array, axis: int) -> Array:
    """Return tuning curves along one axis, at each unit's preferred others; shape (neuroid, n)."""
    places = list(np.unravel_index(_flat(values).argmax(axis=1), values.shape[1:]))
    del places[axis - 1]
    curves: Array = np.moveaxis(values, axis, -1)[(np.arange(len(values)), *places)]
    return curves


def _sparseness(values: Array) -> Array:
    return np.array([calc_sparseness(response) for response in values])


def _assembly(values: Mapping[str, Array], responsive: NDArray[np.bool_]) -> PropertyAssembly:
    columns = np.stack([np.asarray(column) for column in values.values()], axis=1)[responsive]
    return PropertyAssembly(
        columns,
        coords={
            "neuroid_id": ("neuroid", np.flatnonzero(responsive)),
            "region": ("neuroid", ["V1"] * len(columns)),
            "neuronal_property": list(values),
        },
        dims=["neuroid", "neuronal_property"],
    )
