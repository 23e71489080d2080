import functools
import importlib
import logging
import os
import subprocess
import sys
from textwrap import dedent, indent

import numpy as np
import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from brainscore_core.identity.digest import content_digest
from brainscore_vision.identity.objects import describe_module, preprocessing_digest
from brainscore_vision.model_helpers.activations import extraction
from brainscore_vision.model_helpers.activations.cache import stored_entries, without_cache
from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images

NET = """
import json
import os
from pathlib import Path

import torch
from torch import nn

{imports}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(192, 4)
        with torch.no_grad():
            self.layer.weight.copy_(torch.linspace(-1, 1, 768).reshape(4, 192))
            self.layer.bias.zero_()
        self.out = Out()

    def forward(self, x):
        return self.out(self.layer(x.flatten(1)))


class Out(nn.Module):
    def forward(self, x):
{forward}
"""


def net(forward, imports=""):
    return {"net.py": NET.format(imports=imports, forward=indent(dedent(forward), " " * 8))}


VIA_A = net("return a.scale(x)", "from own_package import a")
CONSTANT = {**VIA_A, "a.py": "from own_package import b\n\n\ndef scale(x):\n    return x * b.GAIN\n"}
FUNCTION = {**VIA_A, "a.py": "from own_package import b\n\n\ndef scale(x):\n    return b.apply(x)\n"}
LAZY = {**VIA_A, "a.py": "def scale(x):\n    from .b import apply\n    return apply(x)\n"}
TEXT = {
    **VIA_A,
    "a.py": "import importlib\ndef scale(x):\n    return importlib.import_module('own_package.b').apply(x)\n",
}
JSON = net("return x * json.load(open(os.path.join(os.path.dirname(__file__), 'gain.json')))")
DEEP_JSON = net("return x * json.loads((Path(__file__).parent / 'tables' / 'gain.json').read_text())")
MANY_FILES = net("return x * json.loads(Path(__file__).with_name('gain' + str(0) + '.json').read_text())")

TWICE, THRICE = ({"b.py": f"def apply(x):\n    return x * {gain}\n"} for gain in (2, 3))
SOURCES = {
    "a constant two modules away": (CONSTANT, {"b.py": "GAIN = 2.0\n"}, {"b.py": "GAIN = 3.0\n"}),
    "a function two modules away": (FUNCTION, TWICE, THRICE),
    "a function that is imported when it is called": (LAZY, TWICE, THRICE),
    "a function of a module that is named by a text": (TEXT, TWICE, THRICE),
    "a decorator two modules away": (
        {**VIA_A, "a.py": "from own_package.b import more\n\n\n@more\ndef scale(x):\n    return x\n"},
        {"b.py": "import functools\n\n\ndef more(f):\n    return functools.wraps(f)(lambda x: f(x) * 2)\n"},
        {"b.py": "import functools\n\n\ndef more(f):\n    return functools.wraps(f)(lambda x: f(x) * 3)\n"},
    ),
    "JSON read in forward": (JSON, {"gain.json": "2"}, {"gain.json": "3"}),
    "JSON in a folder read in forward": (DEEP_JSON, {"tables/gain.json": "2"}, {"tables/gain.json": "3"}),
    "JSON whose name is computed": (MANY_FILES, {"gain0.json": "2"}, {"gain0.json": "3"}),
}

B = {
    "tensor": "import torch\n\nG = torch.tensor(2.0)\n",
    "dict": "G = {'g': 2.0}\n",
    "object": "class Settings:\n    pass\n\n\nG = Settings()\nG.g = 2.0\n",
    "class": "class G:\n    g = 2.0\n",
    "class with a tensor": "import torch\n\n\nclass G:\n    g = torch.tensor(2.0)\n",
    "looked up": "G = 2.0\n",
}
READS = {"tensor": "b.G", "dict": "b.G['g']", "looked up": "getattr(b, 'G')"}
CHANGES = {
    "tensor": lambda b: b.G.add_(1),
    "dict": lambda b: b.G.update(g=3.0),
    "looked up": lambda b: setattr(b, "G", 3.0),
}
SET = lambda b: setattr(b.G, "g", 3.0)  # noqa: E731


class Package:
    """A user's package in a folder, and a model of it that is created again each time."""

    def __init__(self, folder, stimuli):
        self.folder, self.stimuli = folder, stimuli

    def write(self, files):
        for name, text in {"__init__.py": "", **files}.items():
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_text(text)

    def restart(self):
        for name in [name for name in sys.modules if name.partition(".")[0] == "own_package"]:
            del sys.modules[name]
        importlib.invalidate_caches()

    def values(self):
        module = importlib.import_module("own_package.net")
        preprocessing = functools.partial(load_preprocess_images, image_size=8)
        wrapper = PytorchWrapper(module.Net(), preprocessing, "net", batch_size=2)
        return wrapper(self.stimuli, layers=["out"]).values.copy()


@pytest.fixture
def package(tmp_path, monkeypatch, write_stimuli):
    (tmp_path / "own_package").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    rng = np.random.default_rng(0)
    (tmp_path / "stimuli").mkdir()
    stimuli = write_stimuli(
        {f"s{index}": rng.integers(0, 256, (8, 8, 3)) for index in range(4)}, folder=tmp_path / "stimuli"
    )
    package = Package(tmp_path / "own_package", stimuli)
    yield package
    package.restart()


def check(package, mutate, *, restart, cached=True):
    before = package.values()
    assert len(stored_entries()) == cached
    mutate()
    if restart:
        package.restart()
    with without_cache():
        truth = package.values()
    assert not np.array_equal(before, truth)  # otherwise the mutation has no effect
    np.testing.assert_array_equal(package.values(), truth)


