"""Attacks on the key of the activation cache: if anything that affects activations changes, the cache must miss.

No attack changes the name of the model, its layers or the stimulus files.
"""

import functools
import os
import sys
from collections import OrderedDict
from textwrap import dedent

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn
from torch.nn import functional

from brainscore_core.errors import ModelChangedError
from brainscore_vision.identity.numerics import numerics
from brainscore_vision.model_helpers.activations.cache import stored_entries, without_cache
from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images

SCALE = torch.tensor(1.0)
TABLE = {"gain": [1.0]}


def rescale(x):
    return x * SCALE * TABLE["gain"][0]


class Net(nn.Module):
    bias = 0.0
    options = {"shift": 0.0}  # noqa: RUF012 - many networks define one

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3 * 8 * 8, 4)
        self.norm = nn.BatchNorm1d(4)
        with torch.no_grad():
            self.layer.weight.copy_(torch.linspace(-1, 1, 4 * 192).reshape(4, 192))
            self.layer.bias.zero_()
        self.gain = 1.0

    def forward(self, x):
        return rescale(self.norm(self.layer(x.flatten(1)))) * self.gain + self.bias + self.options["shift"]


@pytest.fixture
def stimuli(write_stimuli):
    rng = np.random.default_rng(0)
    return write_stimuli({f"s{index}": rng.integers(0, 256, (8, 8, 3)) for index in range(4)})


def wrap(net):
    return PytorchWrapper(net, functools.partial(load_preprocess_images, image_size=8), "net", batch_size=2)


def values(net, stimuli, layer="norm"):
    return wrap(net)(stimuli, layers=[layer]).values.copy()


def check(net, stimuli, attack, *, layer="norm", changes=True):
    """Record, attack, and record again: the second result must equal one without a cache, and differ if `changes`."""
    before = values(net, stimuli, layer)
    assert len(stored_entries()) == 1
    attack()
    with without_cache():
        truth = values(net, stimuli, layer)
    assert np.array_equal(before, truth) is not changes
    np.testing.assert_array_equal(values(net, stimuli, layer), truth)


def test_cache_hits_without_an_attack(stimuli):
    check(Net(), stimuli, lambda: None, changes=False)
    assert len(stored_entries()) == 1


WEIGHTS = {
    "in place": lambda net: net.layer.weight[0, 0].add_(1),
    "data": lambda net: net.layer.weight.data[0, 0].add_(1),  # no change to PyTorch's own counter of versions
    "numpy": lambda net: np.put(net.layer.weight.detach().numpy(), 0, 9.0),
    "replaced": lambda net: setattr(net.layer, "weight", nn.Parameter(net.layer.weight + 1)),
    "buffer": lambda net: net.norm.running_mean.add_(1),
    "view": lambda net: net.layer.weight.view(-1)[5].add_(1),
}


@pytest.mark.parametrize("how", WEIGHTS)
def test_changed_weights_miss_the_cache(stimuli, how):
    net = Net()
    check(net, stimuli, torch.no_grad()(lambda: WEIGHTS[how](net)))


def test_forward_hooks_miss_the_cache(stimuli):
    net = Net()
    check(net, stimuli, lambda: net.layer.register_forward_hook(lambda _module, _inputs, output: output * 2 + 1))


def test_forward_pre_hooks_miss_the_cache(stimuli):
    net = Net()
    check(net, stimuli, lambda: net.register_forward_pre_hook(lambda _module, inputs: (inputs[0] * 2 + 1,)))


def test_global_forward_hooks_miss_the_cache(stimuli):
    net, handles = Net(), []

    def attack():
        hook = lambda module, _inputs, output: output + 1 if isinstance(module, nn.Linear) else None  # noqa: E731
        handles.append(nn.modules.module.register_module_forward_hook(hook))

    try:
        check(net, stimuli, attack)
    finally:
        [handle.remove() for handle in handles]


def doubled(self, x):
    return functional.linear(x, self.weight, self.bias) * 2


