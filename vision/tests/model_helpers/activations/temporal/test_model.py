from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from brainscore_core.errors import ChecksumError
from brainscore_vision.model_helpers.activations.temporal.core import CausalInferencer
from brainscore_vision.model_helpers.activations.temporal.inputs import Video
from brainscore_vision.model_helpers.activations.temporal.model import ActivationWrapper, PytorchWrapper
from brainscore_vision.model_helpers.activations.temporal.utils import download_weight_file, get_specified_layers
from brainscore_vision.model_helpers.brain_transformation import ModelCommitment

FORMATS = {"conv": "CTHW", "fc": "C"}


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv3d(3, 2, 1, bias=False)
        self.relu = nn.ReLU(inplace=True)
        self.fc = nn.Linear(2, 2, bias=False)
        with torch.no_grad():
            self.conv.weight.copy_(torch.tensor([[1.0, 0, 0], [0, -1, 0]])[:, :, None, None, None])
            self.fc.weight.copy_(torch.eye(2))

    def forward(self, x):
        return self.fc(self.relu(self.conv(x)).mean((2, 3, 4)))


def preprocessing(video):
    return torch.Tensor(video.to_numpy() / 255.0).permute(3, 0, 1, 2)


@pytest.fixture
def stimuli(write_stimuli):
    return write_stimuli(
        {"red": np.broadcast_to([255, 0, 0], (2, 2, 3)), "green": np.broadcast_to([0, 255, 0], (2, 2, 3))}
    )


def wrap(cls=PytorchWrapper, model=None, process_output=None, **options):
    options = {"fps": 5, "layer_activation_format": FORMATS, "img_duration": 400, **options}
    return cls("net", model or Network(), preprocessing, process_output, **options)


def test_records_layer_outputs_before_in_place_changes(stimuli):
    wrapper = wrap()
    result = wrapper(stimuli, layers=["conv", "fc"])
    assert result.shape == (2, 2 * 4 + 2, 2)
    assert result.dtype == np.float16
    np.testing.assert_array_equal(result.values[0, :, 0], [1] * 4 + [0] * 4 + [1, 0])
    np.testing.assert_array_equal(
        result.values[1, :, 1], [0] * 4 + [-1] * 4 + [0, 0]
    )  # values before the in-place ReLU
    assert not any(module._forward_hooks for module in wrapper._model.modules())
    assert wrapper.identifier == "net"
    assert dict(wrapper.layers()).keys() == {"conv", "relu", "fc"}


def test_accepts_positional_inferencer_and_process_output(stimuli):
    def process(layer, layer_name, inputs, output):
        assert isinstance(layer, nn.Module)
        assert len(inputs) == 1
        return output * 2 if layer_name == "fc" else output

    wrapper = PytorchWrapper(
        "net", Network(), preprocessing, process, CausalInferencer, fps=5, layer_activation_format=FORMATS
    )
    assert isinstance(wrapper._extractor.inferencer, CausalInferencer)
    np.testing.assert_array_equal(wrapper(stimuli, layers=["fc"]).values[0, 0], [2] * 5)


def test_cache_key_covers_process_output_and_weights(stimuli):
    first = wrap()(stimuli, layers=["fc"])
    doubled = wrap(process_output=lambda layer, name, inputs, output: output * 2)(stimuli, layers=["fc"])
    np.testing.assert_array_equal(doubled.values, 2 * first.values)
    model = Network()
    with torch.no_grad():
        model.fc.weight *= 3
    np.testing.assert_array_equal(wrap(model=model)(stimuli, layers=["fc"]).values, 3 * first.values)
    again = wrap()
    again._extractor.inferencer._executor.get_activations = None  # must not be called
    assert again(stimuli, layers=["fc"]).equals(first)


class Halving(PytorchWrapper):
    """A wrapper like a published one that calls its module differently."""

    def forward(self, inputs):
        return self._model(torch.stack(inputs).to(self._device) / 2)


