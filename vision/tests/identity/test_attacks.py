"""Attacks on the key of the activation cache: whatever changes activations must never meet those from before.

Every attack leaves the name of the model, of its layers and of the files as they are.
"""

import functools
import os
import sys
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
    options = {"shift": 0.0}  # noqa: RUF012 - what many networks have

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
    """Record, attack, record again: the second time must be as without a cache, and differ if the attack does."""
    before = values(net, stimuli, layer)
    assert len(stored_entries()) == 1
    attack()
    with without_cache():
        truth = values(net, stimuli, layer)
    assert np.array_equal(before, truth) is not changes
    np.testing.assert_array_equal(values(net, stimuli, layer), truth)


def test_without_an_attack_the_cache_serves(stimuli):
    check(Net(), stimuli, lambda: None, changes=False)
    assert len(stored_entries()) == 1


@pytest.mark.parametrize("how", ["in place", "data", "numpy", "replaced", "buffer", "view"])
def test_weights_changed_in_any_way(stimuli, how):
    net = Net()

    def attack():
        weight = net.layer.weight
        with torch.no_grad():
            if how == "in place":
                weight[0, 0] += 1
            elif how == "data":  # does not count as a change for PyTorch's own counter of versions
                weight.data[0, 0] += 1
            elif how == "numpy":
                weight.detach().numpy()[0, 0] += 1
            elif how == "replaced":
                net.layer.weight = nn.Parameter(weight + 1)
            elif how == "buffer":
                net.norm.running_mean += 1
            else:
                weight.view(-1)[5] += 1

    check(net, stimuli, attack)


def test_hooks_on_the_module(stimuli):
    net = Net()
    check(net, stimuli, lambda: net.layer.register_forward_hook(lambda _module, _inputs, output: output * 2 + 1))


def test_pre_hooks_on_the_module(stimuli):
    net = Net()
    check(net, stimuli, lambda: net.register_forward_pre_hook(lambda _module, inputs: (inputs[0] * 2 + 1,)))


def test_hooks_on_all_modules(stimuli):
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
def test_code_replaced_while_the_process_runs(stimuli, monkeypatch, where):
    net = Net()
    forward = Net.forward
    linear = functional.linear

    def attack():
        if where == "instance":
            net.layer.forward = lambda x: doubled(net.layer, x)
        elif where == "class":
            monkeypatch.setattr(Net, "forward", lambda self, x: forward(self, x) + 1)
        elif where == "class of PyTorch":
            monkeypatch.setattr(nn.Linear, "forward", doubled)
        elif where == "function of PyTorch":
            monkeypatch.setattr(functional, "linear", lambda *args: linear(*args) + 1)
        else:
            monkeypatch.setitem(globals(), "rescale", lambda x: x * 3)

    # The hook of the wrapper on the whole module is not there: its forward is seen through the last layer.
    check(Wrapped(net), stimuli, attack, layer="net")


class Wrapped(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x)


@pytest.mark.parametrize("what", ["attribute", "class", "class dict", "tensor", "table"])
def test_values_that_code_finds_in_any_place(stimuli, monkeypatch, what):
    net = Net()

    def attack():
        if what == "attribute":
            net.gain = 2.0
        elif what == "class":
            monkeypatch.setattr(Net, "bias", 1.0)
        elif what == "class dict":
            monkeypatch.setitem(Net.options, "shift", 1.0)
        elif what == "tensor":
            monkeypatch.setitem(globals(), "SCALE", torch.tensor(2.0))
        else:
            monkeypatch.setitem(TABLE, "gain", [2.0])

    check(Wrapped(net), stimuli, attack, layer="net")


class Stubborn(nn.BatchNorm1d):
    """Batch normalisation that stays in training mode, so that it changes with each batch."""

    def train(self, mode=True):
        return super().train(True)


def test_batch_normalisation_that_stays_in_training_mode(stimuli):
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
# How it is read and set, and to what. PyTorch's own functions to set `deterministic` and the precision of products
# import its compiler, and set more than they can set back.
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
def test_settings_of_the_process_are_part_of_the_key(name):
    read, write, other = SETTINGS[name]
    before, value = numerics(), read()
    try:
        write(other)
        assert numerics() != before
    finally:
        write(value)
    assert numerics() == before


def test_autocast_around_the_call(stimuli):
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
    """Write a module of the user, and import it as often as asked."""
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


def test_an_edited_preprocessing(stimuli, own_module):
    module = own_module(READ + "\ndef prepare(paths):\n    return load(paths) / 255\n")
    attack = lambda: own_module(READ + "\ndef prepare(paths):\n    return load(paths) / 256\n").prepare  # noqa: E731
    check_preprocessing(module.prepare, stimuli, attack)


def test_code_that_is_edited_while_the_process_runs_the_old_one(stimuli, own_module, tmp_path):
    old, new = (READ + f"\ndef prepare(paths):\n    return load(paths) / {value}\n" for value in (255, 256))
    running = own_module(old).prepare
    (tmp_path / "own_preprocessing.py").write_text(new)  # not imported: the old code runs on
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


def test_the_environment_where_the_probe_image_does_not_tell(stimuli, own_module, monkeypatch):
    monkeypatch.setenv("OWN_GAIN", "1")
    module = own_module(READ + RARE.format(value='os.environ["OWN_GAIN"]'))
    check_preprocessing(module.prepare, stimuli, lambda: monkeypatch.setenv("OWN_GAIN", "2"))


def test_a_file_that_the_preprocessing_names(stimuli, own_module, tmp_path):
    gain = tmp_path / "gain.txt"
    gain.write_text("1")
    module = own_module(READ + RARE.format(value=f"open({str(gain)!r}).read()"))
    check_preprocessing(module.prepare, stimuli, lambda: gain.write_text("2") and None)


def test_a_file_that_an_argument_of_the_preprocessing_names(stimuli, own_module, tmp_path):
    gain = tmp_path / "gain.txt"
    gain.write_text("1")
    module = own_module(
        READ + RARE.format(value="open(file).read()").replace("(paths):\n    images", "(paths, file):\n    images")
    )
    check_preprocessing(
        functools.partial(module.prepare, file=str(gain)), stimuli, lambda: gain.write_text("2") and None
    )


def test_a_stimulus_with_the_same_name_size_and_time(stimuli):
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
