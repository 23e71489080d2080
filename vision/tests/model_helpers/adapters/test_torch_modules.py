import numpy as np
import pytest
import torch
from torch import nn

from brainscore_core.errors import ConfigurationError, LayerNotFoundError
from brainscore_vision.model_helpers.adapters import as_brain_model
from brainscore_vision.model_helpers.adapters.torch_modules import block_layers


def block():
    return nn.Sequential(nn.Conv2d(3, 3, 3), nn.ReLU())


class Unit(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv2d(3, 3, 3), nn.ReLU())


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.units = nn.Sequential(Unit(), Unit())


@pytest.mark.parametrize(
    ("network", "blocks"),
    [
        (nn.Sequential(block(), block()), ["0", "1"]),
        (nn.Sequential(nn.Conv2d(3, 3, 3), nn.ReLU(), nn.Conv2d(3, 3, 3)), []),
        (nn.Sequential(block()), []),
        (nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)), []),  # plain layers are not blocks
        # Heads inside a block also share a class; the outermost sequence counts.
        (nn.ModuleDict({"layers": nn.ModuleList([nn.ModuleList([block(), block()]) for _ in range(3)])}),
         ["layers.0", "layers.1", "layers.2"]),
        (nn.ModuleDict({"a": nn.Sequential(block(), block()), "b": nn.Sequential(block(), block())}), ["a", "b"]),
        (nn.ModuleDict({"a": nn.Sequential(block(), block()), "stem": nn.Conv2d(3, 3, 1)}), ["a.0", "a.1"]),
        # Modules of a custom class are blocks at any depth, but not the stem, nor parts that also occur inside blocks.
        (nn.Sequential(nn.Sequential(Unit(), Residual(), Residual()), Residual()), ["0.1", "0.2", "1"]),
        (nn.ModuleDict({name: Residual() for name in ("a", "aux1", "AuxLogits", "auxiliary")}), ["a", "auxiliary"]),
        (nn.Sequential(nn.Conv2d(3, 3, 3), nn.MaxPool2d(2), nn.Conv2d(3, 3, 3), nn.AvgPool2d(2), nn.Flatten(),
                       nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3)), ["1", "3", "5"]),
    ],
)  # fmt: skip
def test_blocks_are_the_outermost_sequences_of_one_class(network, blocks):
    assert block_layers(network) == blocks


def test_activations_equal_the_outputs_of_the_network(small_net, stimuli):
    net = small_net()
    model = as_brain_model(net, preprocessing=to_tensor, layers=["blocks.1"])
    model.start_recording("IT", time_bins=[(70, 170)])
    activity = model.look_at(stimuli)
    images = torch.stack([to_tensor(load(stimuli, each)) for each in stimuli["stimulus_id"]])
    with torch.no_grad():
        expected = net.blocks(net.stem(images)).flatten(1).numpy()
    np.testing.assert_allclose(activity.values, expected, atol=1e-6)


def to_tensor(image):
    return torch.from_numpy(np.asarray(image, dtype=np.float32).transpose(2, 0, 1) / 255)


def load(stimuli, stimulus_id):
    from PIL import Image

    return Image.open(stimuli.get_stimulus(stimulus_id))


def test_error_for_a_network_without_blocks_lists_its_layers():
    net = nn.Sequential(nn.Conv2d(3, 3, 3), nn.ReLU())
    with pytest.raises(ConfigurationError, match=r"name them: layers=\[\.\.\.\]\. It has 0, 1\."):
        as_brain_model(net, preprocessing="imagenet-8")


def test_missing_preprocessing_error_says_what_to_pass(small_net):
    with pytest.raises(ConfigurationError, match=r"preprocessing=transform.*'imagenet-224'.*'inception-299'"):
        as_brain_model(small_net())


def test_readout_layer_can_be_set_and_must_exist(small_net):
    wrapper = as_brain_model(small_net(), preprocessing="imagenet-8", readout_layer="stem").activations_model
    assert wrapper.get_layer("logits") is wrapper.get_layer("stem")
    with pytest.raises(LayerNotFoundError, match="'stem'"):
        as_brain_model(small_net(), preprocessing="imagenet-8", readout_layer="stm")
