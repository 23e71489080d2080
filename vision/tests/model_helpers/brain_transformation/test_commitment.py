from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from brainscore_core.errors import LayerNotFoundError, StimulusError, UnknownIdentifierError
from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly, NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images
from brainscore_vision.model_helpers.brain_transformation import ModelCommitment, ProbabilitiesMapping, behavior
from brainscore_vision.model_interface import BrainModel


@pytest.fixture
def stimuli(write_stimuli):
    rng = np.random.default_rng(0)
    pictures = {f"s{index}": rng.integers(0, 256, (12, 12, 3)) for index in range(6)}
    return write_stimuli(pictures, "noise", image_label=list("xyxyxy"))


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(36, 1000))


def commit(**options):
    wrapper = PytorchWrapper(
        identifier="net", model=network(), preprocessing=partial(load_preprocess_images, image_size=8)
    )
    options = {"region_layer_map": {"V1": "0", "IT": ["1", "2"]}, **options}
    options = {"layers": ["0", "1", "2", "3"], **options}
    return ModelCommitment(identifier="net", activations_model=wrapper, **options)


def test_public_attributes():
    model = commit(visual_degrees=10)
    assert isinstance(model, BrainModel)
    assert model.identifier == "net"
    assert model.visual_degrees() == model._visual_degrees == 10
    assert commit().visual_degrees() == 8
    assert model.layers == ["0", "1", "2", "3"]
    assert model.layer_model.region_layer_map == model.region_layer_map == {"V1": "0", "IT": ["1", "2"]}
    assert model.do_behavior is False
    assert model.activations_model._extractor._visual_degrees == 10
    assert isinstance(model.behavior_model, behavior.BehaviorArbiter)
    assert ProbabilitiesMapping is behavior.ProbabilitiesMapping


def test_recording_labels_units_and_time_bins(stimuli):
    model = commit()
    model.start_recording(BrainModel.RecordingTarget.V1, time_bins=[(70, 170)])
    activity = model.look_at(stimuli, number_of_trials=10)
    assert type(activity) is NeuroidAssembly
    assert activity.dims == ("presentation", "neuroid")
    assert activity.shape == (6, 36)
    labels = {"neuroid_id", "neuroid_num", "model", "layer", "region", "channel"}
    assert labels <= set(activity.indexes["neuroid"].names)
    assert set(activity.indexes["presentation"].names) == {"stimulus_id", "image_label"}
    assert activity.attrs == {}
    expected = model.activations_model(stimuli, layers=["0"])
    np.testing.assert_array_equal(activity.values, expected.values)
    model.start_recording("IT", time_bins=[(70, 90), (90, 110)])
    assert model.look_at(stimuli).sizes == {"presentation": 6, "neuroid": 72, "time_bin": 2}


def test_last_request_decides_between_recording_and_task(stimuli):
    model = commit()
    model.start_recording("V1", [(70, 170)])
    model.start_task("odd_one_out")
    assert type(model.look_at(stimuli)) is BehavioralAssembly
    model.start_recording("V1", [(70, 170)])
    assert type(model.look_at(stimuli)) is NeuroidAssembly
    model.start_task("label", "imagenet")
    assert model.do_behavior
    model.start_task(BrainModel.Task.passive)
    assert type(model.look_at(stimuli)) is NeuroidAssembly


def test_failed_request_changes_nothing(stimuli):
    model = commit()
    model.start_task("label", ["bear", "dog"])
    with pytest.raises(UnknownIdentifierError):
        model.start_recording("V4", [(70, 170)])
    with pytest.raises(UnknownIdentifierError):
        model.start_task("labels", "imagenet")
    assert set(model.look_at(stimuli).values[0]) <= {"bear", "dog"}


def test_looking_before_any_request_is_an_error(stimuli):
    with pytest.raises(RuntimeError, match="start_recording"):
        commit().look_at(stimuli)
    passive = commit()
    passive.start_task("passive")
    with pytest.raises(RuntimeError, match="start_recording"):
        passive.look_at(stimuli)


def test_labels_come_from_the_logits(stimuli):
    model = commit()
    model.start_task("label", "imagenet")
    logits = model.activations_model(stimuli, layers=["3"]).values
    assert model.look_at(stimuli)["logit"].values.tolist() == logits.argmax(axis=1).tolist()


