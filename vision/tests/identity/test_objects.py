import contextlib
import enum
import functools
import sys
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn
from torch.nn import functional

from brainscore_core.identity.digest import content_digest
from brainscore_vision.identity.objects import (
    NotDigestibleError,
    describe,
    describe_module,
    preprocessing_digest,
    probe_image,
)
from brainscore_vision.model_helpers.activations.images import load_preprocess_images


def digest(value):
    return content_digest(describe(value))


def scaled_by(factor):
    def scale(paths):
        return np.stack([np.asarray(Image.open(path), dtype=float) * factor for path in paths])

    return scale


class Settings:
    def __init__(self, size):
        self.size = size


Pair = namedtuple("Pair", "a b")


def test_equal_values_have_equal_digests():
    for make in (
        lambda: {"a": [1, 2.5, None, True], "b": (np.arange(3), torch.ones(2))},
        lambda: functools.partial(sorted, reverse=True),
        lambda: Settings(3),
        lambda: Pair(1, {2, 3}),
        lambda: torch.float32,
        lambda: nn.Linear,
        lambda: scaled_by(2),
    ):
        assert digest(make()) == digest(make())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (scaled_by(2), scaled_by(3)),
        (Settings(3), Settings(4)),
        (functools.partial(scaled_by, 2), functools.partial(scaled_by, 3)),
        (torch.float32, torch.float16),
        (torch.ones(2), torch.ones(2, dtype=torch.float64)),
        (torch.ones(2), torch.ones(1, 2)),
        (np.array(["a", 1], dtype=object), np.array(["a", 2], dtype=object)),
        (Pair(1, 2), (1, 2)),
        (functional.relu, functional.gelu),
        (lambda x: x + 1, lambda x: x + 2),
        (1, 1.0),
        (np.exp, np.log),
    ],
)
def test_different_values_have_different_digests(one, other):
    assert digest(one) != digest(other)


GAIN = 2


@dataclass
class Tuned:
    gain: float = 2.0


@dataclass
class Detuned(Tuned):
    gain: float = 3.0


def tune(values):
    return values * Tuned().gain


def test_generated_methods_change_the_digest(monkeypatch):
    before = digest(tune)
    assert digest(tune) == before
    monkeypatch.setattr(Tuned, "__init__", Detuned.__init__)  # neither the file nor the name changes
    assert digest(tune) != before


TABLE = Settings(2)


def resize_with_table(values):
    return helper_that_looks_up(values)


def helper_that_looks_up(values):
    return values * TABLE.size


@pytest.mark.parametrize("changed", [Settings(3), {"size": 2}, [2]])
def test_module_globals_used_by_helpers_change_the_digest(monkeypatch, changed):
    # The file does not change, so only the object distinguishes the two.
    before = digest(resize_with_table)
    monkeypatch.setitem(globals(), "TABLE", changed)
    assert digest(resize_with_table) != before


def test_code_using_an_opaque_global_has_no_digest(monkeypatch):
    monkeypatch.setitem(globals(), "TABLE", iter([1]))
    with pytest.raises(NotDigestibleError, match="hidden state"):
        digest(resize_with_table)


