import itertools

import numpy as np
import pandas as pd
import pytest

from brainscore_core.errors import AssemblyError, NotApplicableError
from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.assemblies import PropertyAssembly
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision.benchmark_helpers import properties, properties_common
from brainscore_vision.benchmark_helpers.properties import GratingSets, record_from_model
from brainscore_vision.benchmark_helpers.stand_ins import SharedCandidate


def test_mapped_receptive_fields_match_the_true_centres(world):
    model = world.V1()
    fields = properties.map_receptive_fields(model)
    assert np.isnan(fields.centres[0]).all()  # no response
    np.testing.assert_allclose(fields.centres[1:], model.centres[1:], atol=1e-6)
    assert fields.maps.shape == (30, 4, 4)
    assert (fields.position_y.tolist(), fields.position_x.tolist()) == (world.POSITIONS.tolist(),) * 2
    assert (fields.maps >= 0).all()
    near = properties.units_near(fields.centres, [0.5, 0.5])
    assert near.tolist() == [i for i in range(1, 30) if (model.centres[i] == 0.5).all()]


def test_centre_between_positions_is_weighted_by_responses(world):
    maps = np.zeros((1, 4, 4))
    maps[0, 1, 2], maps[0, 2, 2], maps[0, 0, 0] = 3.0, 1.0, 0.1  # the last is below 5 % of the peak
    np.testing.assert_allclose(properties.centres_of(maps, world.POSITIONS, world.POSITIONS * 2), [[0.125, 1.0]])


def test_firing_rates_are_scaled_to_the_recorded_medians(world):
    model = world.V1()
    centres = properties.map_receptive_fields(model).centres
    near, scale = properties.units_near(centres, [0.5, 0.5]), properties.firing_rate_scale(model, "V1", centres)
    rates, blank = (
        properties.firing_rates(model, name, 20, near, scale)
        for name in ("Marques2020_orientation", "Marques2020_blank")
    )
    best = rates.values.reshape(len(near), -1, 2).mean(axis=2).max(axis=1)
    assert np.median(best) == pytest.approx(33.8)
    assert np.median(blank.values) == pytest.approx(0.82)
    assert len(scale) == 2


def test_one_unit_keeps_its_dimension(world):
    rates = properties.firing_rates(world.V1(), "Marques2020_blank", 2, np.array(4), (1.0, 0.0))
    assert rates.sizes["neuroid"] == 1


def test_recording_does_not_rectify_the_models_answer(world):
    answer = properties.record_from_model(world.V1(), "Marques2020_blank", 3)
    assert "time_bin" not in answer.dims
    assert (answer.values[:, 0] < 0).all()  # rectified only where rates are computed


def test_rejects_models_without_units_there_and_unknown_regions(world):
    with pytest.raises(NotApplicableError, match="None of 30 units"):
        properties.units_near(properties.map_receptive_fields(world.V1(far=True)).centres, [0.5, 0.5])
    with pytest.raises(AssemblyError, match="known for V1, not for region 'V4'"):
        properties.firing_rate_scale(world.V1(), "V4", np.zeros((30, 2)))


def test_rejects_stimuli_at_several_positions(world):
    assert properties.stimulus_position(world.SETS["Marques2020_blank"]).tolist() == [0.5, 0.5]
    with pytest.raises(AssemblyError, match="one place"):
        properties.stimulus_position(world.SETS["Marques2020_receptive_field"])


def test_an_experiment_can_use_its_own_gratings(world, monkeypatch):
    own = {f"Own-{name.removeprefix('Marques2020_')}": each for name, each in world.SETS.items()}
    asked = []
    monkeypatch.setattr(properties, "load_stimulus_set", lambda name: asked.append(name) or own[name])
    gratings = properties.GratingSets("Own-blank", "Own-receptive_field", "Own-orientation")
    centres = properties.map_receptive_fields(world.V1(), gratings).centres
    scale = properties.firing_rate_scale(world.V1(), "V1", centres, gratings)
    assert asked == ["Own-blank", "Own-receptive_field", "Own-blank", "Own-orientation"]
    monkeypatch.setattr(properties, "load_stimulus_set", world.SETS.__getitem__)
    assert scale == properties.firing_rate_scale(world.V1(), "V1", properties.map_receptive_fields(world.V1()).centres)


# -- presentation order ------------------------------------------------------------------------------------------------


def shown(world, stimuli):
    return record_from_model(world.V1(), stimuli, 1).transpose("neuroid", "presentation")


