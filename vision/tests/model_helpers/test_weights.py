import hashlib
import os
import textwrap

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
    """Save something where the mirror has the published file; return its digest."""
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


# --- the whole way ----------------------------------------------------------------------------------------------------


def test_a_network_gets_its_weights(publish, state, tmp_path):
    digest = publish(state)
    before = torch.random.get_rng_state()
    network = weights.load_weights(build, pinned(digest))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert not network.training
    assert all(torch.equal(value, state[name]) for name, value in network.state_dict().items())
    assert (tmp_path / "home" / "weights" / digest[:8] / "net-1.pth").is_file()


def test_weights_under_an_entry_with_a_prefix(publish, state):
    wrapped = {"epoch": 43, "state_dict": {f"module.{name}": value for name, value in state.items()}}
    network = weights.load_weights(build, pinned(publish(wrapped), entry="state_dict", prefix="module."))
    assert torch.equal(network[3].weight, state["3.weight"])


def test_other_weights_than_the_published_ones_are_refused(publish, state):
    digest = publish(state)
    publish({**state, "3.bias": state["3.bias"] + 1})
    with pytest.raises(ChecksumError, match=f"expected sha256 {digest}"):
        weights.load_weights(build, pinned(digest))


def test_offline_says_where_to_put_them(publish):
    with pytest.raises(DownloadError, match=r"mirror/weights\.example\.org/models/other\.pth.*BRAINSCORE_OFFLINE=1"):
        weights.fetch_weights(URL.replace("net-1", "other"), "0" * 64)


def test_files_of_one_name_do_not_meet(publish, tmp_path):
    paths = [weights.fetch_weights(URL, publish({"a": torch.zeros(n)})) for n in (1, 2)]
    assert [len(weights.read_checkpoint(path)["a"]) for path in paths] == [1, 2]
    assert weights.fetch_weights(URL, None, tmp_path / "own") == tmp_path / "own" / "net-1.pth"


@pytest.mark.parametrize("url", ["https://example.org", "https://example.org/models/", "https://example.org/%2E%2E"])
def test_an_address_without_a_file(url):
    with pytest.raises(ConfigurationError, match="names no file"):
        weights.fetch_weights(url, "0" * 64)


# --- reading ----------------------------------------------------------------------------------------------------------


def test_reading_runs_nothing(tmp_path):
    trace = tmp_path / "trace"

    class Harmful:
        def __reduce__(self):
            return os.mkdir, (str(trace),)

    torch.save({"weight": Harmful()}, tmp_path / "net.pth")
    with pytest.raises(weights.CheckpointError, match=r"no checkpoint of tensors and plain values alone.*mkdir"):
        weights.read_checkpoint(tmp_path / "net.pth")
    assert not trace.exists()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no archive", b"\x80\x02"])
def test_what_is_no_checkpoint(tmp_path, content):
    path = tmp_path / "net.pth"
    path.write_bytes(content)
    with pytest.raises(CorruptFileError, match=r"net\.pth is damaged or no checkpoint"):
        weights.read_checkpoint(path)


def test_a_page_in_place_of_a_checkpoint(tmp_path):
    (tmp_path / "net.pth").write_bytes(b"<html>Please log in</html>")
    with pytest.raises(weights.CheckpointError, match=r"net\.pth is no checkpoint"):
        weights.read_checkpoint(tmp_path / "net.pth")


def test_a_checkpoint_that_was_cut(tmp_path, state):
    path = tmp_path / "net.pth"
    torch.save(state, path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CorruptFileError, match="damaged"):
        weights.read_checkpoint(path)


def test_an_older_format(tmp_path, state):
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
def test_where_there_are_no_weights(tmp_path, content, entry, message):
    torch.save(content, tmp_path / "net.pth")
    with pytest.raises(weights.CheckpointError, match=message):
        weights.read_checkpoint(tmp_path / "net.pth", entry=entry)


def test_a_prefix_comes_off_only_where_all_have_it(tmp_path):
    torch.save({"module.a": torch.zeros(1), "b": torch.zeros(1)}, tmp_path / "net.pth")
    assert set(weights.read_checkpoint(tmp_path / "net.pth", prefix="module.")) == {"module.a", "b"}


# --- fitting ----------------------------------------------------------------------------------------------------------


def test_all_that_does_not_fit_is_listed_and_nothing_changes(state):
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


def test_counters_that_older_checkpoints_lack_are_zero(state):
    with torch.device("meta"):
        network = build()
    weights.fit_weights(network, {name: value for name, value in state.items() if "num_batches" not in name})
    assert network[1].num_batches_tracked.item() == 0
    assert str(network[1].num_batches_tracked.device) == "cpu"


def test_half_precision_is_widened(state):
    halves = {name: value.half() if value.is_floating_point() else value for name, value in state.items()}
    assert weights.fit_weights(build(), halves)[0].weight.dtype == torch.float32