@pytest.mark.parametrize(
    "code",
    [
        "GAIN = os.environ['OWN_GAIN']",
        "def gain():\n    return lambda: os.environ.get('OWN_' 'GAIN')",
        "def gain(name='OWN_GAIN'):\n    return os.getenv(name)",
        "gains = [os.environ[name] for name in ['A', 'OWN_GAIN']]",
        "gains = {'OWN_GAIN': os.environ}",
        "class Gain:\n    def of(self, name):\n        return name in {'OWN_GAIN', 'A'} and os.environ[name]",
    ],
)
def test_environment_variables_named_in_code_change_the_digest(tmp_path, monkeypatch, code):
    (tmp_path / "own_reader.py").write_text(f"import os\n\n{code}\n\n\ndef read(paths):\n    return paths\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("OWN_GAIN", "1")
    monkeypatch.setenv("A", "1")
    sys.modules.pop("own_reader", None)
    import own_reader

    before = digest(own_reader.read)
    assert digest(own_reader.read) == before
    monkeypatch.setenv("OWN_GAIN", "2")
    assert digest(own_reader.read) != before
    del sys.modules["own_reader"]


def with_a_sentinel_default(value, given=object()):  # noqa: B008 - transformers does this
    return value if given is None else given


def test_a_sentinel_default_has_a_digest():
    assert digest(with_a_sentinel_default) == digest(with_a_sentinel_default)


class Order(enum.StrEnum):
    """An enumeration whose members are strings, as in timm."""

    FIRST = "channels first"
    LAST = "channels last"


def test_members_of_an_enumeration_have_different_digests():
    assert digest(Order.FIRST) == digest(Order.FIRST)
    assert digest(Order.FIRST) != digest(Order.LAST)


def test_plain_objects_have_equal_digests():
    assert digest(Settings(object())) == digest(Settings(object())) != digest(Settings(None))


def test_a_cyclic_list_has_a_digest():
    knot = []
    knot.append(knot)
    assert digest(knot) == digest(knot)


class Slotted:
    __slots__ = ("__dict__", "value")

    def __init__(self, value):
        self.value = value


def test_rejects_objects_with_hidden_state(tmp_path):
    with (tmp_path / "file.txt").open("w") as file:
        for value in (np.random.default_rng(0), torch.Generator(), iter([1]), file, Slotted(3)):
            with pytest.raises(NotDigestibleError):
                describe(value)


class Net(nn.Module):
    def __init__(self, gain=1.0, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.layer = nn.Linear(3, 2)
        self.gain = gain
        self.register_buffer("hidden", torch.zeros(2), persistent=False)

    def forward(self, x):
        return self.layer(x) * self.gain + self.hidden


def module_digest(module):
    return content_digest(describe_module(module))


def test_module_digest_covers_weights_structure_and_settings():
    original = module_digest(Net())
    assert module_digest(Net()) == original
    assert module_digest(Net().train()) == module_digest(Net().eval())
    assert module_digest(Net(seed=1)) != original
    assert module_digest(Net(gain=2.0)) != original

    changed = Net()
    changed.hidden += 1  # not in the state dict, but affects every result
    assert module_digest(changed) != original

    replaced = Net()
    replaced.layer = nn.Sequential(replaced.layer, nn.ReLU())
    assert module_digest(replaced) != original

    smallest = Net()
    with torch.no_grad():
        smallest.layer.weight[0, 0] = torch.nextafter(smallest.layer.weight[0, 0], torch.tensor(torch.inf))
    assert module_digest(smallest) != original


def test_modules_with_equal_state_but_different_class_differ():
    assert module_digest(nn.Sequential(nn.ReLU())) != module_digest(nn.Sequential(nn.Tanh()))
    assert module_digest(nn.MaxPool2d(2)) != module_digest(nn.MaxPool2d(3))
    assert module_digest(nn.Dropout(0.1)) != module_digest(nn.Dropout(0.2))


def test_hooks_change_the_module_digest():
    hooked = Net()
    hooked.layer.register_forward_hook(lambda module, inputs, output: output * 2)
    assert module_digest(hooked) != module_digest(Net())
    hooked.generator = torch.Generator()
    with pytest.raises(NotDigestibleError):
        describe_module(hooked)


def test_recurrent_networks_have_digests():
    torch.manual_seed(0)
    one, other = nn.LSTM(2, 3), nn.LSTM(2, 3)
    assert module_digest(one) != module_digest(other)
    other.load_state_dict(one.state_dict())
    assert module_digest(one) == module_digest(other)


def test_bfloat16_and_empty_tensors_have_digests():
    module = nn.Linear(2, 2).to(torch.bfloat16)
    module.register_buffer("empty", torch.zeros(0))
    assert module_digest(module) == module_digest(module)


def test_preprocessing_digest_covers_code_arguments_and_outcome():
    original = preprocessing_digest(functools.partial(load_preprocess_images, image_size=8))
    assert preprocessing_digest(functools.partial(load_preprocess_images, image_size=8)) == original
    assert preprocessing_digest(functools.partial(load_preprocess_images, image_size=9)) != original
    other_mean = functools.partial(load_preprocess_images, image_size=8, normalize_mean=(0.5, 0.5, 0.5))
    assert preprocessing_digest(other_mean) != original
    assert preprocessing_digest(None) != original
    assert preprocessing_digest(scaled_by(2)) != preprocessing_digest(scaled_by(3))


class Opaque:
    """A processor whose state cannot be inspected."""

    def __init__(self, gain):
        self._state = iter([gain])
        self._gain = gain

    def __call__(self, paths):
        return scaled_by(self._gain)(paths)


def test_an_opaque_preprocessing_needs_a_declared_version():
    with pytest.raises(NotDigestibleError):
        preprocessing_digest(Opaque(1))
    declared, newer, other = Opaque(1), Opaque(1), Opaque(2)
    declared.cache_version, newer.cache_version, other.cache_version = "1", "2", "1"
    assert preprocessing_digest(declared) != preprocessing_digest(newer)
    assert preprocessing_digest(declared) != preprocessing_digest(other)  # the probe image reveals the difference


def test_rejects_preprocessing_that_fails_on_the_probe_image():
    def only_jpeg(paths):
        raise KeyError(paths[0])

    with pytest.raises(NotDigestibleError, match="probe image"):
        preprocessing_digest(only_jpeg)


def test_rejects_random_preprocessing():
    def noise(paths):
        return np.random.default_rng().normal(size=(len(paths), 3))

    with pytest.raises(NotDigestibleError, match="random"):
        preprocessing_digest(noise)


def test_the_probe_image_has_distinct_sides_and_channels():
    pixels = np.asarray(probe_image()).astype(int)
    assert pixels.shape == (260, 300, 3)
    assert len({pixels[..., channel].tobytes() for channel in range(3)}) == 3
    assert not np.array_equal(pixels, pixels[:, ::-1])
    assert not np.array_equal(pixels, pixels[::-1])


def test_a_context_decorator_is_digested_by_its_function():
    def decorated(factor):
        @contextlib.contextmanager
        def context(factor):
            yield factor

        @contextlib.contextmanager
        def other(factor):
            yield -factor

        made = (other if factor < 0 else context)(abs(factor))

        @made
        def function(paths):
            return np.zeros((len(paths), 3))

        return function

    assert preprocessing_digest(decorated(1)) == preprocessing_digest(decorated(1))
    assert len({preprocessing_digest(decorated(factor)) for factor in (1, 2, -1)}) == 3


def test_rejects_generators_even_in_an_entered_context():
    @contextlib.contextmanager
    def context():
        yield

    class Holds:
        def __init__(self, held):
            self.held = held

        def __call__(self, paths):
            return np.zeros((len(paths), 3))

    begun = context()
    next(begun.gen)
    assert preprocessing_digest(Holds(context()))
    for held in (begun, (number for number in range(3))):
        with pytest.raises(NotDigestibleError, match="generator"):
            preprocessing_digest(Holds(held))
