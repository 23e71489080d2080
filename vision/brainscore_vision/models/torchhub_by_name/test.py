import zipfile

import numpy as np
import pytest
import torch

from brainscore_core.config import settings
from brainscore_core.errors import ChecksumError, OfflineError, UnknownIdentifierError
from brainscore_vision import load_model

HUBCONF = """
import torch

def small(pretrained=False):
    torch.manual_seed(0)
    network = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Conv2d(3, 3, 3), torch.nn.ReLU()) for _ in range(2)))
    if pretrained:
        url = "https://example.org/weights/small.pth"
        network.load_state_dict(torch.hub.load_state_dict_from_url(url))
    return network

def trained(progress=True, **arguments):
    return small(True, **arguments)
"""


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_MIRROR", str(tmp_path))
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    monkeypatch.setenv("BRAINSCORE_TRUST_REPO", "1")
    archive = tmp_path / "github.com/lab/networks/archive/v1.zip"
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w") as content:
        content.writestr("networks-1/hubconf.py", HUBCONF)
    (tmp_path / "example.org/weights").mkdir(parents=True)
    return tmp_path


def save(mirror, value):
    weights = {f"{block}.0.{name}": torch.full(shape, value) for block in "01" for name, shape in SHAPES.items()}
    torch.save(weights, mirror / "example.org/weights/small.pth")


SHAPES = {"weight": (3, 3, 3, 3), "bias": (3,)}


def test_code_and_weights_must_match_the_first_download(mirror):
    name = "torchhub:lab/networks:v1:small"
    with pytest.raises(OfflineError, match=r"https://example\.org/weights/small\.pth is not at .*weights/\w{16}/small"):
        load_model(name)
    save(mirror, 0.5)
    model = load_model(name)
    assert (model.identifier, model.layers) == (name, ["0", "1"])
    pictures = np.ones((1, 3, 8, 8), dtype=np.float32)
    np.testing.assert_allclose(model.activations_model.get_activations(pictures, ["0"])["0"], 27 * 0.5 + 0.5)
    assert torch.hub._hub_dir is None  # noqa: SLF001 - restored
    save(mirror, 0.25)
    load_model("torchhub:lab/networks:v1:trained")  # its entry takes no `pretrained`; the first download is kept
    (kept,) = settings().home.rglob("small.pth")
    kept.unlink()
    with pytest.raises(
        ChecksumError, match=r"differs from the file that was fetched first: sha256 is \w{64}, but .* has"
    ):
        load_model(name)


@pytest.mark.parametrize(
    "name", ["", "networks", "lab/networks", "../networks:small", "lab/..:small", "lab/networks:a:b:c"]
)
def test_malformed_names_are_refused(name):
    with pytest.raises(UnknownIdentifierError, match="owner/repository:entry"):
        load_model(f"torchhub:{name}")
