"""Networks of libraries have the layers that rows of tables name."""

import dataclasses

import pytest
import torch
import transformers

from brainscore_vision.catalogue.model_tables import published_rows
from brainscore_vision.model_helpers.adapters.libraries import LIBRARIES
from brainscore_vision.testing.proofs.tables import absent_layers

ROWS = {library: [row for row in published_rows().values() if row.library == library] for library in LIBRARIES}
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
