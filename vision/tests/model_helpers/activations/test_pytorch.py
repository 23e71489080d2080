"""Recording PyTorch modules, compared with networks that can be computed by hand."""

import dataclasses
import random
from collections import OrderedDict, namedtuple
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from brainscore_core.config import settings
from brainscore_core.errors import LayerNotFoundError
from brainscore_vision.model_helpers.activations import pytorch
from brainscore_vision.model_helpers.activations.core import ActivationsExtractorHelper
from brainscore_vision.model_helpers.activations.tensors import to_numpy

MEAN = np.array([0.485, 0.456, 0.406])
STD = np.array([0.229, 0.224, 0.225])
COLOURS = np.array([[255, 0, 0], [0, 128, 64]])
PREPROCESSING = partial(pytorch.load_preprocess_images, image_size=2)


class Tiny(nn.Module):
    """A 1x1 convolution, a rectifier, global averaging and a linear readout; all weights are small integers."""

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


def hand_computed_layers():
    """Return the outputs of convolution, rectifier and readout for each colour, computed with NumPy."""
    normalised = (COLOURS / 255 - MEAN) / STD
    conv = normalised @ np.array([[1, 2, 0], [0, -1, 3]]).T
    rectified = np.maximum(conv, 0)
    return conv, rectified, rectified @ np.array([[1, 0], [0, 1], [1, -1]]).T + [0, 10, 20]


def wrap(model=None, check_steady=False, **options):
    """Wrap a model that sees each stimulus once, so that tests can count its calls."""
    return pytorch.PytorchWrapper(
        identifier="tiny", model=model or Tiny(), preprocessing=PREPROCESSING, check_steady=check_steady, **options
    )


def test_activations_match_hand_computed_values(stimuli):
    conv, rectified, readout = hand_computed_layers()
    result = wrap()(stimuli, layers=["features.conv", "features.relu", "fc"])
    per_pixel = [np.repeat(layer, 4, axis=1) for layer in (conv, rectified)]  # channel first, 2 x 2 equal pixels
    np.testing.assert_allclose(result.values, np.concatenate([*per_pixel, readout], axis=1), atol=1e-5)
    assert result.dtype == np.float32
    assert result.sel(layer="features.conv")["channel"].values.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert result["neuroid_id"].values[-1] == "tiny.fc.2"


def network(forward, **parts):
    """Make a module with these parts; `forward` takes the module and its input."""
    made = type("Network", (nn.Module,), {"forward": forward})()
    for name, part in parts.items():
        made.add_module(name, part)
    return made