@pytest.mark.parametrize("where", ["instance", "class", "class of PyTorch", "function of PyTorch", "helper"])
def test_code_replaced_at_run_time_misses_the_cache(stimuli, monkeypatch, where):
    net = Net()
    forward, linear = Net.forward, functional.linear
    attacks = {
        "instance": lambda: setattr(net.layer, "forward", lambda x: doubled(net.layer, x)),
        "class": lambda: monkeypatch.setattr(Net, "forward", lambda self, x: forward(self, x) + 1),
        "class of PyTorch": lambda: monkeypatch.setattr(nn.Linear, "forward", doubled),
        "function of PyTorch": lambda: monkeypatch.setattr(functional, "linear", lambda *args: linear(*args) + 1),
        "helper": lambda: monkeypatch.setitem(globals(), "rescale", lambda x: x * 3),
    }
    # The network is the layer inside a container, so the wrapper's hook sees the result of its whole forward.
    check(nn.Sequential(OrderedDict(net=net)), stimuli, attacks[where], layer="net")


@pytest.mark.parametrize("what", ["attribute", "class", "class dict", "tensor", "table"])
def test_changed_values_that_code_reads_miss_the_cache(stimuli, monkeypatch, what):
    net = Net()
    attacks = {
        "attribute": lambda: setattr(net, "gain", 2.0),
        "class": lambda: monkeypatch.setattr(Net, "bias", 1.0),
        "class dict": lambda: monkeypatch.setitem(Net.options, "shift", 1.0),
        "tensor": lambda: monkeypatch.setitem(globals(), "SCALE", torch.tensor(2.0)),
        "table": lambda: monkeypatch.setitem(TABLE, "gain", [2.0]),
    }
    check(nn.Sequential(OrderedDict(net=net)), stimuli, attacks[what], layer="net")


class Stubborn(nn.BatchNorm1d):
    """Batch normalisation that stays in training mode and therefore changes with each batch."""

    def train(self, mode=True):
        return super().train(True)


def test_batch_normalisation_in_training_mode_is_rejected(stimuli):
    net = Net()
    net.norm = Stubborn(4)
    with without_cache(), pytest.raises(ModelChangedError, match=r"norm\.running_mean"):
        values(net, stimuli)
    with pytest.raises(ModelChangedError, match=r"norm\.running_mean"):
        values(net, stimuli)
    assert stored_entries() == []
    values(Net(), stimuli)
    assert stored_entries()