class Stepwise(PytorchWrapper):
    """A wrapper like a published one of a recurrent network: it shows frame after frame and stacks the outputs."""

    def _register_hook(self, layer, layer_name, target_dict):
        def hook_function(_layer, _input, output, name=layer_name, target_dict=target_dict):
            output = self._process_activation(_layer, name, _input, output)
            target_dict.setdefault(name, []).append(PytorchWrapper._tensor_to_numpy(output))

        return layer.register_forward_hook(hook_function)

    def get_activations(self, inputs, layer_names):
        self._model.eval()
        results = OrderedDict()
        hooks = [self._register_hook(self.get_layer(name), name, target_dict=results) for name in layer_names]
        with torch.no_grad():
            self.forward(inputs)
        for hook in hooks:
            hook.remove()
        return OrderedDict((name, np.stack(values, axis=1)) for name, values in results.items())

    def forward(self, inputs):
        tensor = torch.stack(inputs).to(self._device)
        for step in range(tensor.shape[2]):
            self._model(tensor[:, :, step : step + 1] * (step + 1))


def test_overridden_methods_are_used(stimuli):
    half = wrap(Halving)(stimuli, layers=["fc"])
    np.testing.assert_array_equal(half.values, wrap()(stimuli, layers=["fc"]).values / 2)
    steps = wrap(Stepwise, layer_activation_format={"fc": "TC"})(stimuli, layers=["fc"])
    np.testing.assert_array_equal(steps.values[0], [[1, 2], [0, 0]])


def test_commitment_records_the_time_bins_of_the_experiment(stimuli):
    wrapper = wrap(Stepwise, layer_activation_format={"fc": "TC"})
    model = ModelCommitment("net", wrapper, get_specified_layers(wrapper), region_layer_map={"IT": "fc"})
    model.start_recording("IT", time_bins=[(0, 200), (100, 300)])
    np.testing.assert_array_equal(model.look_at(stimuli).values[0, 0], [1, 1.5])


def test_specified_layers_are_those_with_a_format():
    wrapper = wrap()
    commitment = ModelCommitment("net", wrapper, ["fc"])
    for model in (wrapper, commitment, wrapper._extractor, wrapper._extractor.inferencer):
        assert get_specified_layers(model) == ["conv", "fc"]
    with pytest.raises(ValueError, match="Network is not a model of video"):
        get_specified_layers(Network())


def test_activation_wrapper_supports_other_frameworks(stimuli):
    class Sums(ActivationWrapper):
        def get_activations(self, inputs, layers):
            return OrderedDict((layer, np.asarray([[clip.sum()] for clip in inputs])) for layer in layers)

    options = {"fps": 5, "layer_activation_format": {"sum": "C"}, "img_duration": 400}
    wrapper = Sums("sums", lambda video: video.to_numpy() / 255.0, **options)
    np.testing.assert_array_equal(wrapper(stimuli, layers=["sum"]).values, np.full((2, 1, 2), 8))
    assert get_specified_layers(wrapper) == ["sum"]
    with pytest.raises(NotImplementedError, match="get_activations"):
        ActivationWrapper("none", Video.to_numpy, **options)(stimuli, layers=["sum"])


def test_weights_are_fetched_once_and_must_not_change(tmp_path, monkeypatch):
    mirror, home = tmp_path / "mirror", tmp_path / "home"
    published = mirror / "example.org" / "releases" / "net weights.pth"
    published.parent.mkdir(parents=True)
    published.write_bytes(b"weights")
    monkeypatch.setenv("BRAINSCORE_MIRROR", str(mirror))
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    monkeypatch.setenv("BRAINSCORE_HOME", str(home))
    url = "https://example.org/releases/net%20weights.pth?download=1"
    path = download_weight_file(url, folder="temporal")
    assert path == str(home / "models" / "temporal" / "net weights.pth")
    assert Path(path).read_bytes() == b"weights"
    published.write_bytes(b"others!")
    assert download_weight_file(url, folder="temporal") == path
    (home / "models" / "temporal" / "net weights.pth").unlink()
    with pytest.raises(ChecksumError, match="differs from the file that was fetched first"):
        download_weight_file(url, folder="temporal")
    with pytest.raises(ChecksumError):
        download_weight_file(url, sha256="0" * 64)
