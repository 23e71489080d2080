"""Networks of libraries have the layers that rows name, and load from a mirror with weights made at random."""

import dataclasses

import pytest
import torch
import torchvision
import transformers

from brainscore_vision.catalogue.model_tables import published_rows
from brainscore_vision.model_helpers.adapters.libraries import LIBRARIES
from brainscore_vision.model_helpers.tables import builder_of, network_of
from brainscore_vision.testing.proofs.tables import absent_layers, constant_weights, put_checkpoint

ROWS = {library: [row for row in published_rows().values() if row.library == library] for library in LIBRARIES}
LARGEST = 100_000_000  # parameters
CONFIGURATIONS = {
    "convnextv2-tiny": lambda: transformers.ConvNextV2Config(),
    "cvt-13": lambda: transformers.CvtConfig(),
    "cvt-21": lambda: transformers.CvtConfig(depth=[1, 4, 16]),
    "cvt-w24": lambda: transformers.CvtConfig(depth=[2, 2, 20]),
    "efficientnet-b7": lambda: transformers.EfficientNetConfig(),
    "mobilenet_v2": lambda: transformers.MobileNetV2Config(),
    "yolos-tiny": lambda: transformers.YolosConfig(),
}  # with the layers, not the widths of the published ones


def resolvable(row):
    """Return a row that builds in a moment: the layers of all RegNets have the same names."""
    return dataclasses.replace(
        row, source=row.source.replace("regnet_y_128gf.IMAGENET1K_SWAG_E2E_V1", "regnet_y_400mf")
    )


@pytest.mark.parametrize(("library", "least"), [("timm", 75), ("torchvision", 25)])
def test_layers_exist(library, least):
    assert len(ROWS[library]) >= least
    assert absent_layers([resolvable(row) for row in ROWS[library]]) == []


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_layers_of_transformers_exist(name):
    classifies = name != "yolos-tiny"
    kind = transformers.AutoModelForImageClassification if classifies else transformers.AutoModel
    with torch.device("meta"):
        names = {layer for layer, _ in kind.from_config(CONFIGURATIONS[name]()).named_modules()}
    rows = [row for row in ROWS["transformers"] if name in row.source]
    assert rows
    for row in rows:
        assert set(row.region_layer_map.values()) <= names, row.identifier


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    return tmp_path / "mirror"


def size_of(row):
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in builder_of(resolvable(row))[0]().parameters())


@pytest.mark.slow
@pytest.mark.parametrize(("library", "least"), [("timm", 30), ("torchvision", 20)])
def test_rows_load_from_a_mirror(mirror, monkeypatch, library, least):
    loaded = 0
    for row in ROWS[library]:
        if "regnet" in row.source or size_of(row) > LARGEST:
            continue
        place = dataclasses.replace(row, digest="")
        if not row.weights:
            name = row.source.partition(":")[2]
            address = f"hub:timm/{name}@main/pytorch_model.bin"
            if library == "torchvision":
                address = f"https://download.pytorch.org/models/{name}.pth"  # states no digest
                architecture, _, tag = name.partition(".")
                monkeypatch.setattr(torchvision.models.get_model_weights(architecture)[tag].value, "url", address)
            place = dataclasses.replace(place, weights=address)
        state = constant_weights(row)
        put_checkpoint(place, state, mirror)
        network, _ = network_of(dataclasses.replace(row, digest=""))
        last = list(network.state_dict())[-1]
        assert torch.equal(network.state_dict()[last], state[last]), row.identifier
        loaded += 1
    assert loaded >= least
