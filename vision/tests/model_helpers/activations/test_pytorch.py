"""Reading out PyTorch modules, against networks that can be computed by hand."""

from collections import OrderedDict
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from brainscore_core.config import settings
from brainscore_core.errors import LayerNotFoundError
from brainscore_vision.model_helpers import activations as activations_package
from brainscore_vision.model_helpers.activations.core import ActivationsExtractorHelper
from brainscore_vision.model_helpers.activations.pytorch import (
    PytorchWrapper,
    disable_activation_caching,
    load_preprocess_images,
)

MEAN = np.array([0.485, 0.456, 0.406])
STD = np.array([0.229, 0.224, 0.225])
COLOURS = np.array([[255, 0, 0], [0, 128, 64]])
PREPROCESSING = partial(load_preprocess_images, image_size=2)


class Tiny(nn.Module):
    """A 1x1 convolution, a rectifier, global averaging and a linear readout, with small whole numbers as weights."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(OrderedDict(conv=nn.Conv2d(3, 2, 1, bias=False), relu=nn.ReLU()))
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(2, 3)
        self.act = nn.Softmax(dim=1)  # registered after the readout and never used
        self.calls = 0
        with torch.no_grad():
            self.features.conv.weight.copy_(torch.tensor([[1.0, 2, 0], [0, -1, 3]])[:, :, None, None])
            self.fc.weight.copy_(torch.tensor([[1.0, 0], [0, 1], [1, -1]]))
            self.fc.bias.copy_(torch.tensor([0.0, 10, 20]))

    def forward(self, x, gain=1.0):
        self.calls += 1
        return self.fc(self.drop(self.features(x)).mean(dim=(2, 3))) * gain


@pytest.fixture
def stimuli(write_stimuli):
    pictures = {name: np.broadcast_to(colour, (5, 7, 3)) for name, colour in zip("ab", COLOURS, strict=True)}
    return write_stimuli(pictures, "colours")


def by_hand():
    """Return convolution, rectified and readout for each colour."""
    normalised = (COLOURS / 255 - MEAN) / STD
    conv = normalised @ np.array([[1, 2, 0], [0, -1, 3]]).T
    rectified = np.maximum(conv, 0)
    return conv, rectified, rectified @ np.array([[1, 0], [0, 1], [1, -1]]).T + [0, 10, 20]


def wrap(model=None, **options):
    return PytorchWrapper(identifier="tiny", model=model or Tiny(), preprocessing=PREPROCESSING, **options)


def test_activations_are_those_computed_by_hand(stimuli):
    conv, rectified, readout = by_hand()
    result = wrap()(stimuli, layers=["features.conv", "features.relu", "fc"])
    per_pixel = [np.repeat(layer, 4, axis=1) for layer in (conv, rectified)]  # channel first, 2 x 2 equal pixels
    np.testing.assert_allclose(result.values, np.concatenate([*per_pixel, readout], axis=1), atol=1e-5)
    assert result.dtype == np.float32
    first_layer = result.sel(layer="features.conv")
    assert first_layer["channel"].values.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert result["neuroid_id"].values[-1] == "tiny.fc.2"


def test_hooks_are_gone_after_the_forward_pass_and_after_an_error(stimuli):
    wrapper = wrap()
    wrapper(stimuli, layers=["fc"])
    assert not wrapper._model.fc._forward_hooks

    class Fails(Tiny):
        def forward(self, x):
            raise RuntimeError("out of order")

    failing = wrap(Fails())
    with pytest.raises(RuntimeError, match="out of order"):
        failing(stimuli, layers=["fc"])
    assert not failing._model.fc._forward_hooks


def test_evaluation_mode_and_no_gradients(stimuli):
    wrapper = wrap(Tiny().train())
    first = wrapper.get_activations(PREPROCESSING(list(map(str, stimuli.stimulus_paths.values()))), ["drop"])
    assert not wrapper._model.training
    np.testing.assert_allclose(first["drop"][..., 0, 0], by_hand()[1], atol=1e-5)


@pytest.mark.parametrize("images", ["array", "list of arrays", "list of tensors", "tensor"])
def test_batches_may_be_arrays_or_tensors(images):
    array = np.ones((2, 3, 2, 2), dtype=np.float64)
    batch = {
        "array": array,
        "list of arrays": list(array),
        "list of tensors": [torch.from_numpy(part) for part in array],
        "tensor": torch.from_numpy(array),
    }[images]
    result = wrap().get_activations(batch, ["fc"])
    np.testing.assert_allclose(result["fc"], [[3, 12, 21]] * 2, atol=1e-6)


def test_the_batch_has_the_type_of_the_weights():
    assert wrap(Tiny().double()).get_activations(np.ones((1, 3, 2, 2)), ["fc"])["fc"].dtype == np.float64
    half = wrap(Tiny().to(torch.bfloat16)).get_activations(np.ones((1, 3, 2, 2)), ["fc"])["fc"]
    np.testing.assert_array_equal(half, [[3, 12, 21]])


def test_arguments_of_the_forward_pass(stimuli):
    result = wrap(forward_kwargs={"gain": 2.0})(stimuli, layers=["fc"])
    np.testing.assert_allclose(result.values, by_hand()[2], atol=1e-5)
    doubled = wrap(nn.Sequential(OrderedDict(net=Tiny())))  # the outer module takes no such argument
    with pytest.raises(TypeError, match="gain"):
        wrap(doubled._model, forward_kwargs={"gain": 2.0})(stimuli, layers=["net.fc"])


class TestLayers:
    def test_nested_names(self):
        wrapper = wrap()
        assert wrapper.get_layer("features.conv") is wrapper._model.features.conv
        assert wrapper.get_layer("features") is wrapper._model.features

    def test_an_unknown_layer_is_an_error_before_any_forward_pass(self, stimuli):
        wrapper = wrap()
        with pytest.raises(LayerNotFoundError, match=r"'tiny' has no layer 'features\.cnov'.*'features\.conv'"):
            wrapper(stimuli, layers=["fc", "features.cnov"])
        with pytest.raises(LayerNotFoundError, match=r"It has features, features\.conv"):
            wrapper.get_layer("zzz")
        with pytest.raises(KeyError):  # attributes that are no modules are no layers
            wrapper.get_layer("features.conv.weight")
        assert wrapper._model.calls == 0

    def test_logits_is_the_last_module_unless_the_readout_is_named(self, stimuli):
        assert isinstance(wrap().get_layer("logits"), nn.Softmax)
        named = wrap(readout_layer="fc")
        assert named.get_layer("logits") is named._model.fc
        result = named(stimuli, layers=None)
        np.testing.assert_allclose(result.values, by_hand()[2], atol=1e-5)
        assert set(result["layer"].values) == {"logits"}
        later = wrap()
        later.readout_layer = "fc"
        assert later.get_layer("logits") is later._model.fc

    def test_the_last_module_is_looked_for_inside_containers(self):
        nested = nn.Sequential(nn.ReLU(), nn.Sequential(nn.Tanh(), nn.Linear(2, 2)))
        assert wrap(nested).get_layer("logits") is nested[1][1]

    def test_a_layer_that_never_runs_is_named(self, stimuli):
        with pytest.raises(LayerNotFoundError, match=r"no activations for \['act'\]"):
            wrap()(stimuli, layers=["act"])

    def test_leaves(self):
        assert [name for name, _ in wrap().layers()] == ["features.conv", "features.relu", "drop", "fc", "act"]


class TestOverrides:
    """What existing plugins override."""

    def test_tensor_to_numpy(self, stimuli):
        class Last(PytorchWrapper):
            @staticmethod
            def _tensor_to_numpy(output):
                return output[0].numpy() if isinstance(output, tuple) else output.numpy() * 0

        class Tuples(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.RNN(4, 2, batch_first=True)

            def forward(self, x):
                return self.rnn(x.flatten(2))[0]

        wrapper = Last(identifier="r", model=Tuples(), preprocessing=PREPROCESSING)
        assert wrapper(stimuli, layers=["rnn"]).shape == (2, 6)
        plain = PytorchWrapper(identifier="r", model=Tuples(), preprocessing=PREPROCESSING)
        with pytest.raises(TypeError, match=r"'rnn' of model 'r' returns a tuple.*_tensor_to_numpy"):
            plain(stimuli, layers=["rnn"])

    def test_register_hook_and_get_layer_with_time_steps(self, stimuli):
        class Steps(PytorchWrapper):
            def get_layer(self, layer_name):
                return super().get_layer(layer_name.split("-t")[0])

            def get_activations(self, images, layer_names):
                self._handles, self._count = {}, 0
                return super().get_activations(images, layer_names)

            def register_hook(self, layer, layer_name, target_dict):
                name = layer_name.split("-t")[0]
                if name in self._handles:
                    return self._handles[name]

                def keep(_layer, _inputs, output):
                    target_dict[f"{name}-t{self._count}"] = PytorchWrapper._tensor_to_numpy(output)
                    self._count += 1

                self._handles[name] = layer.register_forward_hook(keep)
                return self._handles[name]

        class Twice(nn.Module):
            def __init__(self):
                super().__init__()
                self.twofold = nn.Linear(4, 4, bias=False)
                with torch.no_grad():
                    self.twofold.weight.copy_(2 * torch.eye(4))

            def forward(self, x):
                return self.twofold(self.twofold(x.flatten(2)))

        wrapper = Steps(identifier="steps", model=Twice(), preprocessing=PREPROCESSING)
        result = wrapper(stimuli, layers=["twofold-t0", "twofold-t1"])
        np.testing.assert_allclose(
            result.sel(layer="twofold-t1").values, 2 * result.sel(layer="twofold-t0").values, atol=1e-6
        )

    def test_build_extractor_and_keywords_for_it(self, stimuli):
        class Mine(ActivationsExtractorHelper):
            pass

        class Wrapper(PytorchWrapper):
            def _build_extractor(self, *args, **kwargs):
                return Mine(*args, **kwargs)

        wrapper = Wrapper(identifier="tiny", model=Tiny(), preprocessing=PREPROCESSING, batch_size=1)
        assert type(wrapper._extractor) is Mine
        wrapper(stimuli, layers=["fc"])
        assert wrapper._model.calls == 2

    def test_call(self, stimuli):
        class WithoutBackground(PytorchWrapper):
            def __call__(self, *args, **kwargs):
                return super().__call__(*args, **kwargs).isel(neuroid=slice(1, None))

        wrapper = WithoutBackground(identifier="tiny", model=Tiny(), preprocessing=PREPROCESSING)
        assert wrapper(stimuli, layers=["fc"]).shape == (2, 2)


def test_the_identifier_is_that_of_the_extractor(stimuli):
    assert PytorchWrapper(model=Tiny(), preprocessing=PREPROCESSING).identifier == "Tiny"
    wrapper = wrap()
    wrapper.identifier = "renamed"
    assert wrapper._extractor.identifier == "renamed"
    assert set(wrapper(stimuli, layers=["fc"])["model"].values) == {"renamed"}


def test_the_wrapper_is_exported_by_the_package():
    assert activations_package.PytorchWrapper is PytorchWrapper


# --- the cache -------------------------------------------------------------------------------------------------------


def n_entries():
    return len(list((settings().cache_home / "activations").rglob("*.npz")))


def test_a_second_model_with_equal_weights_takes_them_from_the_cache(stimuli):
    first = wrap()(stimuli, layers=["fc"])
    second = wrap()
    assert second(stimuli, layers=["fc"]).equals(first)
    # `calls` is an attribute that is part of the digest; this model never ran.
    assert second._model.calls == 0


def test_retrained_models_are_never_served_from_the_cache(stimuli):
    wrapper = wrap()
    before = wrapper(stimuli, layers=["fc"]).values
    with torch.no_grad():
        wrapper._model.fc.bias += 1
    np.testing.assert_allclose(wrapper(stimuli, layers=["fc"]).values, before + 1, atol=1e-5)
    other_arguments = wrap(forward_kwargs={"gain": 1.0})
    other_arguments(stimuli, layers=["fc"])
    assert other_arguments._model.calls == 1
    other_readout = wrap(readout_layer="fc")
    other_readout(stimuli, layers=["logits"])
    other_readout.readout_layer = "features.relu"
    assert other_readout(stimuli, layers=["logits"]).shape == (2, 8)


def test_models_with_parts_that_have_no_digest_are_not_cached(stimuli):
    wrapper = wrap()
    wrapper._model.source = iter([1])
    wrapper(stimuli, layers=["fc"])
    assert n_entries() == 0
    wrapper(stimuli, layers=["fc"])
    assert wrapper._model.calls == 2


def test_caching_can_be_switched_off_for_one_wrapper(stimuli):
    wrapper = disable_activation_caching(wrap())
    wrapper(stimuli, layers=["fc"])
    assert n_entries() == 0
    wrapper.identifier = "renamed"
    assert wrapper.identifier == "renamed"
    assert wrapper._model.calls == 1
    wrap()(stimuli, layers=["fc"])  # others are cached as before
    assert n_entries() == 1
