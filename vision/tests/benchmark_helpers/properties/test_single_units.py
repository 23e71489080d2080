import numpy as np
import pytest

from brainscore_core.errors import AssemblyError, NotApplicableError
from brainscore_vision.benchmark_helpers.properties import single_units


def test_mapped_receptive_fields_match_the_true_centres(world):
    model = world.V1()
    fields = single_units.map_receptive_fields(model)
    assert np.isnan(fields.centres[0]).all()  # no response
    np.testing.assert_allclose(fields.centres[1:], model.centres[1:], atol=1e-6)
    assert fields.maps.shape == (30, 4, 4)
    assert (fields.position_y.tolist(), fields.position_x.tolist()) == (world.POSITIONS.tolist(),) * 2
    assert (fields.maps >= 0).all()
    near = single_units.units_near(fields.centres, [0.5, 0.5])
    assert near.tolist() == [i for i in range(1, 30) if (model.centres[i] == 0.5).all()]


def test_centre_between_positions_is_weighted_by_responses(world):
    maps = np.zeros((1, 4, 4))
    maps[0, 1, 2], maps[0, 2, 2], maps[0, 0, 0] = 3.0, 1.0, 0.1  # the last is below 5 % of the peak
    np.testing.assert_allclose(single_units.centres_of(maps, world.POSITIONS, world.POSITIONS * 2), [[0.125, 1.0]])


def test_firing_rates_are_scaled_to_the_recorded_medians(world):
    model = world.V1()
    centres = single_units.map_receptive_fields(model).centres
    near, scale = single_units.units_near(centres, [0.5, 0.5]), single_units.firing_rate_scale(model, "V1", centres)
    rates, blank = (
        single_units.firing_rates(model, name, 20, near, scale)
        for name in ("Marques2020_orientation", "Marques2020_blank")
    )
    best = rates.values.reshape(len(near), -1, 2).mean(axis=2).max(axis=1)
    assert np.median(best) == pytest.approx(33.8)
    assert np.median(blank.values) == pytest.approx(0.82)
    assert len(scale) == 2


def test_one_unit_keeps_its_dimension(world):
    rates = single_units.firing_rates(world.V1(), "Marques2020_blank", 2, np.array(4), (1.0, 0.0))
    assert rates.sizes["neuroid"] == 1


def test_recording_does_not_rectify_the_models_answer(world):
    answer = single_units.record_from_model(world.V1(), "Marques2020_blank", 3)
    assert "time_bin" not in answer.dims
    assert (answer.values[:, 0] < 0).all()  # rectified only where rates are computed


def test_rejects_models_without_units_there_and_unknown_regions(world):
    with pytest.raises(NotApplicableError, match="None of 30 units"):
        single_units.units_near(single_units.map_receptive_fields(world.V1(far=True)).centres, [0.5, 0.5])
    with pytest.raises(AssemblyError, match="known for V1, not for region 'V4'"):
        single_units.firing_rate_scale(world.V1(), "V4", np.zeros((30, 2)))


def test_rejects_stimuli_at_several_positions(world):
    assert single_units.stimulus_position(world.SETS["Marques2020_blank"]).tolist() == [0.5, 0.5]
    with pytest.raises(AssemblyError, match="one place"):
        single_units.stimulus_position(world.SETS["Marques2020_receptive_field"])


def test_an_experiment_can_use_its_own_gratings(world, monkeypatch):
    own = {f"Own-{name.removeprefix('Marques2020_')}": each for name, each in world.SETS.items()}
    asked = []
    monkeypatch.setattr(single_units, "load_stimulus_set", lambda name: asked.append(name) or own[name])
    gratings = single_units.GratingSets("Own-blank", "Own-receptive_field", "Own-orientation")
    centres = single_units.map_receptive_fields(world.V1(), gratings).centres
    scale = single_units.firing_rate_scale(world.V1(), "V1", centres, gratings)
    assert asked == ["Own-blank", "Own-receptive_field", "Own-blank", "Own-orientation"]
    monkeypatch.setattr(single_units, "load_stimulus_set", world.SETS.__getitem__)
    assert scale == single_units.firing_rate_scale(
        world.V1(), "V1", single_units.map_receptive_fields(world.V1()).centres
    )
