import dataclasses
import math

import numpy as np
import pytest
import torch
import transformers
from PIL import Image

from brainscore_core.errors import ConfigurationError
from brainscore_core.testing.synthetic import make_stimulus_set
from brainscore_vision.catalogue.model_tables import published_rows, steps_of_pictures
from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper
from brainscore_vision.model_helpers.activations.tensors import first_tensor
from brainscore_vision.model_helpers.adapters.libraries import LIBRARIES, Library
from brainscore_vision.model_helpers.tables import _load, network_of, renamed
from brainscore_vision.model_helpers.weights import CheckpointError
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
}  # with the layers but not the widths of the published ones


def quick_to_build(row):
    """Return a row that is quick to build: all RegNets have the same names of layers."""
    return dataclasses.replace(
        row, source=row.source.replace("regnet_y_128gf.IMAGENET1K_SWAG_E2E_V1", "regnet_y_400mf")
    )


@pytest.mark.parametrize(("library", "known", "mapped"), [("timm", 75, 72), ("torchvision", 25, 22)])
def test_rows_load_and_have_the_layers_that_they_name(library, known, mapped, mirror, monkeypatch, tmp_path):
    """Go all the way from a row to its layers, on the device ``meta``: shapes without values."""
    monkeypatch.setenv("BRAINSCORE_DEVICE", "meta")
    networks = {}

    def untrained(self, name, arguments):
        def build(_=None):
            if name not in networks:
                with torch.device("meta" if "regnet_y" not in name else "cpu"):  # RegNets compute their widths
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
    for row in map(quick_to_build, ROWS[library]):
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


@pytest.mark.parametrize("library", ["timm", "torchvision"])
def test_renaming_rules_of_rows_give_the_names_of_the_network(library, layouts):
    """The same check as in `model_helpers/test_tables.py`."""
    rows = [row for row in ROWS[library] if row.weights]
    for row in rows:
        expected = constant_weights(row).keys()
        (layout,) = [each for each in layouts if each.is_of(row)]
        content = dict.fromkeys([*layout.beside, *map(layout.name, expected)])
        assert renamed(content, row.names).keys() == expected, row.identifier
    assert len(rows) == 15


def save_as_published(mirror, row, layout, misspelt=""):
    """Put random weights where a row looks for them, in its authors' layout; return them."""
    weights = constant_weights(row)
    put_checkpoint(dataclasses.replace(row, names="", entry=""), layout.content(weights, misspelt), mirror)
    return weights


def test_checkpoints_load_from_the_layout_of_their_authors(mirror, published_layout):
    rows = [row for library in ROWS.values() for row in library if published_layout.is_of(row)]
    gram_aligned = [row for row in rows if row.identifier.endswith("_gram_aligned_dinov3")]
    assert len(gram_aligned) in {0, 4}
    for row in gram_aligned or [min(rows, key=lambda row: len(row.identifier))]:
        expected = save_as_published(mirror, row, published_layout)
        network, _ = network_of(dataclasses.replace(row, digest=""))
        assert all(torch.equal(values, expected[name]) for name, values in network.state_dict().items())


def test_mismatch_shows_names_of_both_the_file_and_the_network(mirror, published_layout):
    row = min(
        (row for library in ROWS.values() for row in library if published_layout.is_of(row)),
        key=lambda row: len(row.identifier),
    )

    first = next(iter(constant_weights(row)))
    save_as_published(mirror, row, published_layout, misspelt=published_layout.name(first))
    with pytest.raises(CheckpointError) as raised:
        network_of(dataclasses.replace(row, digest=""))
    message = " ".join(str(raised.value).split())
    assert f"1 missing: {first}" in message
    assert f" {published_layout.name(first)}_ " in message


PROCESSORS = {
    "cvt-13": lambda: transformers.ConvNextImageProcessor(size={"shortest_edge": 224}),
    "cvt-21": lambda: transformers.ConvNextImageProcessor(size={"shortest_edge": 224}),
    "yolos-tiny": lambda: transformers.YolosImageProcessor(size={"shortest_edge": 96, "longest_edge": 128}),
    "clip": lambda: transformers.CLIPImageProcessor(),
}
"""Processors as in the repositories; that of yolos-tiny is smaller."""


