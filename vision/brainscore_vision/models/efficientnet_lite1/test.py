import numpy as np
import pytest
from PIL import Image

from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision import load_model
from brainscore_vision.models.efficientnet_lite1 import model as plugin
from brainscore_vision.testing import ModelContract


class TestEfficientNetLite1(ModelContract):
    identifier = "efficientnet_lite1"


@pytest.fixture(scope="module")
def model():
    return load_model("efficientnet_lite1")


@pytest.mark.slow
def test_cup_of_coffee_is_labelled_espresso(model, tmp_path):
    data = pytest.importorskip("skimage.data", reason="scikit-image has the picture")
    height, width = data.coffee().shape[:2]
    left = (width - height) // 2
    Image.fromarray(data.coffee()[:, left : left + height]).save(tmp_path / "coffee.png")
    stimuli = StimulusSet({"stimulus_id": ["coffee"]})
    stimuli.stimulus_paths = {"coffee": tmp_path / "coffee.png"}
    model.start_task("label", "imagenet")
    assert model.look_at(stimuli)["logit"].values.tolist() == [967]


def test_layers_have_the_expected_shapes(model):
    pictures = np.zeros((1, 3, 240, 240), dtype=np.float32)
    regions = list(plugin.REGION_LAYER_MAP.values())
    activations = model.activations_model.get_activations(pictures, [*regions, "_bn1", "logits"])
    assert [values.shape[1:] for values in activations.values()] == [
        (24, 60, 60), (40, 30, 30), (112, 15, 15), (320, 8, 8), (1280, 8, 8), (1000,),
    ]  # fmt: skip


def test_number_of_parameters(model):
    network = model.activations_model._model  # noqa: SLF001 - its parameters are counted
    assert sum(parameter.numel() for parameter in network.parameters()) == 5_416_680
