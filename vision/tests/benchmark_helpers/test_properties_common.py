import itertools

import numpy as np
import pandas as pd
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly, PropertyAssembly
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision.benchmark_helpers import properties_common as module
from brainscore_vision.benchmark_helpers.properties_common import (
    PropertiesBenchmark,
    _assert_grating_activations,
    _assert_texture_activations,
    calc_circular_variance,
    filter_receptive_fields,
    firing_rates_affine,
    get_firing_rates,
    get_stimulus_position,
    map_receptive_field_locations,
    record_from_model,
)
from brainscore_vision.model_interface import BrainModel

POSITIONS = np.array([-0.5, 0.0, 0.5, 1.0])
ORIENTATIONS = np.arange(0, 180, 45.0)
GRATING = ("position_y", "position_x", "contrast", "radius", "spatial_frequency", "orientation", "phase")


def gratings(identifier, **levels):
    given = {name: [1.0] for name in GRATING} | {"position_x": [0.5], "position_y": [0.5]} | levels
    rows = list(itertools.product(*(given[name] for name in GRATING)))
    result = StimulusSet({name: [row[i] for row in rows] for i, name in enumerate(GRATING)})
    result["stimulus_id"] = [f"{identifier}-{i}" for i in range(len(rows))]
    result["degrees"] = 8.0
    result.identifier = identifier
    return result


SETS = {
    "Marques2020_blank": gratings("Marques2020_blank", contrast=[0.0]),
    "Marques2020_receptive_field": gratings(
        "Marques2020_receptive_field",
        position_x=POSITIONS,
        position_y=POSITIONS,
        orientation=ORIENTATIONS,
        phase=[0.0, 180.0],
    ),
    "Marques2020_orientation": gratings(
        "Marques2020_orientation", spatial_frequency=[1.0, 2.0], orientation=ORIENTATIONS, phase=[0.0, 180.0]
    ),
}


class V1(BrainModel):
    """Units with a Gaussian field at a place, a preferred orientation, and a spontaneous response."""

    def __init__(self, n=30, far=False, seed=0):
        rng = np.random.default_rng(seed)
        self.centres = rng.choice(POSITIONS, size=(n, 2)) if not far else np.full((n, 2), -0.5)
        self.preferred = rng.choice(ORIENTATIONS, size=n)
        self.gain = rng.uniform(1, 3, size=n)
        self.gain[0] = 0
        self.shown = []

    identifier = "v1"

    def visual_degrees(self):
        return 8.0

    def start_recording(self, recording_target, time_bins):
        self.recorded = recording_target, time_bins

    def look_at(self, stimuli, number_of_trials=1):
        self.shown.append((stimuli.identifier, number_of_trials))
        places = stimuli[["position_y", "position_x"]].to_numpy()
        distance = np.linalg.norm(places[:, None] - self.centres, axis=2)
        angle = np.deg2rad(stimuli["orientation"].to_numpy()[:, None] - self.preferred)
        drive = np.exp(-((distance / 0.2) ** 2)) * (1 + np.cos(2 * angle)) * stimuli["contrast"].to_numpy()[:, None]
        values = self.gain * (drive + 0.05) - 1e-9
        coords = {name: ("presentation", stimuli[name].to_numpy()) for name in stimuli.columns}
        n = values.shape[1]
        coords.update(neuroid_id=("neuroid", np.arange(n)), region=("neuroid", ["V1"] * n))
        coords.update(time_bin_start=("time_bin", [70]), time_bin_end=("time_bin", [170]))
        return NeuroidAssembly(values[:, :, None], coords=coords, dims=["presentation", "neuroid", "time_bin"])


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(module, "load_stimulus_set", SETS.__getitem__)


def recorded(names=("circular_variance",), n=12, region="V1"):
    result = PropertyAssembly(
        np.random.default_rng(0).random((n, len(names))),
        coords={
            "neuroid_id": ("neuroid", range(n)),
            "region": ("neuroid", [region] * n),
            "neuronal_property": list(names),
        },
        dims=["neuroid", "neuronal_property"],
    )
    result.attrs.update(number_of_trials=7, stimulus_set=SETS["Marques2020_orientation"])
    return result


def circular_variance(model_identifier, responses, baseline):
    assert model_identifier == "v1"
    assert baseline.dims == responses.dims == ("neuroid", "presentation")
    assert baseline.shape == (len(responses), 1)
    _assert_grating_activations(responses)
    curves = responses.values.reshape(len(responses), -1, len(ORIENTATIONS), 2).mean(axis=(1, 3))
    return calc_circular_variance(curves, ORIENTATIONS)


def test_benchmark():
    seen = {}

    def similarity(values, assembly):
        seen["values"] = values
        assert assembly is target
        return Score(0.4)

    target = recorded()
    model = V1()
    benchmark = PropertiesBenchmark(
        "Test2020-circular_variance",
        assembly=target,
        neuronal_property=circular_variance,
        similarity_metric=similarity,
        timebins=[(70, 170)],
        ceiling_func=lambda assembly: Score(0.5 if assembly is target else 0.1),
        version=1,
        parent="V1-orientation",
    )
    score = benchmark(model)
    assert float(score) == pytest.approx(0.8)
    assert float(benchmark.ceiling) == 0.5
    there = (model.centres == 0.5).all(axis=1) & (model.gain > 0)
    assert len(seen["values"]) == score.attrs["n_model_units"] == there.sum()
    assert score.attrs["n_trials"] == 7
    assert model.recorded == ("V1", [(70, 170)])
    assert [name for name, _ in model.shown].count("Marques2020_orientation") == 2
    assert (model.shown[0][1], model.shown[-1]) == (10, ("Marques2020_blank", 7))


