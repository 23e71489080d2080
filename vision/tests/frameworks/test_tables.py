import dataclasses

import numpy as np
import pytest
import torch
import transformers

from brainscore_core.testing.synthetic import make_stimulus_set
from brainscore_vision.catalogue.model_tables import published_rows
from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper
from brainscore_vision.model_helpers.activations.wrappers.outputs import first_tensor
from brainscore_vision.model_helpers.adapters.libraries import LIBRARIES, Library
from brainscore_vision.model_helpers.tables import _load
from brainscore_vision.testing.proofs.tables import constant_weights, put_checkpoint

ROWS = {library: [row for row in published_rows().values() if row.library == library] for library in LIBRARIES}
NARROW = {"embed_dim": [8, 24, 48]}
TOWER = {"hidden_size": 24, "num_attention_heads": 3, "intermediate_size": 24, "num_hidden_layers": 12}
CONFIGURATIONS = {
    "convnextv2-tiny": lambda: transformers.ConvNextV2Config(hidden_sizes=[8, 16, 24, 32]),
    "cvt-13": lambda: transformers.CvtConfig(**NARROW),
    "cvt-21": lambda: transformers.CvtConfig(**NARROW, depth=[1, 4, 16]),
    "cvt-w24": lambda: transformers.CvtConfig(**NARROW, depth=[2, 2, 20]),
    "efficientnet-b7": lambda: transformers.EfficientNetConfig(width_coefficient=0.1, hidden_dim=128),
    "mobilenet_v2": lambda: transformers.MobileNetV2Config(depth_multiplier=0.25),
    "mobilevit": lambda: transformers.MobileViTConfig(),
    "yolos-tiny": lambda: transformers.YolosConfig(**TOWER),
    "clip": lambda: transformers.CLIPVisionConfig(**TOWER),
}  # with the layers, not the widths, of the published ones


def resolvable(row):
    """Return a row that builds in a moment: the layers of all RegNets have the same names."""
    return dataclasses.replace(
        row, source=row.source.replace("regnet_y_128gf.IMAGENET1K_SWAG_E2E_V1", "regnet_y_400mf")
    )


@pytest.mark.parametrize(("library", "known", "mapped"), [("timm", 75, 72), ("torchvision", 25, 22)])
def test_rows_load_and_give_the_layers_that_they_name(library, known, mapped, mirror, monkeypatch, tmp_path):
    """The whole way from a row to its layers on the device ``meta``: shapes without values."""
    monkeypatch.setenv("BRAINSCORE_DEVICE", "meta")
    networks = {}

    def untrained(self, name, arguments):
        def build(_=None):
            if name not in networks:
                with torch.device("meta" if "regnet_y" not in name else "cpu"):  # it computes its widths
                    networks[name] = network.build()
            return networks[name]

        network = self.find(self._imported(""), name, arguments)
        return dataclasses.replace(network, build=build, fetch=lambda: tmp_path, read=build)

    def without_values(_, output):
        return np.zeros(first_tensor(output).shape, np.float32)

    monkeypatch.setattr(Library, "network", untrained)
    monkeypatch.setattr(PytorchWrapper, "_tensor_to_numpy", classmethod(without_values))
    picture = str(next(iter(make_stimulus_set(tmp_path, 1, identifier="one", size_px=64).stimulus_paths.values())))
    recorded = []
    for row in map(resolvable, ROWS[library]):
        if row.weights:
            put_checkpoint(row, constant_weights(row), mirror)
        model = _load(dataclasses.replace(row, digest=""))
        wrapper = model.activations_model
        layers = {*row.region_layer_map.values(), *row.layers.split(), row.readout} - {""}
        activations = wrapper.get_activations(wrapper._extractor.preprocess([picture]), sorted(layers))
        assert {layer: len(values) for layer, values in activations.items()} == dict.fromkeys(layers, 1)
        if row.region_layer_map:
            assert dict(model.region_layer_map) == row.region_layer_map
            recorded.append(row.identifier)
    assert (len(ROWS[library]), len(recorded)) == (known, mapped)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_rows_of_transformers_load_from_a_hub_and_are_recorded_from(name, mirror, tmp_path):
    rows = [row for row in ROWS["transformers"] if name in row.source]
    assert rows
    classifies = name not in ("yolos-tiny", "clip")
    kind = transformers.AutoModelForImageClassification if classifies else transformers.AutoModel
    network = kind.from_config(CONFIGURATIONS[name]())
    stimuli = make_stimulus_set(tmp_path, 1, identifier="one", size_px=64)
    for row in rows:
        network.save_pretrained(mirror / "huggingface.co" / row.source.partition(":")[2] / "resolve/main")
        model = _load(row)
        layers = sorted({*row.region_layer_map.values(), row.readout} - {""} or {model.layers[-1]})
        model.activations_model.check_layers(layers)
    activity = model.activations_model(stimuli, layers=layers)  # of the last: all have the same layers
    assert set(activity["layer"].values) == set(layers)
    assert np.isfinite(activity.values).all()