def test_rejects_gratings_out_of_order(world):
    good = shown(world, world.SETS["Marques2020_receptive_field"])
    properties_common._assert_grating_activations(good)
    order = list(range(good.sizes["presentation"]))
    order[0], order[1] = order[1], order[0]
    with pytest.raises(AssemblyError, match="'phase' is not in its place"):
        properties_common._assert_grating_activations(good.isel(presentation=order))
    with pytest.raises(AssertionError, match="multiple of"):
        properties_common._assert_grating_activations(good.isel(presentation=order[:-1]))


def test_accepts_cycles_that_vary_two_columns_together(world):
    """Radius and contrast change together between two cycles, so the conditions are not their full product."""
    parts = [world.SETS["Marques2020_orientation"].copy() for _ in range(2)]
    parts[1]["radius"], parts[1]["contrast"] = 2.0, 0.5
    both = StimulusSet(pd.concat(parts, ignore_index=True))
    both["stimulus_id"] = [f"s{i}" for i in range(len(both))]
    both.identifier = "both"
    properties_common._assert_grating_activations(shown(world, both))


def test_textures_must_occur_once_in_any_order():
    rows = list(itertools.product(["noise", "texture"], [1, 2, 3], [10, 20]))
    columns = {name: [row[i] for row in rows] for i, name in enumerate(("type", "family", "sample"))}
    given = assembly_of(np.zeros((12, 2)), **columns).transpose()
    properties_common._assert_texture_activations(given.isel(presentation=np.random.default_rng(0).permutation(12)))
    with pytest.raises(AssemblyError, match="11 presentations are not 12"):
        properties_common._assert_texture_activations(given.isel(presentation=range(11)))
    with pytest.raises(AssemblyError, match="not in its place"):
        properties_common._assert_texture_activations(given.isel(presentation=[0, *range(11)]))


# -- benchmark ---------------------------------------------------------------------------------------------------------


def recorded(world, names=("circular_variance",), n=12, region="V1"):
    result = PropertyAssembly(
        np.random.default_rng(0).random((n, len(names))),
        coords={
            "neuroid_id": ("neuroid", range(n)),
            "region": ("neuroid", [region] * n),
            "neuronal_property": list(names),
        },
        dims=["neuroid", "neuronal_property"],
    )
    result.attrs.update(number_of_trials=7, stimulus_set=world.SETS["Marques2020_orientation"])
    return result


def circular_variance(model_identifier, responses, baseline):
    assert model_identifier == "v1"
    assert baseline.dims == responses.dims == ("neuroid", "presentation")
    assert baseline.shape == (len(responses), 1)
    properties_common._assert_grating_activations(responses)
    curves = responses.values.reshape(len(responses), -1, 4, 2).mean(axis=(1, 3))
    return properties_common.calc_circular_variance(curves, np.arange(0, 180, 45.0))


def test_score_uses_the_responsive_units_at_the_stimulus(world):
    seen = {}

    def similarity(values, assembly):
        seen["values"] = values
        assert assembly is target
        return Score(0.4)

    target = recorded(world)
    model = world.V1()
    benchmark = properties_common.PropertiesBenchmark(
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


def test_rejects_several_regions(world):
    target = recorded(world)
    mixed = target.assign_coords(region=("neuroid", ["V1"] * 11 + ["V2"]))
    mixed.attrs.update(target.attrs)
    benchmark = properties_common.PropertiesBenchmark(
        "x", mixed, None, lambda *_: Score(1), [(70, 170)], ceiling_func=lambda _: 1, version=1
    )
    with pytest.raises(AssemblyError, match="V2"):
        benchmark(world.V1())


def test_steps_are_not_shared_between_different_gratings(world, monkeypatch):
    far = world.gratings("Far", position_x=[-0.5], position_y=[-0.5], orientation=world.ORIENTATIONS)
    monkeypatch.setitem(world.SETS, "Far", far)
    other = GratingSets("Marques2020_blank", "Marques2020_receptive_field", "Far")
    found = []

    def median_rate(model_identifier, responses, baseline):
        return float(np.median(responses.values))

    def similarity(value, assembly):
        found.append(value)
        return Score(0.5)

    settings = {"timebins": [(70, 170)], "ceiling_func": lambda _: Score(1), "version": 1}
    usual, others = (
        properties_common.PropertiesBenchmark("x", recorded(world), median_rate, similarity, **settings, **more)
        for more in ({}, {"gratings": other})
    )
    for candidate in (world.V1(), SharedCandidate(world.V1())):
        usual(candidate)
        others(candidate)
    assert found[0] != found[1]  # different units determine the firing-rate scale
    assert found[2:] == found[:2]
