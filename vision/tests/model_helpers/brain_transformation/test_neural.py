"""Regions and their layers."""

import json
from collections import OrderedDict

import numpy as np
import pytest

from brainscore_core.errors import ConfigurationError, UnknownIdentifierError
from brainscore_vision.model_helpers.activations.core import ActivationsExtractorHelper
from brainscore_vision.model_helpers.brain_transformation.neural import LayerMappedModel, find_region_layer_map


def get_activations(paths, layer_names):
    sizes = {"early": 3, "middle": 2, "late": 1}
    return OrderedDict(
        (name, np.arange(len(paths) * sizes[name], dtype=float).reshape(len(paths), -1)) for name in layer_names
    )


@pytest.fixture
def activations_model():
    return ActivationsExtractorHelper(get_activations, preprocessing=None, identifier="net")


@pytest.fixture
def stimuli(write_stimuli):
    return write_stimuli(dict.fromkeys("ab", np.zeros((2, 2, 3))), degrees=[8, 8])


def test_a_region_is_its_layers(activations_model, stimuli):
    model = LayerMappedModel("net", activations_model, {"V1": "early", "IT": ["middle", "late"]}, visual_degrees=8)
    model.start_recording("V1")
    activity = model.look_at(stimuli, number_of_trials=5)
    assert activity["region"].values.tolist() == ["V1"] * 3
    assert activity["layer"].values.tolist() == ["early"] * 3
    assert activity["stimulus_id"].values.tolist() == ["a", "b"]
    model.start_recording("IT", time_bins=[(70, 120), (120, 170)])
    assert model.look_at(stimuli)["time_bin_start"].values.tolist() == [70, 120]
    model.start_recording("IT", time_bins=[(70, 170)])
    activity = model.look_at(stimuli)
    assert activity["layer"].values.tolist() == ["middle", "middle", "late"]
    assert set(activity.sel(region="IT")["neuroid_id"].values) == {"net.middle.0", "net.middle.1", "net.late.0"}


def test_a_region_without_a_layer_is_an_error_that_teaches(activations_model, stimuli):
    model = LayerMappedModel("net", activations_model, {"V1": "early"})
    with pytest.raises(KeyError) as caught:
        model.start_recording("V4")
    assert "no layer for region 'V4'; it has V1" in str(caught.value)
    assert "region_layer_map/net.json" in str(caught.value)
    with pytest.raises(RuntimeError, match="start_recording"):
        model.look_at(stimuli)
    with pytest.raises(ValueError, match="time_bins"):
        model.start_recording("V1", [(170, 70)])
    with pytest.raises(RuntimeError, match="start_recording"):
        model.look_at(stimuli)
    with pytest.raises(ConfigurationError, match="visual_degrees"):
        model.visual_degrees()


def test_a_model_without_a_map_says_how_to_give_one(activations_model):
    model = LayerMappedModel("a-model-that-no-plugin-registers", activations_model, None)
    with pytest.raises(
        UnknownIdentifierError, match=r"does not say which layer stands for region 'IT'.*region_layer_map"
    ):
        model.start_recording("IT")


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    from brainscore_vision import loading

    directory = tmp_path / "plugin"
    (directory / "region_layer_map").mkdir(parents=True)
    monkeypatch.setattr(loading, "find_plugin_directory", lambda kind, identifier: directory)

    def write(text):
        (directory / "region_layer_map" / "net.json").write_text(text)

    return write


def test_the_map_is_found_beside_the_plugin_when_it_is_needed(plugin, activations_model, stimuli):
    model = LayerMappedModel("net", activations_model, None)
    plugin(json.dumps({"V1": "early", "IT": ["middle", "late"]}))
    model.start_recording("IT")
    assert model.look_at(stimuli).shape == (2, 3)
    assert model.region_layer_map == {"V1": "early", "IT": ["middle", "late"]}
    assert find_region_layer_map("another-model") == {}


def test_an_explicit_map_comes_first(plugin, activations_model):
    plugin(json.dumps({"V1": "early"}))
    assert LayerMappedModel("net", activations_model, {"V1": "late"}).region_layer_map == {"V1": "late"}


@pytest.mark.parametrize("text", ["{", "[]", '{"V1": 3}', '{"V1": []}', '{"V1": [1]}'])
def test_a_file_that_is_no_map_is_named(plugin, text):
    plugin(text)
    with pytest.raises(ConfigurationError, match=r"net\.json"):
        find_region_layer_map("net")