def test_probabilities_come_from_the_readout_layer(stimuli):
    for options, layer in (({}, "3"), ({"behavioral_readout_layer": "1"}, "1")):
        model = commit(**options)
        model.start_task("probabilities", fitting_stimuli=stimuli)
        features = model.activations_model(stimuli, layers=[layer])
        classifier = ProbabilitiesMapping.ProbabilitiesClassifier().fit(features, features["image_label"])
        np.testing.assert_allclose(model.look_at(stimuli).values, classifier.predict_proba(features).values)


def test_require_variance_gives_differing_trials(stimuli):
    model = commit()
    once = commit()
    for each in (model, once):
        each.start_recording("V1", [(70, 170)])
    trials = model.look_at(stimuli, number_of_trials=3, require_variance=True)
    assert trials["stimulus_id"].values.tolist() == stimuli["stimulus_id"].repeat(3).tolist()
    np.testing.assert_array_equal(trials.values[::3], once.look_at(stimuli).values)
    model.start_task("probabilities", fitting_stimuli=stimuli)
    assert model.look_at(stimuli, number_of_trials=3, require_variance=True).sizes["presentation"] == 3 * len(stimuli)


def test_rejects_a_region_with_a_layer_that_does_not_exist(stimuli):
    model = commit()
    model.region_layer_map["IT"] = "layer4"  # entries may be changed
    model.start_recording("IT", [(70, 170)])
    with pytest.raises(LayerNotFoundError, match="'layer4'"):
        model.look_at(stimuli)


def test_accepts_a_plain_callable_with_its_own_time_bins(stimuli):
    from brainscore_vision.model_helpers.brain_transformation.temporal import repeat_in_time

    wrapper = commit().activations_model

    def moving(stimuli, layers, number_of_trials=1, require_variance=False):
        timed = repeat_in_time(wrapper(stimuli, layers=layers), [(0, 50), (50, 100)])
        timed.values[..., 1] *= 3
        return timed

    model = ModelCommitment(identifier="m", activations_model=moving, layers=["0"], region_layer_map={"V1": "0"})
    model.start_recording("V1", [(25, 75)])
    still = wrapper(stimuli, layers=["0"])
    np.testing.assert_allclose(model.look_at(stimuli).values, 2 * still.values, rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"), [({"visual_degrees": 0}, "visual_degrees"), ({"layers": []}, "layers")]
)
def test_rejects_invalid_arguments(options, message):
    arguments = {"identifier": "m", "activations_model": print, "layers": ["0"], **options}
    with pytest.raises(ValueError, match=message):
        ModelCommitment(**arguments)


def small_head():
    """Make a network with two classes and an identity module after them."""
    classes = nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, 2))
    with torch.no_grad():
        classes[1].weight.zero_()
        classes[1].weight[1, :64] = 1  # the second class is for red pictures
        classes[1].bias.copy_(torch.tensor([0.0, 0]))
    classes.add_module("unused", nn.Identity())
    return classes


def commit_small(readout_layer=None, **options):
    wrapper = PytorchWrapper(
        small_head(), partial(load_preprocess_images, image_size=8), "small", readout_layer=readout_layer
    )
    return ModelCommitment("small", wrapper, ["1"], region_layer_map={}, **options)


def test_label_map_names_the_classes_of_a_small_head(write_stimuli, caplog):
    colours = {"r": [255, 0, 0], "g": [0, 255, 0]}
    stimuli = write_stimuli({name: np.broadcast_to(colour, (2, 2, 3)) for name, colour in colours.items()})
    model = commit_small("1", label_map=["green", "red"])
    model.start_task("label", ["red", "green"])
    assert model.look_at(stimuli).values.tolist() == [["red", "green"]]
    assert commit_small(label_map=["green", "red"]).activations_model(stimuli, layers=None).shape == (2, 2)
    assert "readout" not in caplog.text


