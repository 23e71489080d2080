from types import SimpleNamespace

import numpy as np
import pytest
import torch

from brainscore_core.errors import LayerNotFoundError
from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper
from brainscore_vision.model_helpers.adapters import as_brain_model
from brainscore_vision.model_helpers.brain_transformation.neural import RegionLayerMap
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.testing.random_model import RandomModel


def record(model, stimuli, region="IT"):
    model.start_recording(region, time_bins=[(70, 170)])
    return model.look_at(stimuli)


def test_brain_model_is_returned_unchanged():
    model = RandomModel()
    assert as_brain_model(model) is model


@pytest.mark.parametrize(
    "said",
    [
        {"layers": ["a"]},
        {"identifier": "mine"},
        {"preprocessing": "imagenet-8"},
        {"visual_degrees": 4},
        {"label_map": ["a"]},
    ],
)
def test_brain_model_rejects_further_arguments(said):
    with pytest.raises(TypeError, match="RandomModel is a BrainModel already"):
        as_brain_model(RandomModel(), **said)


def test_all_arguments_reach_the_model(small_net, stimuli):
    model = as_brain_model(
        small_net(),
        identifier="mine",
        preprocessing="imagenet-32",
        region_layer_map={"V1": "stem", "IT": ["blocks.0", "blocks.1"]},
        behavioral_readout_layer="fc",
        visual_degrees=6,
        batch_size=2,
    )
    assert isinstance(model, BrainModel)
    assert (model.identifier, model.visual_degrees(), model.layers) == ("mine", 6, ["stem", "blocks.0", "blocks.1"])
    assert set(record(model, stimuli, "V1")["layer"].values) == {"stem"}
    assert set(record(model, stimuli)["layer"].values) == {"blocks.0", "blocks.1"}
    assert model.behavior_model.mapping["probabilities"].readout == ["fc"]
    with pytest.raises(KeyError, match="no layer for region 'V4'"):
        model.start_recording("V4", time_bins=[(70, 170)])


def test_label_map_names_the_classes_of_a_custom_head(small_net, stimuli):
    net = small_net()
    names = [f"class {number % 2}" for number in range(net.fc.out_features)]
    model = as_brain_model(net, preprocessing="imagenet-32", layers="stem", readout_layer="fc", label_map=names)
    model.start_task("label", ["class 0", "class 1"])
    assert set(model.look_at(stimuli).values.ravel()) <= {"class 0", "class 1"}
    with pytest.raises(KeyError, match="known for the labels"):
        model.start_task("label", ["dog"])


def test_repr_has_identifier_layers_and_degrees(small_net):
    model = as_brain_model(small_net(), identifier="mine", preprocessing="imagenet-32")
    assert repr(model) == "ModelCommitment('mine', layers=['blocks.0', 'blocks.1'], visual_degrees=8)"


def test_single_layer_is_used_for_every_region(small_net, stimuli):
    model = as_brain_model(small_net(), preprocessing="imagenet-32", layers="stem")
    for region in ("V1", "IT", "FFA"):
        activity = record(model, stimuli, region)
        assert set(activity["layer"].values) == {"stem"}
        assert set(activity["region"].values) == {region}


def test_layers_of_regions_are_chosen_on_demand(small_net):
    model = as_brain_model(small_net(), preprocessing="imagenet-32")
    assert model.layers == ["blocks.0", "blocks.1"]
    layers = model.region_layer_map
    assert isinstance(layers, RegionLayerMap)
    assert layers == {}
    assert layers.layer_selection.layers == model.layers


def test_mapped_layers_must_exist_and_layers_must_not_be_empty(small_net):
    with pytest.raises(LayerNotFoundError, match=r"no layer 'block\.0'\. Did you mean 'blocks\.0'"):
        as_brain_model(small_net(), preprocessing="imagenet-32", region_layer_map={"V1": "block.0"})
    with pytest.raises(ValueError, match="empty"):
        as_brain_model(small_net(), preprocessing="imagenet-32", layers=[])


def test_activations_models_need_only_layers(small_net, stimuli):
    wrapper = as_brain_model(small_net(), preprocessing="imagenet-32").activations_model
    assert isinstance(wrapper, PytorchWrapper)
    wrapper.identifier = "wrapped"
    model = as_brain_model(wrapper, layers=["stem"])
    assert model.identifier == "wrapped"
    assert record(model, stimuli).shape == (5, 4 * 8 * 8)
    with pytest.raises(TypeError, match=r"pass layers=\[\.\.\.\]"):
        as_brain_model(wrapper)
    with pytest.raises(TypeError, match="leave these arguments out"):
        as_brain_model(wrapper, layers=["stem"], identifier="another")
    with pytest.raises(LayerNotFoundError, match="'stem'"):
        as_brain_model(wrapper, layers=["sten"])


def test_error_for_other_objects_lists_what_to_pass(small_net):
    with pytest.raises(TypeError, match=r"type 'int' is not known; expected a BrainModel, a module of PyTorch.*ONNX"):
        as_brain_model(3)
    uncallable = SimpleNamespace(identifier="features", from_stimulus_set=None)  # an activations model is callable
    with pytest.raises(TypeError, match="type 'SimpleNamespace' is not known"):
        as_brain_model(uncallable)
    with pytest.raises(TypeError, match=r"type 'str' is not known.*load_model\('resnet18'\)"):
        as_brain_model("resnet18")
    with pytest.raises(TypeError, match=r"SmallNet is a class: pass an instance, SmallNet\(\.\.\.\)"):
        as_brain_model(small_net)


def test_names_are_stable_and_depend_on_weights(small_net):
    def name(net):
        return as_brain_model(net, preprocessing="imagenet-32").identifier

    assert name(small_net(0)) == name(small_net(0))
    assert name(small_net(0)).startswith("SmallNet@")
    assert name(small_net(0)) != name(small_net(1))
    net = small_net(0)
    before = name(net)
    with torch.no_grad():
        net.fc.bias[0] += 1
    assert name(net) != before


def test_models_without_a_digest_never_share_a_name(small_net):
    def name():
        net = small_net(0)
        net.state = iter([1])  # may hold anything
        return as_brain_model(net, preprocessing="imagenet-32").identifier

    assert name() != name()


def test_activations_of_different_weights_are_never_mixed_up(small_net, stimuli):
    def activity(seed):
        model = as_brain_model(small_net(seed), identifier="same", preprocessing="imagenet-32", layers=["stem"])
        return record(model, stimuli).values

    first, other, again = activity(0), activity(1), activity(0)
    assert not np.allclose(first, other)
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize(
    "package", ["keras", "keras.src.models.functional", "tf_keras.engine", "tensorflow.python.keras"]
)
def test_model_of_keras_is_refused_with_a_remedy(package):
    class Functional:
        def __call__(self, images):
            return np.zeros((len(images), 2))

        predict = __call__

    Functional.__module__ = package

    class Mine(Functional):
        pass

    for model in (Functional(), Mine()):
        with pytest.raises(TypeError) as caught:
            as_brain_model(model)
        assert f"{type(model).__qualname__} is a model of Keras, whose preprocessing" in str(caught.value)
        assert "lambda images: model.predict(numpy.stack(" in str(caught.value)
