import argparse
import collections
import datetime as dt
import functools
import hashlib
import importlib
import io
import operator
import os
import pathlib
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn

from brainscore_core.errors import ChecksumError, ConfigurationError, CorruptFileError, DownloadError
from brainscore_vision.model_helpers import weights

URL = "https://weights.example.org/models/net-1.pth"


def build():
    return nn.Sequential(nn.Conv2d(3, 4, kernel_size=3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(16, 5))


@pytest.fixture
def state():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return build().state_dict()


@pytest.fixture
def publish(tmp_path, monkeypatch):
    """Return a function that saves content at the published file's path in the mirror and returns its digest."""
    monkeypatch.setenv("BRAINSCORE_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    path = tmp_path / "mirror" / "weights.example.org" / "models" / "net-1.pth"
    path.parent.mkdir(parents=True)

    def save(content):
        torch.save(content, path)
        return hashlib.sha256(path.read_bytes()).hexdigest()

    return save


def pinned(sha256, **options):
    return weights.PublishedWeights(url=URL, sha256=sha256, licence="MIT", **options)


# --- end to end -------------------------------------------------------------------------------------------------------


def test_network_gets_its_weights(publish, state, tmp_path):
    digest = publish(state)
    before = torch.random.get_rng_state()
    network = weights.load_weights(build, pinned(digest))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert not network.training
    assert all(torch.equal(value, state[name]) for name, value in network.state_dict().items())
    assert (tmp_path / "home" / "weights" / digest[:8] / "net-1.pth").is_file()


def test_entry_and_prefix_are_removed(publish, state):
    wrapped = {"epoch": 43, "state_dict": {f"module.{name}": value for name, value in state.items()}}
    network = weights.load_weights(build, pinned(publish(wrapped), entry="state_dict", prefix="module."))
    assert torch.equal(network[3].weight, state["3.weight"])


def test_rejects_weights_that_differ_from_the_published_ones(publish, state):
    digest = publish(state)
    publish({**state, "3.bias": state["3.bias"] + 1})
    with pytest.raises(ChecksumError, match=f"expected sha256 {digest}"):
        weights.load_weights(build, pinned(digest))


def test_offline_error_says_where_to_put_the_file(publish):
    with pytest.raises(DownloadError, match=r"mirror/weights\.example\.org/models/other\.pth.*BRAINSCORE_OFFLINE=1"):
        weights.fetch_weights(URL.replace("net-1", "other"), "0" * 64)


def test_files_with_equal_names_are_kept_apart(publish, tmp_path):
    paths = [weights.fetch_weights(URL, publish({"a": torch.zeros(n)})) for n in (1, 2)]
    assert [len(weights.read_checkpoint(path)["a"]) for path in paths] == [1, 2]
    assert weights.fetch_weights(URL, None, tmp_path / "own") == tmp_path / "own" / "net-1.pth"


@pytest.mark.parametrize("url", ["https://example.org", "https://example.org/models/", "https://example.org/%2E%2E"])
def test_rejects_an_address_without_a_file(url):
    with pytest.raises(ConfigurationError, match="names no file"):
        weights.fetch_weights(url, "0" * 64)


# --- reading ----------------------------------------------------------------------------------------------------------


class Call:
    """An object whose unpickling calls a function and fills the result with a state."""

    def __init__(self, function, *arguments, state=None):
        self.reduced = (function, arguments) if state is None else (function, arguments, state)

    def __reduce__(self):
        return self.reduced


def harmful(trace):
    """Return objects that make a folder when they are unpickled."""
    program = f"import os; os.mkdir({str(trace)!r})"
    command = [sys.executable, "-c", program]
    inner = io.BytesIO()
    torch.save(Call(exec, program), inner)
    return {
        "a call of the system": Call(os.mkdir, str(trace)),
        "a program": Call(exec, program),
        "a text": Call(eval, f"exec({program!r})"),
        "a process": Call(subprocess.call, command),
        "a method by its name": Call(operator.methodcaller("mkdir"), pathlib.Path(trace)),
        "a reader that unpickles": Call(torch.storage._load_from_bytes, inner.getvalue()),
        "a state": Call(argparse.Namespace, state={"a": Call(exec, program)}),
        "an item": collections.deque([Call(exec, program)]),
        "a factory": collections.defaultdict(functools.partial(exec, program), a=Call(exec, program)),
    }


HARMFUL = list(harmful("folder"))
REFUSED = {"a call of the system": "mkdir whose module", "a method by its name": "unrecognized function"}
"""Attacks that cannot be replaced by a stand-in -> the reason in the error."""


@pytest.mark.parametrize("new_format", [True, False])
@pytest.mark.parametrize("attack", HARMFUL)
def test_reading_executes_no_code(tmp_path, attack, new_format):
    trace, path = tmp_path / "trace", tmp_path / "net.pth"
    content = {"model": {"a": torch.ones(2)}, "extra": harmful(trace)[attack]}
    torch.save(content, path, _use_new_zipfile_serialization=new_format)
    if attack in REFUSED:
        with pytest.raises(weights.CheckpointError, match=rf"checkpoint of tensors only.*{REFUSED[attack]}"):
            weights.read_checkpoint(path, entry="model")
    else:
        assert weights.read_checkpoint(path, entry="model")["a"].tolist() == [1, 1]
    assert not trace.exists()
    torch.load(path, weights_only=False)  # proves that the payload of this test works
    assert trace.exists()


def test_reading_imports_nothing(tmp_path, monkeypatch):
    module = tmp_path / "of_the_author.py"
    module.write_text("class Clock:\n    pass\n\n\ndef start():\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    author = importlib.import_module("of_the_author")
    torch.save({"model": {"a": torch.ones(2)}, "beside": [author.Clock(), author.start]}, tmp_path / "net.pth")
    monkeypatch.delitem(sys.modules, "of_the_author")
    module.write_text("raise SystemExit\n")
    allowed = set(torch.serialization.get_safe_globals())
    assert set(weights.read_checkpoint(tmp_path / "net.pth", entry="model")) == {"a"}
    assert "of_the_author" not in sys.modules
    assert set(torch.serialization.get_safe_globals()) == allowed


@pytest.mark.parametrize("new_format", [True, False])
def test_training_state_in_a_checkpoint_is_ignored(tmp_path, state, new_format):
    """Covers the extra state that Composer, Lightning, timm and scripts for ImageNet save."""
    beside = {
        "args": argparse.Namespace(lr=0.1, path=pathlib.PurePosixPath("a")),
        "best": np.float64(76.1),
        "rng": [{"numpy": np.random.RandomState(0).get_state(), "python": (3, (1, 2), None)}],
        "wct": dt.timedelta(seconds=3),
        "history": collections.deque([1.0], maxlen=3),
        "counts": collections.defaultdict(int, a=2),
        "metric": functools.partial(max, 1),
        "optimizers": [
            ("SGD", {"state": {0: {"momentum": torch.ones(2)}}, "param_groups": [{"lr": 0.1, "params": [0]}]})
        ],
        "device": torch.device("cpu"),
        "dtype": torch.float32,
        **({"metrics": nn.ModuleDict({"a": nn.Linear(1, 1)})} if new_format else {}),
    }
    torch.save({**beside, "state": {"model": state}}, tmp_path / "net.pth", _use_new_zipfile_serialization=new_format)
    found = weights.read_checkpoint(tmp_path / "net.pth", entry="state/model")
    assert {name: values.tolist() for name, values in found.items()} == {
        name: values.tolist() for name, values in state.items()
    }


def test_threads_can_read_at_the_same_time(tmp_path):
    torch.save({"model": {"a": torch.ones(2)}, "args": argparse.Namespace(lr=0.1)}, tmp_path / "net.pth")
    with ThreadPoolExecutor(8) as pool:
        read = functools.partial(weights.read_checkpoint, entry="model")
        found = list(pool.map(read, [tmp_path / "net.pth"] * 200))
    assert [list(each) for each in found] == [["a"]] * 200


def test_rejects_a_pickled_network(tmp_path):
    torch.save(build(), tmp_path / "net.pth")
    with pytest.raises(weights.CheckpointError) as raised:
        weights.read_checkpoint(tmp_path / "net.pth")
    message = " ".join(str(raised.value).split())
    assert "no mapping of names to tensors. Only code of its author can make its objects of:" in message
    assert "torch.nn.modules.container.Sequential" in message


def test_rejects_an_object_filled_like_a_dictionary(tmp_path):
    class Settings(dict):
        __qualname__ = "Settings"

    globals()["Settings"] = Settings
    torch.save({"a": torch.ones(2), "settings": Settings(lr=1)}, tmp_path / "net.pth")
    with pytest.raises(weights.CheckpointError, match=r"Can only SETITEM.*Ask its author for the state_dict"):
        weights.read_checkpoint(tmp_path / "net.pth")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no archive", b"\x80\x02"])
def test_rejects_damaged_files(tmp_path, content):
    path = tmp_path / "net.pth"
    path.write_bytes(content)
    with pytest.raises(CorruptFileError, match=r"net\.pth is damaged, or not a checkpoint"):
        weights.read_checkpoint(path)


def test_rejects_a_web_page_instead_of_a_checkpoint(tmp_path):
    (tmp_path / "net.pth").write_bytes(b"<html>Please log in</html>")
    with pytest.raises(weights.CheckpointError, match=r"net\.pth is not a checkpoint"):
        weights.read_checkpoint(tmp_path / "net.pth")


def test_rejects_a_truncated_checkpoint(tmp_path, state):
    path = tmp_path / "net.pth"
    torch.save(state, path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CorruptFileError, match="damaged"):
        weights.read_checkpoint(path)


def test_reads_the_older_format(tmp_path, state):
    torch.save(state, tmp_path / "net.pth", _use_new_zipfile_serialization=False)
    assert set(weights.read_checkpoint(tmp_path / "net.pth")) == set(state)


@pytest.mark.parametrize(
    ("content", "entry", "message"),
    [
        ({"model": {}, "epoch": 3}, "state_dict", r"holds under 'state_dict' no mapping.*It has 'model', 'epoch'"),
        ({"epoch": 3}, None, "is no mapping of names to tensors"),
        ([1, 2], "state_dict", "no mapping"),
    ],
)
def test_rejects_content_without_weights(tmp_path, content, entry, message):
    torch.save(content, tmp_path / "net.pth")
    with pytest.raises(weights.CheckpointError, match=message):
        weights.read_checkpoint(tmp_path / "net.pth", entry=entry)


def test_prefix_is_removed_only_if_all_names_have_it(tmp_path):
    torch.save({"module.a": torch.zeros(1), "b": torch.zeros(1)}, tmp_path / "net.pth")
    assert set(weights.read_checkpoint(tmp_path / "net.pth", prefix="module.")) == {"module.a", "b"}


# --- fitting ----------------------------------------------------------------------------------------------------------


def test_mismatches_are_all_listed_and_change_nothing(state):
    network = build()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    wrong = {**state, "3.weights": state["3.weight"], "0.bias": torch.zeros(7)}
    del wrong["3.weight"]
    with pytest.raises(weights.CheckpointError) as raised:
        weights.fit_weights(network, wrong, origin="net-1.pth")
    assert str(raised.value) == textwrap.dedent("""\
        net-1.pth does not fit Sequential (9 weights):
        1 missing:
          3.weight
        1 unexpected:
          3.weights (nearest: 3.weight)
        1 of another shape:
          0.bias is (7,); expected (4,)""")
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_counters_missing_in_older_checkpoints_are_zero(state):
    with torch.device("meta"):
        network = build()
    weights.fit_weights(network, {name: value for name, value in state.items() if "num_batches" not in name})
    assert network[1].num_batches_tracked.item() == 0
    assert str(network[1].num_batches_tracked.device) == "cpu"


def test_half_precision_is_widened(state):
    halves = {name: value.half() if value.is_floating_point() else value for name, value in state.items()}
    assert weights.fit_weights(build(), halves)[0].weight.dtype == torch.float32
