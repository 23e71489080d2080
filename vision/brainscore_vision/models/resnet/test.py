"""Residual networks: their layers and their contract with random weights, what they see with the published ones."""

from functools import cache

import numpy as np
import pytest
from PIL import Image

from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision import load_model
from brainscore_vision.models.resnet import model
from brainscore_vision.testing import ModelContract
from brainscore_vision.testing.random_weights import random_weights

WIDTHS = {"resnet18": (64, 128, 256, 512), "resnet34": (64, 128, 256, 512), "resnet50": (256, 512, 1024, 2048)}
N_LAYERS = {"resnet18": 10, "resnet34": 18, "resnet50": 18}


@cache
def brain(name):
    with random_weights(model):  # no network: the published ones are tested below, where there is one
        return load_model(name)


@pytest.fixture(scope="module", autouse=True)
def _release():
    yield
    brain.cache_clear()


class TestResNet18(ModelContract):
    identifier = "resnet18"

    def load(self):
        return brain(self.identifier)


class TestResNet34(TestResNet18):
    identifier = "resnet34"


class TestResNet50(TestResNet18):
    identifier = "resnet50"


@pytest.mark.parametrize("name", WIDTHS)
def test_layers_have_the_expected_shapes(name):
    network = brain(name).activations_model
    pictures = np.random.default_rng(0).normal(size=(1, 3, 224, 224)).astype(np.float32)
    layers = model.get_layers(name)
    assert len(layers) == len(set(layers)) == N_LAYERS[name]
    activations = network.get_activations(pictures, [*layers, "logits"])
    for layer, values in activations.items():
        if layer.startswith("layer"):
            stage = int(layer[5])
            side = 112 // 2**stage
            assert values.shape == (1, WIDTHS[name][stage - 1], side, side)
        assert values.std() > 0
    assert activations["maxpool"].shape == (1, 64, 56, 56)
    assert activations["avgpool"].shape == (1, WIDTHS[name][-1], 1, 1)
    assert activations["logits"].shape == (1, 1000)


def test_a_stage_is_its_last_block():
    pictures = np.random.default_rng(0).normal(size=(1, 3, 64, 64)).astype(np.float32)
    activations = brain("resnet18").activations_model.get_activations(pictures, ["layer2", "layer2.1"])
    np.testing.assert_array_equal(activations["layer2"], activations["layer2.1"])


def test_another_name_is_refused():
    with pytest.raises(ValueError, match="no model 'alexnt'; expected"):
        model.get_model("alexnt")


@pytest.mark.network
@pytest.mark.parametrize("name", WIDTHS)
def test_published_weights_know_what_a_cup_of_coffee_is(name, tmp_path):
    coffee = pytest.importorskip("skimage.data", reason="scikit-image has the picture").coffee()
    Image.fromarray(coffee[:, 100:500]).save(tmp_path / "coffee.png")
    stimuli = StimulusSet({"stimulus_id": ["coffee"]})
    stimuli.stimulus_paths = {"coffee": tmp_path / "coffee.png"}
    logits = load_model(name).activations_model(stimuli, layers=["logits"]).values[0]
    assert {967, 968, 504} & set(np.argsort(logits)[-5:])  # espresso, cup, coffee mug