class Fails(Tiny):
    """Raise in the middle of the forward pass, after drawing random numbers."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def forward(self, x):
        torch.rand(3), np.random.rand(3), random.random()  # noqa: NPY002, S311 - as networks do
        self.features(x)
        raise self.error


class TestSideEffects:
    @pytest.mark.parametrize("error", [RuntimeError("out of order"), KeyboardInterrupt(), LayerNotFoundError("no")])
    def test_error_leaves_hooks_modes_and_random_states_unchanged(self, stimuli, error):
        model = Fails(error).train()
        model.features.conv.eval()
        failing = wrap(model)
        modes = [part.training for part in model.modules()]
        states = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
        with pytest.raises(type(error)):
            failing(stimuli, layers=["features.conv", "fc"])
        assert not any(part._forward_hooks for part in model.modules())
        assert [part.training for part in model.modules()] == modes
        assert torch.equal(torch.get_rng_state(), states[0])
        np.testing.assert_array_equal(np.random.get_state()[1], states[1])  # noqa: NPY002
        assert random.getstate() == states[2]

    def test_no_hooks_remain_if_one_cannot_be_registered(self):
        class Refuses(pytorch.PytorchWrapper):
            def register_hook(self, layer, layer_name, target_dict):
                if layer_name == "fc":
                    raise ValueError("not this one")
                return super().register_hook(layer, layer_name, target_dict)

        wrapper = Refuses(identifier="tiny", model=Tiny(), preprocessing=PREPROCESSING)
        with pytest.raises(ValueError, match="not this one"):
            wrapper.get_activations(np.ones((1, 3, 2, 2)), ["features.conv", "fc"])
        assert not wrapper._model.features.conv._forward_hooks

    def test_modes_of_all_modules_are_unchanged(self, stimuli):
        model = Tiny().train()
        model.fc.eval()
        wrap(model)(stimuli, layers=["fc"])
        assert model.training
        assert model.drop.training
        assert not model.fc.training

    def test_input_batch_is_unchanged(self):
        class Doubles(Tiny):
            def forward(self, x):
                return super().forward(x.mul_(2))

        wrapper = wrap(Doubles())
        for batch in (np.ones((1, 3, 2, 2), dtype=np.float32), torch.ones(1, 3, 2, 2)):
            first = wrapper.get_activations(batch, ["fc"])["fc"]
            np.testing.assert_array_equal(wrapper.get_activations(batch, ["fc"])["fc"], first)
            assert float(batch.sum()) == 12


def test_runs_in_evaluation_mode_without_gradients(stimuli):
    class Watches(Tiny):
        def forward(self, x):
            assert not self.training
            assert not torch.is_grad_enabled()
            return super().forward(x)

    wrapper = wrap(Watches().train())
    first = wrapper.get_activations(PREPROCESSING(list(map(str, stimuli.stimulus_paths.values()))), ["drop"])
    np.testing.assert_allclose(first["drop"][..., 0, 0], hand_computed_layers()[1], atol=1e-5)


class TestRecordedValues:
    """Recorded values are the output of a layer, unaffected by later in-place operations."""

    def test_values_precede_in_place_operations(self, stimuli):
        class InPlace(Tiny):
            def forward(self, x):
                x = self.features.conv(x)
                return self.fc(nn.functional.relu_(x).mean(dim=(2, 3)).add_(1))

        result = wrap(InPlace())(stimuli, layers=["features.conv"])
        np.testing.assert_allclose(result.values, np.repeat(hand_computed_layers()[0], 4, axis=1), atol=1e-5)

    @pytest.mark.parametrize("place", ["_tensor_to_numpy", "register_hook"])
    def test_views_of_plugins_are_copied_before_in_place_operations(self, place):
        class Views(pytorch.PytorchWrapper):
            @staticmethod
            def _tensor_to_numpy(output):
                return output.cpu().data.numpy()

        class Hooks(pytorch.PytorchWrapper):
            def register_hook(self, layer, layer_name, target_dict):
                def keep(_layer, _inputs, output, name=layer_name):
                    target_dict[name] = output.cpu().data.numpy()

                return layer.register_forward_hook(keep)

        net = nn.Sequential(nn.Identity(), nn.ReLU(inplace=True))
        kind = Views if place == "_tensor_to_numpy" else Hooks
        recorded = kind(identifier="n", model=net, preprocessing=PREPROCESSING).get_activations(
            np.full((1, 3, 2, 2), -1.0), ["0", "1"]
        )
        assert recorded["0"].max() == -1
        assert recorded["1"].max() == 0

    def test_last_run_of_a_repeated_layer_is_recorded(self):
        twice = network(lambda self, x: self.relu(-self.relu(x)), relu=nn.ReLU(inplace=True))
        recorded = pytorch.PytorchWrapper(twice, PREPROCESSING).get_activations(np.full((1, 3, 2, 2), -1.0), ["relu"])
        assert np.abs(recorded["relu"]).max() == 0


def with_parts(make):
    """Make a network whose layer `many` returns `make(a, b, c)` for tensors of one, two and three entries."""
    many = network(lambda self, x: make(*(x.flatten(1)[:, :n] for n in (1, 2, 3))))
    return network(lambda self, x: (self.many(self.inner(x)), x)[1], inner=nn.Identity(), many=many)


Pair = namedtuple("Pair", "output attention")


@dataclasses.dataclass
class Record:
    name: str
    hidden: torch.Tensor
    other: torch.Tensor


class TestParts:
    """Layers that return several tensors."""

    @pytest.mark.parametrize(
        ("make", "layer", "size"),
        [
            (lambda a, b, c: (a, b), "many", 1),
            (lambda a, b, c: (a, b), "many[1]", 2),
            (lambda a, b, c: (a, (b, c)), "many[1][1]", 3),
            (lambda a, b, c: [None, b], "many", 2),
            (lambda a, b, c: {"x": b, "y": c}, "many", 2),
            (lambda a, b, c: {"x": b, "y": c}, "many[y]", 3),
            (lambda a, b, c: {"x": {"deep": [a, c]}}, "many[x][deep][1]", 3),
            (lambda a, b, c: Pair(a, c), "many[attention]", 3),
            (lambda a, b, c: Record("r", b, c), "many", 2),
            (lambda a, b, c: Record("r", b, c), "many[other]", 3),
            (lambda a, b, c: b.max(dim=1), "many[0]", None),
            (lambda a, b, c: {"x": (a, b)}, "many[x]", 1),
        ],
    )
    def test_records_the_first_tensor_or_the_one_in_brackets(self, make, layer, size):
        recorded = pytorch.PytorchWrapper(with_parts(make), PREPROCESSING).get_activations(
            np.ones((2, 3, 2, 2)), [layer]
        )
        assert recorded[layer].shape == ((2,) if size is None else (2, size))

    def test_records_several_parts_of_one_layer(self, stimuli):
        wrapper = pytorch.PytorchWrapper(with_parts(lambda a, b, c: (a, b)), PREPROCESSING)
        assert wrapper(stimuli, layers=["many[0]", "many[1]", "inner"]).shape == (2, 1 + 2 + 12)

    def test_error_for_a_missing_part_lists_the_available_ones(self):
        wrapper = pytorch.PytorchWrapper(with_parts(lambda a, b, c: {"x": a, "y": (b, c)}), PREPROCESSING)
        with pytest.raises(LayerNotFoundError, match=r"'many\[z\]'.*\[x\] \(2, 1\), \[y\]\[0\] \(2, 2\)"):
            wrapper.get_activations(np.ones((2, 3, 2, 2)), ["many[z]"])
        with pytest.raises(LayerNotFoundError, match=r"no part 'inner\[0\]'.*the whole"):
            wrapper.get_activations(np.ones((2, 3, 2, 2)), ["inner[0]"])
        with pytest.raises(LayerNotFoundError, match="no layer 'mayn'"):
            wrapper.get_activations(np.ones((2, 3, 2, 2)), ["mayn[1]"])

    def test_unrecorded_tensors_are_mentioned_once(self, caplog):
        wrapper = pytorch.PytorchWrapper(with_parts(lambda a, b, c: (a, b)), PREPROCESSING)
        with caplog.at_level("INFO"):
            for _ in range(2):
                wrapper.get_activations(np.ones((2, 3, 2, 2)), ["many"])
        assert [record.getMessage() for record in caplog.records] == [
            "Layer 'many' gives its first tensor; it returns many[0], many[1]."
        ]

    def test_rejects_layers_without_a_tensor(self):
        wrapper = pytorch.PytorchWrapper(with_parts(lambda a, b, c: "nothing"), PREPROCESSING, identifier="r")
        with pytest.raises(TypeError, match=r"'many' of model 'r' returns a str.*_tensor_to_numpy"):
            wrapper.get_activations(np.ones((2, 3, 2, 2)), ["many"])


@pytest.mark.filterwarnings("ignore:.*quantized tensor creation:UserWarning")
@pytest.mark.parametrize(
    "make",
    [
        lambda a: a.to_sparse(),
        lambda a: torch.quantize_per_tensor(a, 0.5, 0, torch.qint8),
        lambda a: torch.complex(a, -a).conj().real,
        lambda a: a.expand(4, 2, 3).transpose(0, 2)[:, :, :1].transpose(0, 2),
    ],
    ids=["sparse", "quantized", "conjugate", "strided"],
)
def test_tensors_of_any_layout_are_copied(make):
    tensor = make(torch.arange(6.0).reshape(1, 2, 3))
    array = to_numpy(tensor)
    truth = tensor.dequantize() if tensor.is_quantized else tensor.to_dense()
    np.testing.assert_array_equal(array, truth.resolve_conj().numpy())
    assert array.flags.c_contiguous
    assert array.flags.owndata


class TestPrecision:
    @pytest.mark.parametrize("precision", ["autocast", "bfloat16", "float16"])
    def test_deviation_from_float32_is_measured_and_reported(self, stimuli, precision, caplog):
        exact = wrap()(stimuli, layers=["features.conv", "fc"])
        wrapper = wrap(precision=precision)
        rough = wrapper(stimuli, layers=["features.conv", "fc"])
        difference = {
            layer: np.abs(rough.sel(layer=layer).values.astype(float) - exact.sel(layer=layer).values).max()
            / np.abs(exact.sel(layer=layer).values).max()
            for layer in ("features.conv", "fc")
        }
        assert wrapper.precision_deviation == pytest.approx(difference, rel=1e-4)
        assert 1e-5 < max(difference.values()) < 1e-2
        assert [r.levelname for r in caplog.records].count("WARNING") == 1
        assert f"precision='{precision}'" in caplog.text

    def test_only_the_first_batch_of_a_layer_is_computed_twice(self, stimuli):
        wrapper = wrap(precision="autocast", batch_size=1)
        wrapper(stimuli, layers=["fc"])
        assert wrapper._model.calls == 3

    def test_original_model_keeps_its_weights(self, stimuli):
        model = Tiny()
        wrap(model, precision="float16")(stimuli, layers=["fc"])
        assert model.fc.weight.dtype == torch.float32

    def test_each_precision_has_its_own_cache_key(self, stimuli):
        layers = ["features.conv"]
        results = {precision: wrap(precision=precision)(stimuli, layers=layers) for precision in (None, "autocast")}
        again = {precision: wrap(precision=precision)(stimuli, layers=layers) for precision in (None, "autocast")}
        assert n_entries() == 2
        for precision, result in results.items():
            assert again[precision].equals(result)
        assert not results[None].equals(results["autocast"])

    def test_rejects_a_misspelt_precision(self):
        with pytest.raises(ValueError, match=r"'half'.*autocast, float16, bfloat16"):
            wrap(precision="half")


class TestDevice:
    def test_argument_takes_precedence_over_the_environment(self, monkeypatch):
        monkeypatch.setenv("BRAINSCORE_DEVICE", "cpu")
        assert wrap()._device == torch.device("cpu")
        monkeypatch.setenv("BRAINSCORE_DEVICE", "meta")
        assert wrap(device="cpu")._device == torch.device("cpu")
        assert wrap()._model.fc.weight.device.type == "meta"

    def test_rejects_an_unknown_device(self):
        with pytest.raises(ValueError, match=r"'gpu'.*'cuda'"):
            wrap(device="gpu")

    @pytest.mark.gpu
    def test_gpu_and_cpu_agree(self, stimuli):
        on_gpu, on_cpu = (wrap(device=device)(stimuli, layers=["features.conv", "fc"]) for device in ("cuda", "cpu"))
        np.testing.assert_allclose(on_gpu.values, on_cpu.values, atol=1e-4)


class TestWrongBatches:
    def test_rejects_images_of_different_shapes(self):
        with pytest.raises(ValueError, match=r"2 images of the shapes \(3, 2, 2\), \(3, 2, 3\)"):
            wrap().get_activations([np.ones((3, 2, 2)), np.ones((3, 2, 3))], ["fc"])

    @pytest.mark.parametrize(
        ("batch", "kind"),
        [
            (np.array([["a"]]), "type <U1"),
            (np.array([{}]), "type object"),
            ([{}], "a list of dict"),
            ("a.png", "a str"),
            (3, "a int"),
        ],
    )
    def test_rejects_batches_that_are_not_numeric(self, batch, kind):
        with pytest.raises(TypeError, match=kind):
            wrap().get_activations(batch, ["fc"])

    def test_error_gives_the_shape_that_the_network_rejects(self):
        with pytest.raises(RuntimeError, match=r"cannot take an array of shape \(1, 2, 2, 3\)"):
            wrap().get_activations(np.ones((1, 2, 2, 3)), ["fc"])


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


def test_batch_is_converted_to_the_dtype_of_the_weights():
    assert wrap(Tiny().double()).get_activations(np.ones((1, 3, 2, 2)), ["fc"])["fc"].dtype == np.float64
    half = wrap(Tiny().to(torch.bfloat16)).get_activations(np.ones((1, 3, 2, 2)), ["fc"])["fc"]
    np.testing.assert_array_equal(half, [[3, 12, 21]])


@pytest.mark.parametrize("flatten", ["view", "reshape"])
def test_channels_are_last_in_memory_unless_the_network_fails(flatten):
    """Convolutions are faster with channels last, but `view` does not support that order."""
    orders = []

    def forward(self, x):
        orders.append(x.is_contiguous(memory_format=torch.channels_last))
        return getattr(self.conv(x), flatten)(len(x), -1)

    model, batch = network(forward, conv=nn.Conv2d(3, 4, 3)), torch.rand(2, 3, 6, 6)
    wrapper = pytorch.PytorchWrapper(model, None)
    for _ in range(2):
        recorded = wrapper.get_activations(batch, ["conv"])["conv"]
        np.testing.assert_allclose(recorded, model.conv(batch).detach(), rtol=1e-5, atol=1e-6)
    assert orders == ([True, False, False] if flatten == "view" else [True, True])


def test_forward_kwargs_are_passed_to_the_network(stimuli):
    result = wrap(forward_kwargs={"gain": 2.0})(stimuli, layers=["fc"])
    np.testing.assert_allclose(result.values, hand_computed_layers()[2], atol=1e-5)
    doubled = wrap(nn.Sequential(OrderedDict(net=Tiny())))  # the outer module takes no such argument
    with pytest.raises(TypeError, match="gain"):
        wrap(doubled._model, forward_kwargs={"gain": 2.0})(stimuli, layers=["net.fc"])


class TestLayers:
    def test_get_layer_accepts_nested_names(self):
        wrapper = wrap()
        assert wrapper.get_layer("features.conv") is wrapper._model.features.conv
        assert wrapper.get_layer("features") is wrapper._model.features

    def test_unknown_layer_is_rejected_before_any_forward_pass(self, stimuli):
        wrapper = wrap()
        with pytest.raises(LayerNotFoundError, match=r"'tiny' has no layer 'features\.cnov'.*'features\.conv'"):
            wrapper(stimuli, layers=["fc", "features.cnov"])
        with pytest.raises(LayerNotFoundError, match=r"It has features, features\.conv"):
            wrapper.get_layer("zzz")
        with pytest.raises(KeyError):  # an attribute that is not a module is not a layer
            wrapper.get_layer("features.conv.weight")
        assert wrapper._model.calls == 0

    def test_logits_is_the_last_module_or_the_named_readout(self, stimuli):
        assert isinstance(wrap().get_layer("logits"), nn.Softmax)
        named = wrap(readout_layer="fc")
        assert named.get_layer("logits") is named._model.fc
        result = named(stimuli, layers=None)
        np.testing.assert_allclose(result.values, hand_computed_layers()[2], atol=1e-5)
        assert set(result["layer"].values) == {"logits"}
        later = wrap()
        later.readout_layer = "fc"
        assert later.get_layer("logits") is later._model.fc

    def test_logits_can_be_inside_nested_containers(self):
        nested = nn.Sequential(nn.ReLU(), nn.Sequential(nn.Tanh(), nn.Linear(2, 2)))
        assert wrap(nested).get_layer("logits") is nested[1][1]

    def test_error_names_a_layer_that_never_runs(self, stimuli):
        with pytest.raises(LayerNotFoundError, match=r"no activations for \['act'\]"):
            wrap()(stimuli, layers=["act"])

    def test_layers_lists_the_leaf_modules(self):
        assert [name for name, _ in wrap().layers()] == ["features.conv", "features.relu", "drop", "fc", "act"]


class TestOverrides:
    """Methods that existing plugins override."""

    def test_tensor_to_numpy_can_be_overridden(self, stimuli):
        class Last(pytorch.PytorchWrapper):
            @staticmethod
            def _tensor_to_numpy(output):
                return output[0].numpy() if isinstance(output, tuple) else output.numpy() * 0

        tuples = network(lambda self, x: self.rnn(x.flatten(2))[0], rnn=nn.RNN(4, 2, batch_first=True))
        wrapper = Last(identifier="r", model=tuples, preprocessing=PREPROCESSING)
        assert wrapper(stimuli, layers=["rnn"]).shape == (2, 6)

    def test_register_hook_and_get_layer_can_add_time_steps(self, stimuli):
        class Steps(pytorch.PytorchWrapper):
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
                    target_dict[f"{name}-t{self._count}"] = pytorch.PytorchWrapper._tensor_to_numpy(output)
                    self._count += 1

                self._handles[name] = layer.register_forward_hook(keep)
                return self._handles[name]

        twofold = nn.Linear(4, 4, bias=False)
        twofold.weight.data = 2 * torch.eye(4)
        twice = network(lambda self, x: self.twofold(self.twofold(x.flatten(2))), twofold=twofold)
        wrapper = Steps(identifier="steps", model=twice, preprocessing=PREPROCESSING)
        result = wrapper(stimuli, layers=["twofold-t0", "twofold-t1"])
        np.testing.assert_allclose(
            result.sel(layer="twofold-t1").values, 2 * result.sel(layer="twofold-t0").values, atol=1e-6
        )

    def test_build_extractor_can_be_overridden(self, stimuli):
        class Mine(ActivationsExtractorHelper):
            pass

        class Wrapper(pytorch.PytorchWrapper):
            def _build_extractor(self, *args, **kwargs):
                return Mine(*args, **kwargs)

        wrapper = Wrapper(
            identifier="tiny", model=Tiny(), preprocessing=PREPROCESSING, batch_size=1, check_steady=False
        )
        assert type(wrapper._extractor) is Mine
        wrapper(stimuli, layers=["fc"])
        assert wrapper._model.calls == 2

    def test_call_can_be_overridden(self, stimuli):
        class WithoutBackground(pytorch.PytorchWrapper):
            def __call__(self, *args, **kwargs):
                return super().__call__(*args, **kwargs).isel(neuroid=slice(1, None))

        wrapper = WithoutBackground(identifier="tiny", model=Tiny(), preprocessing=PREPROCESSING)
        assert wrapper(stimuli, layers=["fc"]).shape == (2, 2)


def test_identifier_is_shared_with_the_extractor(stimuli):
    assert pytorch.PytorchWrapper(model=Tiny(), preprocessing=PREPROCESSING).identifier == "Tiny"
    wrapper = wrap()
    wrapper.identifier = "renamed"
    assert wrapper._extractor.identifier == "renamed"
    assert set(wrapper(stimuli, layers=["fc"])["model"].values) == {"renamed"}


# --- the cache -------------------------------------------------------------------------------------------------------


def n_entries():
    return len(list((settings().cache_home / "activations").rglob("entry.json")))


def test_second_model_with_equal_weights_hits_the_cache(stimuli):
    first = wrap()(stimuli, layers=["fc"])
    second = wrap()
    assert second(stimuli, layers=["fc"]).equals(first)
    # `calls` is an attribute that is part of the digest; this model never ran.
    assert second._model.calls == 0


def test_retrained_models_miss_the_cache(stimuli):
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


def test_caching_can_be_disabled_for_one_wrapper(stimuli):
    wrapper = pytorch.disable_activation_caching(wrap())
    wrapper(stimuli, layers=["fc"])
    assert n_entries() == 0
    wrapper.identifier = "renamed"
    assert wrapper.identifier == "renamed"
    assert wrapper._model.calls == 1
    wrap()(stimuli, layers=["fc"])  # others are cached as before
    assert n_entries() == 1