def test_receptive_fields_are_where_they_are():
    model = V1()
    centres, maps = map_receptive_field_locations("v1", model, "V1")
    assert np.isnan(centres.values[0]).all()  # no response
    np.testing.assert_allclose(centres.values[1:], model.centres[1:], atol=1e-6)
    assert maps.sizes == {"neuroid": 30, "position_y": 4, "position_x": 4}
    assert (maps.values >= 0).all()
    near = filter_receptive_fields("v1", model, "V1", pos=[0.5, 0.5])
    assert near.tolist() == [i for i in range(1, 30) if (model.centres[i] == 0.5).all()]


def test_centre_between_positions_is_weighted_by_responses():
    maps = np.zeros((1, 4, 4))
    maps[0, 1, 2], maps[0, 2, 2], maps[0, 0, 0] = 3.0, 1.0, 0.1  # the last is below 5 % of the peak
    np.testing.assert_allclose(module._centres(maps, POSITIONS, POSITIONS * 2), [[0.125, 1.0]])


def test_firing_rates_have_the_medians_of_recordings():
    model = V1()
    near = filter_receptive_fields("v1", model, "V1", pos=[0.5, 0.5])
    rates, blank = (
        get_firing_rates("v1", model, "V1", name, 20, near) for name in ("Marques2020_orientation", "Marques2020_blank")
    )
    best = rates.values.reshape(len(near), -1, 2).mean(axis=2).max(axis=1)
    assert np.median(best) == pytest.approx(33.8)
    assert np.median(blank.values) == pytest.approx(0.82)
    assert firing_rates_affine("v1", model, "V1").shape == (2,)


def test_one_unit_keeps_its_dimension():
    assert get_firing_rates("v1", V1(), "V1", "Marques2020_blank", 2, in_rf=np.array(4)).sizes["neuroid"] == 1


def test_recording_leaves_the_models_answer_alone():
    model = V1()
    answer = record_from_model(model, "Marques2020_blank", 3)
    assert "time_bin" not in answer.dims
    assert (answer.values[:, 0] < 0).all()  # rectified only where rates are computed


def test_a_model_that_sees_nothing_there_is_told():
    with pytest.raises(AssemblyError, match="None of 30 units"):
        filter_receptive_fields("v1", V1(far=True), "V1", pos=[0.5, 0.5])
    with pytest.raises(AssemblyError, match="known for V1, not for region 'V4'"):
        firing_rates_affine("v1", V1(), "V4")


def test_stimuli_at_several_places_are_refused():
    assert get_stimulus_position(SETS["Marques2020_blank"]).tolist() == [0.5, 0.5]
    with pytest.raises(AssemblyError, match="one place"):
        get_stimulus_position(SETS["Marques2020_receptive_field"])


def test_several_regions_are_refused():
    target = recorded()
    mixed = target.assign_coords(region=("neuroid", ["V1"] * 11 + ["V2"]))
    mixed.attrs.update(target.attrs)
    with pytest.raises(AssemblyError, match="V2"):
        PropertiesBenchmark("x", mixed, None, None, [(70, 170)], ceiling_func=lambda _: 1, version=1)


def shown(stimuli):
    return record_from_model(V1(), stimuli, 1).transpose("neuroid", "presentation")


def test_order_of_gratings_is_required():
    good = shown(SETS["Marques2020_receptive_field"])
    _assert_grating_activations(good)
    order = list(range(good.sizes["presentation"]))
    order[0], order[1] = order[1], order[0]
    with pytest.raises(AssemblyError, match="'phase' is not in its place"):
        _assert_grating_activations(good.isel(presentation=order))
    with pytest.raises(AssertionError, match="multiple of"):
        _assert_grating_activations(good.isel(presentation=order[:-1]))


def test_conditions_beyond_the_product_may_come_in_cycles():
    """Two cycles that differ in radius and contrast together, no product of both."""
    parts = [SETS["Marques2020_orientation"].copy() for _ in range(2)]
    parts[1]["radius"], parts[1]["contrast"] = 2.0, 0.5
    both = StimulusSet(pd.concat(parts, ignore_index=True))
    both["stimulus_id"] = [f"s{i}" for i in range(len(both))]
    both.identifier = "both"
    _assert_grating_activations(shown(both))


def test_textures_are_required_once_in_any_order():
    rows = list(itertools.product(["noise", "texture"], [1, 2, 3], [10, 20]))
    coords = {name: ("presentation", [row[i] for row in rows]) for i, name in enumerate(("type", "family", "sample"))}
    coords["neuroid_id"] = ("neuroid", [0, 1])
    given = NeuroidAssembly(np.zeros((2, 12)), coords=coords, dims=["neuroid", "presentation"])
    _assert_texture_activations(given.isel(presentation=np.random.default_rng(0).permutation(12)))
    with pytest.raises(AssemblyError, match="11 presentations are not 12"):
        _assert_texture_activations(given.isel(presentation=range(11)))
    with pytest.raises(AssemblyError, match="not in its place"):
        _assert_texture_activations(given.isel(presentation=[0, *range(11)]))
