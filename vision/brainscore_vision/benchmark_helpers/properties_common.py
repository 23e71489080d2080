"""Provide the design of benchmarks on single-neuron properties, and what such benchmarks compute with.

A model is treated like an experiment in a visual area: receptive fields are mapped, units whose field covers the
stimuli are kept, their activations are turned into firing rates, and a property is computed from the responses to the
stimuli of the experiment. Its distribution over units is compared with the published distribution over neurons.

References
----------
Marques, Schrimpf & DiCarlo (2021), Multi-scale hierarchical neural network models that bridge from single neurons in
the primate primary visual cortex to object recognition behavior, doi:10.1101/2021.03.01.433495.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from brainscore_core.benchmarks import BenchmarkBase, ceil_score
from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
from brainscore_vision.benchmark_helpers.recordings import squeeze_single_timebin
from brainscore_vision.benchmark_helpers.screen import place_on_screen
from brainscore_vision.loading import load_stimulus_set
from brainscore_vision.metric_helpers.arrays.properties.tuning import (
    calc_bandwidth,
    calc_circular_variance,
    calc_orthogonal_preferred_ratio,
    calc_size_tuning,
    calc_sparseness,
    calc_spatial_frequency_tuning,
    calc_texture_modulation,
    calc_variance,
    calc_variance_ratio,
)

if TYPE_CHECKING:
    from brainscore_core.metrics import Score

__all__ = [
    "BLANK_STIM_NAME",
    "ORIENTATION_STIM_NAME",
    "RF_STIM_NAME",
    "PropertiesBenchmark",
    "calc_bandwidth",
    "calc_circular_variance",
    "calc_orthogonal_preferred_ratio",
    "calc_size_tuning",
    "calc_sparseness",
    "calc_spatial_frequency_tuning",
    "calc_texture_modulation",
    "calc_variance",
    "calc_variance_ratio",
    "filter_receptive_fields",
    "firing_rates_affine",
    "get_firing_rates",
    "get_stimulus_position",
    "map_receptive_field_locations",
    "record_from_model",
]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

BLANK_STIM_NAME = "Marques2020_blank"
"""Stimulus set: one uniform grey image."""
RF_STIM_NAME = "Marques2020_receptive_field"
"""Stimulus set: small gratings all over the screen."""
ORIENTATION_STIM_NAME = "Marques2020_orientation"
"""Stimulus set: gratings of several orientations, spatial frequencies and phases."""

RF_NUMBER_OF_TRIALS = 10
ORIENTATION_NUMBER_OF_TRIALS = 20
RF_THRSH = 0.05  # part of the peak response from which a position belongs to the receptive field
RF_DELTA = 0.15  # degrees between the centre of the field and the stimuli, at most
# Of recordings, spikes per second: medians over neurons, the largest response, the least that counts as one.
MEDIAN_MAX_RESP = {"V1": 33.8}
MEDIAN_SPONTANEOUS = {"V1": 0.82}
SINGLE_MAX_RESP = {"V1": 243.1}
RESP_THRESH = {"V1": 5}

_GRATING_COORDS = ("position_y", "position_x", "contrast", "radius", "spatial_frequency", "orientation", "phase")


class PropertiesBenchmark(BenchmarkBase):
    """Compare how a property is distributed over model units and over recorded neurons.

    Score: ``ceil_score(similarity_metric(property of model units, recorded property), ceiling)``.

    Parameters
    ----------
    identifier : str
        Unique name, equal to the registry key: ``<AuthorYear>_<Source>-<property>``.
    assembly : PropertyAssembly
        Dims (neuroid, neuronal_property), with the coordinate ``region`` of a single value, the attribute
        ``number_of_trials``, and ``stimulus_set`` with the columns ``degrees``, ``position_x``, ``position_y``.
    neuronal_property : callable
        ``neuronal_property(model_identifier=, responses=, baseline=)`` returns a PropertyAssembly; responses to the
        stimuli and to the blank are firing rates, dims (neuroid, presentation).
    similarity_metric : Metric
        ``similarity_metric(model_property, assembly)``.
    timebins : list of (int, int)
        Windows to record, ms after stimulus onset; one.
    **kwargs
        ``ceiling_func`` (called with the assembly), ``version``, ``parent``, ``bibtex`` of `BenchmarkBase`.
    """

    def __init__(
        self,
        identifier: str,
        assembly: Any,
        neuronal_property: Callable[..., Any],
        similarity_metric: Callable[[Any, Any], Score],
        timebins: Sequence[tuple[float, float]],
        **kwargs: Any,
    ) -> None:
        given = kwargs.get("ceiling_func")
        if callable(given):
            kwargs["ceiling_func"] = lambda: given(assembly)
        super().__init__(identifier=identifier, **kwargs)
        self._assembly = assembly
        self._neuronal_property = neuronal_property
        self._similarity_metric = similarity_metric
        regions = np.unique(assembly["region"].values)
        if len(regions) != 1:
            raise AssemblyError(
                f"The assembly of benchmark {identifier!r} holds the regions {[str(name) for name in regions]}; "
                "expected exactly one."
            )
        self.region = str(regions[0])
        self._number_of_trials = int(assembly.attrs["number_of_trials"])
        self._visual_degrees = assembly.stimulus_set["degrees"]
        self.timebins = timebins

    def __call__(self, candidate: Any) -> Score:
        """Score a candidate.

        Parameters
        ----------
        candidate : BrainModel
            Whom to record from. It sees five stimulus sets: the blank (three times), gratings that map receptive
            fields, gratings that say how strongly units respond, and those of the experiment.

        Returns
        -------
        Score
            0-d. Attributes: ``raw``, ``ceiling``, ``error``, ``n_stimuli``, ``n_model_units`` (with a receptive field
            at the stimuli), ``n_trials``, and what the metric says.

        Raises
        ------
        AssemblyError
            If no unit has its receptive field at the stimuli, or responses are not of the expected stimuli.
        """
        stimulus_set = self._assembly.stimulus_set
        candidate.start_recording(self.region, time_bins=self.timebins)
        position = get_stimulus_position(stimulus_set)
        centres, _ = _receptive_fields(candidate)
        in_rf = _near(centres, position)
        affine = _affine(candidate, self.region, centres)
        responses, baseline = (
            _firing_rates(candidate, shown, self._number_of_trials, in_rf, affine)
            for shown in (stimulus_set, load_stimulus_set(BLANK_STIM_NAME))
        )
        model_property = self._neuronal_property(
            model_identifier=candidate.identifier, responses=responses, baseline=baseline
        )
        score = ceil_score(self._similarity_metric(model_property, self._assembly), self.ceiling)
        score.attrs.update(n_stimuli=len(stimulus_set), n_model_units=len(in_rf), n_trials=self._number_of_trials)
        return score


def record_from_model(model: Any, stimulus_identifier: Any, number_of_trials: int) -> Any:
    """Show a registered stimulus set to a model that has started recording.

    Parameters
    ----------
    model : BrainModel
    stimulus_identifier : str or StimulusSet
        With the column ``degrees``.
    number_of_trials : int

    Returns
    -------
    NeuroidAssembly, dims (presentation, neuroid)
        What the model answers, which stays as it is; a time bin of length one is squeezed away.
    """
    named = isinstance(stimulus_identifier, str)
    stimulus_set = load_stimulus_set(stimulus_identifier) if named else stimulus_identifier
    on_screen = place_on_screen(stimulus_set, target_visual_degrees=model.visual_degrees())
    return squeeze_single_timebin(model.look_at(on_screen, number_of_trials=number_of_trials))


def get_stimulus_position(stimulus_set: Any) -> Floats:
    """Return where all stimuli of a set are, (y, x) in degrees.

    Raises
    ------
    AssemblyError
        If they are at different places.
    """
    positions = [np.unique(np.asarray(stimulus_set[name])) for name in ("position_y", "position_x")]
    if any(len(values) != 1 for values in positions):
        raise AssemblyError(
            f"Stimuli must all be at one place; position_y takes {positions[0].tolist()[:5]}, position_x "
            f"{positions[1].tolist()[:5]}."
        )
    return np.array([float(values[0]) for values in positions])


def map_receptive_field_locations(model_identifier: str, model: Any, region: str) -> tuple[DataAssembly, DataAssembly]:  # noqa: ARG001 - published signature
    """Map the receptive fields of a model that has started recording.

    Parameters
    ----------
    model_identifier : str
        Not used; nothing is cached under a name.
    model : BrainModel
    region : str
        Not used.

    Returns
    -------
    centres : DataAssembly, dims (neuroid, axis)
        Degrees; axis is ``'y', 'x'``. NaN for units that do not respond.
    maps : DataAssembly, dims (neuroid, position_y, position_x)
        The largest response at each position, above that to the blank, at least 0.
    """
    centres, (maps, position_y, position_x) = _receptive_fields(model)
    neuroids = np.arange(len(centres))
    return (
        DataAssembly(centres, coords={"neuroid": neuroids, "axis": ["y", "x"]}, dims=["neuroid", "axis"]),
        DataAssembly(
            maps,
            coords={"neuroid": neuroids, "position_y": position_y, "position_x": position_x},
            dims=["neuroid", "position_y", "position_x"],
        ),
    )


def filter_receptive_fields(
    model_identifier: str,  # noqa: ARG001 - published signature
    model: Any,
    region: str,  # noqa: ARG001 - published signature
    pos: Any,
    rf_delta: float = RF_DELTA,
) -> Indices:
    """Return the positions of the units whose receptive field is centred within `rf_delta` degrees of `pos`, (y, x)."""
    return _near(_receptive_fields(model)[0], pos, rf_delta)


def firing_rates_affine(model_identifier: str, model: Any, region: str) -> DataAssembly:  # noqa: ARG001 - published signature
    """Find slope and offset that turn activations into firing rates typical of a region.

    The median response to the best grating and the median response to the blank, over responsive units, are mapped to
    those of recorded neurons.

    Returns
    -------
    DataAssembly, shape (2,)
        Slope and offset, spikes per second.
    """
    return DataAssembly(_affine(model, region, _receptive_fields(model)[0]), dims=["parameter"])


def get_firing_rates(
    model_identifier: str,  # noqa: ARG001 - published signature
    model: Any,
    region: str,
    stimulus_identifier: Any,
    number_of_trials: int,
    in_rf: Any,
) -> Any:
    """Record some units and turn their activations into firing rates, spikes per second, at least 0.

    Returns
    -------
    NeuroidAssembly, dims (neuroid, presentation)
    """
    affine = _affine(model, region, _receptive_fields(model)[0])
    shown = load_stimulus_set(stimulus_identifier) if isinstance(stimulus_identifier, str) else stimulus_identifier
    return _firing_rates(model, shown, number_of_trials, in_rf, affine)


def _rectified(model: Any, stimuli: Any, number_of_trials: int) -> Any:
    """Record responses, dims (neuroid, presentation), negative ones set to 0."""
    activations = record_from_model(model, stimuli, number_of_trials).transpose("neuroid", "presentation")
    return activations.copy(data=np.maximum(np.asarray(activations.values, dtype=np.float64), 0.0))


def _receptive_fields(model: Any) -> tuple[Floats, tuple[Floats, Floats, Floats]]:
    """Return centres, shape (n_units, 2), and maps with the positions along their axes."""
    blank = _rectified(model, BLANK_STIM_NAME, RF_NUMBER_OF_TRIALS).values
    responses = _rectified(model, RF_STIM_NAME, RF_NUMBER_OF_TRIALS)
    _assert_grating_activations(responses)
    position_y, position_x = (np.unique(responses[name].values) for name in ("position_y", "position_x"))
    places = responses.values.reshape(len(blank), len(position_y), len(position_x), -1)
    maps = np.maximum(places.max(axis=3) - blank[:, :1, None], 0.0)
    return _centres(maps, position_y, position_x), (maps, position_y, position_x)


def _centres(maps: Floats, position_y: Floats, position_x: Floats) -> Floats:
    """Average positions weighted by responses above a part of the peak; shape (n_units, 2), NaN without a response."""
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


def _near(centres: Floats, position: Any, delta: float = RF_DELTA) -> Indices:
    distances = np.linalg.norm(centres - np.asarray(position), axis=1)
    chosen: Indices = np.flatnonzero(distances <= delta)
    if not len(chosen):
        closest = float(np.nanmin(distances)) if not np.isnan(distances).all() else float("nan")
        raise AssemblyError(
            f"None of {len(centres)} units has its receptive field within {delta} degrees of the stimuli at "
            f"(y, x) = {np.asarray(position).tolist()}; the closest is {closest:.3g} degrees away "
            f"({int(np.isnan(distances).sum())} do not respond). Choose a layer with denser receptive fields."
        )
    return chosen


def _affine(model: Any, region: str, centres: Floats) -> Floats:
    """Return slope and offset of the map from activations to firing rates."""
    if region not in MEDIAN_MAX_RESP:
        raise AssemblyError(
            f"Typical firing rates are known for {', '.join(MEDIAN_MAX_RESP)}, not for region {region!r}."
        )
    blank = _rectified(model, BLANK_STIM_NAME, ORIENTATION_NUMBER_OF_TRIALS).values[:, 0]
    responses = _rectified(model, ORIENTATION_STIM_NAME, ORIENTATION_NUMBER_OF_TRIALS)
    _assert_grating_activations(responses)
    in_rf = _near(
        centres, get_stimulus_position({name: responses[name].values for name in ("position_y", "position_x")})
    )
    n_phases = len(np.unique(responses["phase"].values))
    by_phase = responses.values[in_rf].reshape(len(in_rf), -1, n_phases)
    best = by_phase.mean(axis=2).max(axis=1)
    baseline = blank[in_rf]
    evoked = best - baseline
    responsive = evoked > RESP_THRESH[region] / SINGLE_MAX_RESP[region] * evoked.max()
    if not responsive.any():
        raise AssemblyError(f"None of {len(in_rf)} units responds to gratings more than to the blank.")
    low, high = np.median(baseline[responsive]), np.median(best[responsive])
    slope = (MEDIAN_MAX_RESP[region] - MEDIAN_SPONTANEOUS[region]) / (high - low)
    return np.array([slope, MEDIAN_SPONTANEOUS[region] - slope * low])


def _firing_rates(model: Any, stimuli: Any, number_of_trials: int, in_rf: Any, affine: Floats) -> Any:
    activations = _rectified(model, stimuli, number_of_trials).isel(neuroid=np.atleast_1d(in_rf))
    slope, offset = affine
    return activations.copy(data=np.maximum(slope * activations.values + offset, 0.0))


def _assert_grating_activations(activations: Any) -> None:
    """Require that gratings are in the order of their product of conditions, phases fastest.

    Parameters
    ----------
    activations : assembly, dims (neuroid, presentation)
        With the coordinates of gratings. Sets that are no full product of all seven vary the last three (spatial
        frequency, orientation, phase) fully within each further condition.

    Raises
    ------
    AssemblyError
        If they are not, so that their responses could not be arranged by condition.
    """
    values = {name: np.asarray(activations[name].values) for name in _GRATING_COORDS}
    levels = {name: np.unique(column) for name, column in values.items()}
    n_stimuli = len(values["phase"])
    names: Sequence[str] = _GRATING_COORDS
    if n_stimuli != int(np.prod([len(level) for level in levels.values()])):
        names = _GRATING_COORDS[-3:]
    _require_product(values, levels, names, n_stimuli)


def _assert_texture_activations(activations: Any) -> None:
    """Require every combination of ``type``, ``family`` and ``sample`` exactly once, in any order.

    Raises
    ------
    AssemblyError
        If combinations are missing or repeat.
    """
    names = ("type", "family", "sample")
    columns = {name: np.asarray(activations[name].values) for name in names}
    order = np.lexsort([columns[name] for name in reversed(names)])
    values = {name: column[order] for name, column in columns.items()}
    levels = {name: np.unique(column) for name, column in values.items()}
    _require_product(values, levels, names, len(order), repeats=False)


def _require_product(
    values: dict[str, Any], levels: dict[str, Any], names: Sequence[str], n_stimuli: int, *, repeats: bool = True
) -> None:
    size = int(np.prod([len(levels[name]) for name in names]))
    problems = []
    if n_stimuli % size or (n_stimuli != size and not repeats):
        problems.append(f"{n_stimuli} presentations are not {'a multiple of ' if repeats else ''}{size}")
    else:
        grid = np.meshgrid(*(levels[name] for name in names), indexing="ij")
        for name, expected in zip(names, grid, strict=True):
            if not np.array_equal(np.tile(expected.ravel(), n_stimuli // size), values[name]):
                problems.append(f"{name!r} is not in its place")
    if problems:
        raise AssemblyError(
            f"Presentations are no ordered product of {', '.join(names)}: {'; '.join(problems)}. The model must answer "
            "with the stimuli it was shown, in their order."
        )
