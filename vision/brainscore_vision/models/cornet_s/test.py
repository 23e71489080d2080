"""CORnet-S: areas over time and its contract with random weights, what it sees with the published ones."""

from functools import cache

import numpy as np
import pytest
from PIL import Image

from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_core.testing.synthetic import make_stimulus_set
from brainscore_vision import load_model
from brainscore_vision.models.cornet_s import model
from brainscore_vision.testing import ModelContract
from brainscore_vision.testing.random_weights import random_weights

SHAPES = {
    "V1.output-t0": (64, 56, 56),
    "V2.output-t0": (128, 28, 28),
    "V2.output-t1": (128, 28, 28),
    "V4.output-t0": (256, 14, 14),
    "V4.output-t1": (256, 14, 14),
    "V4.output-t2": (256, 14, 14),
    "V4.output-t3": (256, 14, 14),
    "IT.output-t0": (512, 7, 7),
    "IT.output-t1": (512, 7, 7),
    "decoder.avgpool-t0": (512, 1, 1),
    "logits": (1000,),
}


@cache
def make_brain():
    with random_weights(model):  # no network: the published ones are tested below, where there is one
        return load_model("cornet_s")


@pytest.fixture(scope="module", autouse=True)
def _release():
    yield
    make_brain.cache_clear()


class TestCORnetS(ModelContract):
    identifier = "cornet_s"

    def load(self):
        return make_brain()


def test_layers_have_the_expected_shapes():
    pictures = np.random.default_rng(0).normal(size=(1, 3, 224, 224)).astype(np.float32)
    activations = make_brain().activations_model.get_activations(pictures, [*model.LAYERS, "logits"])
    shapes = {layer: values.shape for layer, values in activations.items()}
    assert shapes == {layer: (1, *shape) for layer, shape in SHAPES.items()}
    assert all(values.std() > 0 for values in activations.values())


# Which step is nearest: V1 from 50 ms, V2 from 70 and 170, V4 from 90, 140, 190 and 240, IT from 100 and 200.
BINS = [
    ("V1", (70, 170), 0), ("V2", (70, 170), 0), ("V2", (150, 250), 1), ("V4", (70, 170), 0), ("V4", (150, 200), 1),
    ("V4", (200, 210), 2), ("V4", (300, 310), 3), ("IT", (70, 170), 0), ("IT", (170, 270), 1),
]  # fmt: skip


@pytest.fixture
def brain(monkeypatch):
    brain = make_brain()
    monkeypatch.setattr(brain.activations_model._extractor, "check_steady", False)  # noqa: SLF001 - half the passes
    return brain


@pytest.fixture
def stimuli(tmp_path):
    return make_stimulus_set(tmp_path, 1, identifier="cornet_s-time", size_px=64)


@pytest.mark.slow
def test_a_time_bin_gets_the_step_that_starts_nearest(brain, stimuli):
    # One test, in one home: the steps are computed once and then in the cache.
    recorded = brain.activations_model(stimuli, layers=[name for name in SHAPES if "output" in name])
    for region, time_bin, step in BINS:
        brain.start_recording(region, [time_bin])
        expected = recorded.sel(neuroid=recorded["layer"] == f"{region}.output-t{step}").values
        np.testing.assert_array_equal(brain.look_at(stimuli).values, expected, err_msg=f"{region} in {time_bin}")


@pytest.mark.slow
def test_it_changes_over_time_and_v1_does_not(brain, stimuli):
    bins = [(100, 200), (200, 300)]
    for region, changes in (("IT", True), ("V1", False)):
        brain.start_recording(region, bins)
        activity = brain.look_at(stimuli)
        assert activity.dims == ("presentation", "neuroid", "time_bin")
        early, late = (activity.values[..., index] for index in (0, 1))
        assert (early != late).any() == changes


def test_another_name_is_refused():
    with pytest.raises(ValueError, match="no model 'alexnt'; expected"):
        model.get_model("alexnt")


@pytest.mark.network
def test_published_weights_know_what_a_cup_of_coffee_is(tmp_path):
    coffee = pytest.importorskip("skimage.data", reason="scikit-image has the picture").coffee()
    Image.fromarray(coffee[:, 100:500]).save(tmp_path / "coffee.png")
    stimuli = StimulusSet({"stimulus_id": ["coffee"]})
    stimuli.stimulus_paths = {"coffee": tmp_path / "coffee.png"}
    logits = load_model("cornet_s").activations_model(stimuli, layers=["logits"]).values[0]
    assert {967, 968, 504} & set(np.argsort(logits)[-5:])  # espresso, cup, coffee mug