def publish_untrained(row, mirror):
    """Put an untrained network where a row's repository is mirrored; return the folder."""
    folder = mirror / "huggingface.co" / row.source.partition(":")[2] / "resolve/main"
    name = next(name for name in CONFIGURATIONS if name in row.source)
    head = {"yolos-tiny": "ForObjectDetection", "clip": ""}.get(name, "ForImageClassification")
    getattr(transformers, f"AutoModel{head}").from_config(CONFIGURATIONS[name]()).save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    "identifier", [row.identifier for row in ROWS["transformers"] if row.pictures.endswith("bicubic, library")]
)
def test_pictures_are_resized_before_an_image_processor(identifier, mirror, ten_files):
    row = published_rows()[identifier]
    processor = next(make for name, make in PROCESSORS.items() if name in row.source)()
    processor.save_pretrained(publish_untrained(row, mirror))
    ours = _load(row).activations_model._extractor.preprocess([str(file) for file in ten_files])
    side = int(steps_of_pictures(row.pictures)["side"])
    for file, values in zip(ten_files, ours, strict=True):
        with Image.open(file) as image:
            resized = image.convert("RGB").resize((side, side))  # bicubic is Pillow's default
        expected = processor(images=resized, return_tensors="pt")["pixel_values"][0].numpy()
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-6, err_msg=file.name)


def test_missing_image_processor_is_reported(mirror):
    row = published_rows()["cvt_cvt-13-224-in1k_4_LucyV4"]
    publish_untrained(row, mirror)
    with pytest.raises(ConfigurationError, match=r"has no image processor saved with its weights"):
        _load(row)


@pytest.mark.parametrize("name", ["mobilenet_v2_1_0_224", "mobilenet_v2_1_4_224"])
def test_background_is_not_a_class(name, mirror):
    row = published_rows()[name]
    whole = transformers.AutoModelForImageClassification.from_config(
        transformers.MobileNetV2Config(depth_multiplier=0.25, num_labels=1001)
    ).eval()
    whole.save_pretrained(mirror / "huggingface.co" / row.source.partition(":")[2] / "resolve/main")
    inputs = torch.rand(1, 3, 64, 64)
    with torch.inference_mode():
        expected, found = whole(inputs).logits[:, 1:], network_of(row)[0](inputs).logits
    assert found.shape == (1, 1000)
    torch.testing.assert_close(found, expected)


def test_padding_of_larger_pictures_is_kept_for_smaller_ones():
    """The expected margins come from a run with larger pictures."""
    row = dataclasses.replace(published_rows()["AdvProp_efficientnet-b2"], weights="random")
    fixed, _ = network_of(row)
    free, _ = network_of(dataclasses.replace(row, padding=""))
    pictures = torch.randn(2, 3, 260, 260, generator=torch.manual_seed(0))
    sides = {}
    strided = [module for module in free.modules() if type(module).__name__ == "Conv2dSame"]
    hooks = [
        module.register_forward_pre_hook(lambda to, given: sides.update({to: given[0].shape[-1]})) for module in strided
    ]
    with torch.inference_mode():
        torch.testing.assert_close(fixed(pictures), free(pictures))
        for hook in hooks:
            hook.remove()
        smaller = pictures[..., :224, :224]
        changed = fixed.forward_features(smaller)
        assert not torch.allclose(changed, free.forward_features(smaller), rtol=1e-3)
        for module in strided:
            kernel, stride, side = module.kernel_size[0], module.stride[0], sides[module]
            margin = next(n for n in range(kernel) if (side + n - kernel) // stride + 1 == math.ceil(side / stride))
            before = margin // 2
            pad = torch.nn.ZeroPad2d((before, margin - before, before, margin - before))
            module.forward = lambda given, module=module, pad=pad: torch.nn.Conv2d.forward(module, pad(given))
        torch.testing.assert_close(changed, free.forward_features(smaller))


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_rows_of_transformers_load_from_a_hub_and_record(name, mirror, tmp_path):
    rows = [row for row in ROWS["transformers"] if name in row.source]
    assert rows
    stimuli = make_stimulus_set(tmp_path, 1, identifier="one", size_px=64)
    for row in rows:
        folder = publish_untrained(row, mirror)
        if row.pictures.endswith("library"):
            PROCESSORS[name]().save_pretrained(folder)
        model = _load(row)
        layers = sorted({*row.region_layer_map.values(), row.readout} - {""} or {model.layers[-1]})
        model.activations_model.check_layers(layers)
    activity = model.activations_model(stimuli, layers=layers)  # only of the last: all have the same layers
    assert set(activity["layer"].values) == set(layers)
    assert np.isfinite(activity.values).all()
