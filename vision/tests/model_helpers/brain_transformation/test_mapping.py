import json
from collections import OrderedDict

import numpy as np
import pytest

from brainscore_core.errors import ConfigurationError, UnknownIdentifierError
from brainscore_vision.model_helpers.activations.core import ActivationsExtractorHelper
from brainscore_vision.model_helpers.brain_transformation import ModelCommitment, mapping, neural


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


def test_region_is_recorded_from_its_layers(activations_model, stimuli):
    model = mapping.LayerMappedModel(
        "net", activations_model, {"V1": "early", "IT": ["middle", "late"]}, visual_degrees=8
    )
    model.start_recording("V1")
    activity = model.look_at(stimuli, number_of_trials=5)
    assert activity["region"].values.tolist() == ["V1"] * 3
    assert activity["layer"].values.tolist() == ["early"] * 3
    assert activity["stimulus_id"].values.tolist() == ["a", "b"]
    model.start_recording("IT")
    activity = model.look_at(stimuli)
    assert activity["layer"].values.tolist() == ["middle", "middle", "late"]
    assert set(activity.sel(region="IT")["neuroid_id"].values) == {"net.middle.0", "net.middle.1", "net.late.0"}


def test_error_for_an_unmapped_region_gives_the_remedy(activations_model, stimuli):
    model = mapping.LayerMappedModel("net", activations_model, {"V1": "early"})
    with pytest.raises(KeyError) as caught:
        model.start_recording("V4")
    assert "no layer for region 'V4'; it has V1" in str(caught.value)
    assert "--region-layer V4=<layer>" in str(caught.value)
    assert "region_layer_map/net.json" in str(caught.value)
    with pytest.raises(RuntimeError, match="start_recording"):
        model.look_at(stimuli)
    with pytest.raises(TypeError, match="TemporalAligned"):
        model.start_recording("V1", [(70, 170)])
    with pytest.raises(RuntimeError, match="start_recording"):
        model.look_at(stimuli)
    with pytest.raises(NotImplementedError, match="ModelCommitment"):
        model.start_task("label")
    model.start_task("passive")
    with pytest.raises(ConfigurationError, match="visual_degrees"):
        model.visual_degrees()


def test_error_for_an_unmapped_region_suggests_a_name(activations_model):
    model = mapping.LayerMappedModel("net", activations_model, {"early_visual": "early"})
    with pytest.raises(UnknownIdentifierError, match="Did you mean 'early_visual'"):
        model.start_recording("early_visuel")


def test_two_recorded_regions_cannot_claim_one_layer(activations_model, stimuli):
    model = mapping.LayerMappedModel("net", activations_model, {"V4": ["early", "middle"], "IT": ["middle", "late"]})
    model.recorded_regions = ["V4", "IT"]
    with pytest.raises(AssertionError, match=r"'middle' of model 'net' is claimed by two regions.*'V4' and 'IT'"):
        model.look_at(stimuli)
    model.region_layer_map["IT"] = "late"
    assert model.look_at(stimuli)["region"].values.tolist() == ["V4"] * 5 + ["IT"]


def test_map_is_copied_and_can_be_changed(activations_model):
    given = {"IT": "late"}
    model = mapping.LayerMappedModel("net", activations_model, given)
    model.region_layer_map["IT"] = "middle"
    assert given == {"IT": "late"}
    model.region_layer_map = {"V1": "early"}
    assert model.region_layer_map == {"V1": "early"}


def test_origin_is_recorded_for_each_layer():
    layers = mapping.LayerMap({"V1": "early"}, {"V1": {"from": "file", "file": "net.json"}})
    layers.commit("IT", "late", {"from": "selection"})
    assert [layers.origin(region)["from"] for region in ("V1", "IT", "V4")] == ["file", "selection", "explicit"]
    layers["IT"] = "middle"
    assert layers.origin("IT") == {"from": "explicit"}


def test_published_name_remains_importable():
    assert neural.LayerMappedModel is mapping.LayerMappedModel


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    from brainscore_vision import loading

    directory = tmp_path / "plugin"
    (directory / "region_layer_map").mkdir(parents=True)
    monkeypatch.setattr(loading, "find_plugin_directory", lambda kind, identifier: directory)

    def write(text):
        (directory / "region_layer_map" / "net.json").write_text(text)

    return write


def test_map_is_read_from_the_plugin_folder_on_demand(plugin, activations_model, stimuli):
    model = ModelCommitment("net", activations_model, layers=["early"])
    plugin(json.dumps({"V1": "early", "IT": ["middle", "late"]}))
    model.start_recording("IT", [(70, 170)])
    assert model.look_at(stimuli).shape == (2, 3)
    assert model.region_layer_map == {"V1": "early", "IT": ["middle", "late"]}
    assert model.region_layer_map.origin("IT") == {"from": "file", "file": "region_layer_map/net.json"}
    assert mapping.find_region_layer_map("another-model") is None


def test_explicit_map_takes_precedence(plugin, activations_model):
    plugin(json.dumps({"V1": "early"}))
    model = ModelCommitment("net", activations_model, layers=["early"], region_layer_map={"V1": "late"})
    assert model.region_layer_map == {"V1": "late"}
    assert model.region_layer_map.origin("V1") == {"from": "explicit"}


@pytest.mark.parametrize("text", ["{", "[]", '{"V1": 3}', '{"V1": []}', '{"V1": [1]}'])
def test_error_names_an_invalid_map_file(plugin, text):
    plugin(text)
    with pytest.raises(ConfigurationError, match=r"net\.json"):
        mapping.find_region_layer_map("net")