CUDNN, MATMUL = torch.backends.cudnn, torch.backends.mkldnn.matmul
# For each setting: its getter, its setter and another value. PyTorch's own functions for `deterministic` and the
# precision of matrix products import its compiler and change more than they can restore.
SETTINGS = {
    "threads": (torch.get_num_threads, torch.set_num_threads, 7),
    "precision": (lambda: MATMUL.fp32_precision, functools.partial(setattr, MATMUL, "fp32_precision"), "tf32"),
    "deterministic": (torch.are_deterministic_algorithms_enabled, torch._C._set_deterministic_algorithms, True),
    "cudnn": (lambda: CUDNN.deterministic, functools.partial(setattr, CUDNN, "deterministic"), True),
    "benchmark": (lambda: CUDNN.benchmark, functools.partial(setattr, CUDNN, "benchmark"), True),
    "default type": (torch.get_default_dtype, torch.set_default_dtype, torch.float64),
    "autocast": (lambda: False, functools.partial(torch.set_autocast_enabled, "cpu"), True),
    "device": (lambda: None, torch.set_default_device, "meta"),
    "fast path": (torch.backends.mha.get_fastpath_enabled, torch.backends.mha.set_fastpath_enabled, False),
    "replaced": (lambda: functional.relu, functools.partial(setattr, functional, "relu"), doubled),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_process_settings_are_part_of_the_key(name):
    read, write, other = SETTINGS[name]
    before, value = numerics(), read()
    try:
        write(other)
        assert numerics() != before
    finally:
        write(value)
    assert numerics() == before


def test_autocast_around_the_call_misses_the_cache(stimuli):
    net = Net()
    before = values(net, stimuli)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        under = values(net, stimuli)
        with without_cache():
            np.testing.assert_array_equal(under, values(net, stimuli))
    assert not np.array_equal(before, under)


# --- preprocessing and stimuli ---------------------------------------------------------------------------------------


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    """Write and import a user's module; each call replaces it."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    written = []

    def write(source):
        (tmp_path / "own_preprocessing.py").write_text(dedent(source))
        sys.modules.pop("own_preprocessing", None)
        written.append(1)
        import own_preprocessing

        return own_preprocessing

    yield write
    sys.modules.pop("own_preprocessing", None)


READ = """
import os
import numpy as np
from PIL import Image

def load(paths):
    return np.stack([np.asarray(Image.open(path).convert("RGB").resize((8, 8)), dtype=np.float32) for path in paths])
"""


def preprocessed(preprocess, stimuli):
    helper = PytorchWrapper(Net(), preprocess, "net", batch_size=2)
    return helper(stimuli, layers=["layer"]).values.copy()


def check_preprocessing(preprocess, stimuli, attack):
    before = preprocessed(preprocess, stimuli)
    preprocess = attack() or preprocess
    with without_cache():
        truth = preprocessed(preprocess, stimuli)
    assert not np.array_equal(before, truth)
    np.testing.assert_array_equal(preprocessed(preprocess, stimuli), truth)


def test_edited_preprocessing_misses_the_cache(stimuli, own_module):
    module = own_module(READ + "\ndef prepare(paths):\n    return load(paths) / 255\n")
    attack = lambda: own_module(READ + "\ndef prepare(paths):\n    return load(paths) / 256\n").prepare  # noqa: E731
    check_preprocessing(module.prepare, stimuli, attack)


def test_code_edited_on_disk_does_not_match_the_running_code(stimuli, own_module, tmp_path):
    old, new = (READ + f"\ndef prepare(paths):\n    return load(paths) / {value}\n" for value in (255, 256))
    running = own_module(old).prepare
    (tmp_path / "own_preprocessing.py").write_text(new)  # not imported: the old code keeps running
    preprocessed(running, stimuli)
    restarted = own_module(new).prepare
    with without_cache():
        truth = preprocessed(restarted, stimuli)
    np.testing.assert_array_equal(preprocessed(restarted, stimuli), truth)


RARE = """
def prepare(paths):
    images = load(paths)
    # The probe image is not so dark.
    return np.stack([image * float({value}) if image.mean() < 250 and image.std() < 90 else image for image in images])
"""


def test_environment_variable_misses_the_cache_despite_the_probe(stimuli, own_module, monkeypatch):
    monkeypatch.setenv("OWN_GAIN", "1")
    module = own_module(READ + RARE.format(value='os.environ["OWN_GAIN"]'))
    check_preprocessing(module.prepare, stimuli, lambda: monkeypatch.setenv("OWN_GAIN", "2"))


def test_a_file_named_in_the_preprocessing_is_part_of_the_key(stimuli, own_module, tmp_path):
    gain = tmp_path / "gain.txt"
    gain.write_text("1")
    module = own_module(READ + RARE.format(value=f"open({str(gain)!r}).read()"))
    check_preprocessing(module.prepare, stimuli, lambda: gain.write_text("2") and None)


def test_a_file_passed_to_the_preprocessing_is_part_of_the_key(stimuli, own_module, tmp_path):
    gain = tmp_path / "gain.txt"
    gain.write_text("1")
    module = own_module(
        READ + RARE.format(value="open(file).read()").replace("(paths):\n    images", "(paths, file):\n    images")
    )
    check_preprocessing(
        functools.partial(module.prepare, file=str(gain)), stimuli, lambda: gain.write_text("2") and None
    )


def test_a_changed_stimulus_misses_with_equal_name_size_and_time(stimuli):
    net = Net()
    path = stimuli.get_stimulus("s2")
    Image.fromarray(np.full((8, 8, 3), 9, dtype=np.uint8)).save(path.with_suffix(".bmp"))
    stimuli.stimulus_paths["s2"] = path = path.with_suffix(".bmp")

    def attack():
        status = path.stat()
        Image.fromarray(np.full((8, 8, 3), 200, dtype=np.uint8)).save(path)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert path.stat().st_size == status.st_size

    check(net, stimuli, attack)
