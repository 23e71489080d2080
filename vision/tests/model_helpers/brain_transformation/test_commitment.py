"""ModelCommitment as a whole: recordings, tasks, and switching between them."""

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from brainscore_core.errors import LayerNotFoundError, UnknownIdentifierError
from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly, NeuroidAssembly
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
    return ModelCommitment(identifier="net", activations_model=wrapper, layers=["0", "1", "2", "3"], **options)


def test_attributes_that_others_read():
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


def test_recording(stimuli):
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


def test_the_last_request_decides_what_is_measured(stimuli):
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


def test_a_request_that_fails_changes_nothing(stimuli):
    model = commit()
    model.start_task("label", ["bear", "dog"])
    with pytest.raises(UnknownIdentifierError):
        model.start_recording("V4", [(70, 170)])
    with pytest.raises(UnknownIdentifierError):
        model.start_task("labels", "imagenet")
    assert set(model.look_at(stimuli).values[0]) <= {"bear", "dog"}


def test_before_any_request_looking_is_an_error(stimuli):
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


def test_variance_is_refused_for_recordings_and_tasks(stimuli):
    model = commit()
    model.start_recording("V1", [(70, 170)])
    with pytest.raises(NotImplementedError, match="require_variance"):
        model.look_at(stimuli, number_of_trials=3, require_variance=True)
    model.start_task("odd_one_out")
    with pytest.raises(NotImplementedError, match="require_variance"):
        model.look_at(stimuli, require_variance=True)


def test_a_map_to_a_layer_that_does_not_exist_is_an_error(stimuli):
    model = commit(region_layer_map={"IT": "layer4"})
    model.start_recording("IT", [(70, 170)])
    with pytest.raises(LayerNotFoundError, match="'layer4'"):
        model.look_at(stimuli)


def test_a_model_may_bring_its_own_time_bins_and_plain_callable(stimuli):
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
def test_arguments_without_meaning_are_refused(options, message):
    arguments = {"identifier": "m", "activations_model": print, "layers": ["0"], **options}
    with pytest.raises(ValueError, match=message):
        ModelCommitment(**arguments)
