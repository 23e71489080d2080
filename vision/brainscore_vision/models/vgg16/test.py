"""VGG-16: its layers and its contract with random weights, what it sees with the published ones."""

from functools import cache

import numpy as np
import pytest
from PIL import Image

from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision import load_model
from brainscore_vision.models.vgg16 import model
from brainscore_vision.testing import ModelContract
from brainscore_vision.testing.random_weights import random_weights

SHAPES = {
    "features.4": (64, 112, 112),
    "features.9": (128, 56, 56),
    "features.16": (256, 28, 28),
    "features.23": (512, 14, 14),
    "features.30": (512, 7, 7),
    "classifier.1": (4096,),
    "classifier.4": (4096,),
    "logits": (1000,),
}


@cache
def brain():
    with random_weights(model):  # no network: the published ones are tested below, where there is one
        return load_model("vgg16")


@pytest.fixture(scope="module", autouse=True)
def _release():
    yield
    brain.cache_clear()


@pytest.mark.slow
class TestVGG16(ModelContract):
    identifier = "vgg16"

    def load(self):
        return brain()


def test_layers_have_the_expected_shapes():
    pictures = np.random.default_rng(0).normal(size=(1, 3, 224, 224)).astype(np.float32)
    activations = brain().activations_model.get_activations(pictures, [*model.LAYERS, "logits"])
    shapes = {layer: values.shape for layer, values in activations.items()}
    assert shapes == {layer: (1, *shape) for layer, shape in SHAPES.items()}
    assert all(values.std() > 0 for values in activations.values())


def test_another_name_is_refused():
    with pytest.raises(ValueError, match="no model 'alexnt'; expected"):
        model.get_model("alexnt")


@pytest.mark.network
def test_published_weights_know_what_a_cup_of_coffee_is(tmp_path):
    coffee = pytest.importorskip("skimage.data", reason="scikit-image has the picture").coffee()
    Image.fromarray(coffee[:, 100:500]).save(tmp_path / "coffee.png")
    stimuli = StimulusSet({"stimulus_id": ["coffee"]})
    stimuli.stimulus_paths = {"coffee": tmp_path / "coffee.png"}
    logits = load_model("vgg16").activations_model(stimuli, layers=["logits"]).values[0]
    assert {967, 968, 504} & set(np.argsort(logits)[-5:])  # espresso, cup, coffee mug