WITHOUT_RESTART = [(what, False) for what in SOURCES if "JSON" in what]  # these are also read again within one process


@pytest.mark.parametrize(("what", "restart"), [*((what, True) for what in SOURCES), *WITHOUT_RESTART])
def test_changed_files_of_the_package_miss_the_cache(package, what, restart):
    files, old, new = SOURCES[what]
    package.write({**files, **old})
    check(package, lambda: package.write(new), restart=restart, cached="computed" not in what)


@pytest.mark.parametrize("kind", B)
def test_changed_values_two_modules_away_miss_the_cache(package, kind):
    scale = f"from own_package import b\n\n\ndef scale(x):\n    return x * {READS.get(kind, 'b.G.g')}\n"
    package.write({**VIA_A, "a.py": scale, "b.py": B[kind]})
    check(package, lambda: CHANGES.get(kind, SET)(sys.modules["own_package.b"]), restart=False)


@pytest.mark.parametrize("read", ["os.environ['OWN_GAIN']", "os.environ[KEY]", "os.environ[key('GAIN')]"])
def test_environment_variable_two_modules_away_misses_the_cache(package, monkeypatch, read):
    monkeypatch.setenv("OWN_GAIN", "2")
    b = f"import os\nfrom own_package.c import KEY, key\n\n\ndef apply(x):\n    return x * float({read})\n"
    c = "KEY = 'OWN_GAIN'\n\n\ndef key(name):\n    return 'OWN_' + name\n"
    package.write({**FUNCTION, "b.py": b, "c.py": c})
    check(package, lambda: monkeypatch.setenv("OWN_GAIN", "3"), restart=True)


def test_a_changed_autocast_type_misses_the_cache(package):
    package.write(net("with torch.autocast('cpu'):\n    return x[:, :1] @ torch.full((1, 4), 1.01)"))
    before = torch.get_autocast_dtype("cpu")
    try:
        check(package, lambda: torch.set_autocast_dtype("cpu", torch.float16), restart=False)
    finally:
        torch.set_autocast_dtype("cpu", before)


def test_a_global_hook_with_a_distant_value_misses_the_cache(package):
    hook = "from own_package import b\n\n\ndef hook(module, inputs, output):\n    return output * b.G['g']\n"
    package.write({**net("return x"), "a.py": hook, "b.py": B["dict"]})
    handle = nn.modules.module.register_module_forward_hook(importlib.import_module("own_package.a").hook)
    try:
        check(package, lambda: sys.modules["own_package.b"].G.update(g=3.0), restart=False)
    finally:
        handle.remove()


class Doubling(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        return result * 2 if function is torch.Tensor.flatten else result


def test_a_torch_function_mode_misses_the_cache(package):
    package.write(net("return x"))
    mode = Doubling()
    try:
        check(package, mode.__enter__, restart=False)
    finally:
        mode.__exit__(None, None, None)


def test_warns_once_if_a_model_is_not_cached(package, caplog, monkeypatch):
    monkeypatch.setattr(extraction, "_said", set())
    package.write({**MANY_FILES, "gain0.json": "2"})
    with caplog.at_level(logging.WARNING):
        package.values()
        package.values()
    said = [record.getMessage() for record in caplog.records if "not cached" in record.getMessage()]
    assert len(said) == 1
    assert "own_package/gain0.json" in said[0]


def test_files_that_a_model_wrote_itself_do_not_prevent_caching(package, tmp_path):
    package.write(
        net(f"p = Path({str(tmp_path)!r}) / f'own{{len(x)}}'\np.write_text('2')\nreturn x * float(p.read_text())")
    )
    package.values()
    assert len(stored_entries()) == 1


@pytest.mark.slow
def test_key_is_equal_in_every_process_and_after_a_run(package):
    package.write(
        {
            **net(
                "return a.scale(x) + G['x'] * len(KINDS)",
                "from . import a\nG = {'x': 1}\nKINDS = {int, str, nn.ReLU, a.One, a.Other}",
            ),
            "a.py": (
                "from .b import apply\n\n\nclass One:\n    pass\n\n\nclass Other(One):\n    pass\n\n\n"
                "def scale(x):\n    return apply(x)\n"
            ),
            "b.py": "NAMES = {'one', 'two', 'three'}\n\n\ndef apply(x):\n    return x * len(NAMES)\n",
        }
    )
    model = importlib.import_module("own_package.net").Net().eval()
    preprocessing = functools.partial(load_preprocess_images, image_size=8)
    digests = [content_digest(describe_module(model)), preprocessing_digest(preprocessing)]
    model(torch.zeros(1, 192))
    assert content_digest(describe_module(model)) == digests[0]
    program = (
        "import functools, sys\nfrom own_package.net import Net\n"
        "from brainscore_core.identity.digest import content_digest\n"
        "from brainscore_vision.identity.objects import describe_module\n"
        "from brainscore_vision.identity.objects import preprocessing_digest\n"
        "from brainscore_vision.model_helpers.activations.images import load_preprocess_images\n"
        "print(content_digest(describe_module(Net().eval())),\n"
        "      preprocessing_digest(functools.partial(load_preprocess_images, image_size=8)))\n"
    )
    # Another hash seed changes the order of sets.
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == digests


def test_cache_hits_after_a_restart_despite_late_imports(package):
    files, old, _ = SOURCES["a function that is imported when it is called"]
    package.write({**files, **old})
    package.values()
    package.restart()
    package.values()
    assert len(stored_entries()) == 1