def test_warns_if_the_last_module_is_used_as_readout(write_stimuli, caplog):
    stimuli = write_stimuli({"a": np.zeros((2, 2, 3))})
    model = commit_small()
    for _ in range(2):
        model.activations_model(stimuli, layers=None)
    assert caplog.text.count("does not declare its readout") == 1
    assert "'unused'; it has 2 units, not one for each of 1000 classes" in caplog.text
    with pytest.raises(behavior.NoReadoutError, match="has 2 units"):
        model.start_task("label", "imagenet")
    caplog.clear()
    commit_small("1").activations_model(stimuli, layers=["logits"], stimuli_identifier=False)
    assert "readout" not in caplog.text


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        ({"layers": ["0", "33"]}, ["33"]),
        ({"layers": ["O", "1", "fc"]}, ["O", "fc"]),
        ({"behavioral_readout_layer": "head"}, ["head"]),
        ({"behavioral_readout_layer": ["3", "head"]}, ["head"]),
        ({"region_layer_map": {"V1": "0", "IT": ["1", "22"]}}, ["22"]),
    ],
)
def test_error_lists_all_missing_layers(options, missing):
    with pytest.raises(LayerNotFoundError) as caught:
        commit(**options)
    for name in missing:
        assert f"Model 'net' has no layer {name!r}" in str(caught.value)
    assert str(caught.value).count("has no layer") == len(missing)


def test_accepts_existing_layers_their_steps_and_the_readout():
    commit(layers=["0", "1-t0", "1-t12", "logits"], behavioral_readout_layer="logits")
    with pytest.raises(LayerNotFoundError, match="no layer '7'"):
        commit(layers=["7-t0"])


def test_layers_of_custom_wrappers_are_not_checked():
    class Computing(PytorchWrapper):
        def get_activations(self, images, layer_names):
            raise AssertionError("is not asked")

    class Knowing(PytorchWrapper):
        def get_layer(self, layer_name):
            raise KeyError(layer_name)

    for kind in (Computing, Knowing):
        wrapper = kind(network(), partial(load_preprocess_images, image_size=8), "net")
        ModelCommitment("net", wrapper, ["made up"], region_layer_map={"IT": "made up"})
    ModelCommitment("net", lambda stimuli, layers, **_: None, ["made up"])


@pytest.mark.parametrize(
    "shown",
    [
        lambda paths: np.zeros((len(paths), 8, 8, 3), np.float32),
        lambda paths: np.zeros((len(paths), 1, 8, 8), np.float32),
        lambda paths: np.zeros((len(paths), 192), np.float32),
        lambda paths: np.zeros((len(paths), 3, 2, 2), np.float32),
        lambda paths: np.zeros((len(paths), 3, 16, 16), np.float32),
    ],
    ids=["channels last", "one channel", "flat", "too small", "too large"],
)
def test_error_describes_pictures_of_a_wrong_shape(stimuli, shown):
    model = ModelCommitment("net", PytorchWrapper(network(), shown, "net"), ["3"], region_layer_map={"IT": "3"})
    model.start_recording("IT", [(70, 170)])
    with pytest.raises(StimulusError) as caught:
        model.look_at(stimuli)
    message = str(caught.value)
    assert message.startswith("The model 'net' cannot take an array of shape (")
    assert "as its preprocessing made it" in message
    assert "(stimulus, channel, height, width)" in message
    assert isinstance(caught.value, RuntimeError)


def test_other_network_errors_only_gain_a_note_on_the_shape():
    class Broken(nn.Module):
        def forward(self, x):
            raise RuntimeError("no such memory")

    model = ModelCommitment("net", PytorchWrapper(Broken(), partial(load_preprocess_images, image_size=8)), ["logits"])
    with pytest.raises(RuntimeError, match="no such memory") as caught:
        model.start_task(BrainModel.Task.label, "imagenet")
    assert "was shown an array of shape" in caught.value.__notes__[0]


@pytest.mark.parametrize("table", [StimulusSet, pd.DataFrame])
def test_rejects_stimuli_without_ids(table):
    model = commit()
    model.start_recording("IT", [(70, 170)])
    wrong = "no column 'stimulus_id'.*its columns: stimulus_di"
    with pytest.raises(
        StimulusError, match=wrong if table is StimulusSet else "type DataFrame.*expected a StimulusSet"
    ):
        model.look_at(table({"stimulus_di": ["a", "b"]}))
