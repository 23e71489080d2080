from __future__ import annotations

import json
from collections import Counter

import numpy as np
import open_clip
import pytest
import timm
import torch
import torchvision
import transformers
from PIL import Image
from safetensors.torch import save_file

from brainscore_core.errors import ChecksumError, ConfigurationError, OfflineError, UnknownIdentifierError
from brainscore_core.identity.digest import file_digest
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision import load_model
from brainscore_vision.catalogue.completion import complete_model
from brainscore_vision.loading import known_identifiers
from brainscore_vision.model_helpers.adapters import libraries
from brainscore_vision.model_helpers.adapters.libraries import load
from brainscore_vision.model_helpers.weights import CheckpointError

TINY = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16,
    "image_size": 32, "patch_size": 8,
}  # fmt: skip
RESNET = ["maxpool", "layer1", "layer2", "layer3", "layer4"]


@pytest.fixture
def stimuli(tmp_path):
    stimulus_set = StimulusSet({"stimulus_id": ["a", "b"]})
    stimulus_set.stimulus_paths = {name: tmp_path / f"{name}.png" for name in "ab"}
    for seed, name in enumerate("ab"):
        pixels = np.random.default_rng(seed).integers(0, 256, (240, 300, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(stimulus_set.get_stimulus(name))
    return stimulus_set


def from_timm(mirror, _):
    network = timm.create_model("resnet18")
    put(mirror, network, "huggingface.co/timm/resnet18.a1_in1k/resolve/main/model.safetensors")
    return network, timm.data.create_transform(**timm.data.resolve_model_data_config(network), is_training=False)


def from_torchvision(mirror, patch):
    network, weights = torchvision.models.resnet18(), torchvision.models.ResNet18_Weights.IMAGENET1K_V1
    patch.setattr(weights.value, "url", "https://download.pytorch.org/models/resnet18.pth")  # the name states no digest
    put(mirror, network, "download.pytorch.org/models/resnet18.pth")
    return network, weights.transforms()


def from_open_clip(mirror, _):
    network, _, transform = open_clip.create_model_and_transforms("ViT-B-32-quickgelu")
    repository = "huggingface.co/timm/vit_base_patch32_clip_224.openai"
    put(mirror, network, f"{repository}/resolve/main/open_clip_model.safetensors")
    return network, transform


def from_transformers(mirror, _):
    network = transformers.ViTForImageClassification(transformers.ViTConfig(**TINY))
    processor = transformers.ViTImageProcessor(size={"height": 32, "width": 32})
    folder = mirror / "huggingface.co/lab/tiny/resolve/v1"
    network.save_pretrained(folder)
    processor.save_pretrained(folder)
    return network, lambda picture: processor(images=picture, return_tensors="pt")["pixel_values"][0]


def put(mirror, network, path):
    path = mirror / path
    path.parent.mkdir(parents=True, exist_ok=True)
    state = {name: value.contiguous() for name, value in network.state_dict().items()}
    save_file(state, path) if path.suffix == ".safetensors" else torch.save(state, path)


BLOCKS = [f"layer{stage}.{block}" for stage in "1234" for block in "01"]
TOWER = [f"transformer.resblocks.{block}" for block in range(12)]
TWO = ["vit.layers.0", "vit.layers.1"]
NETWORKS = {
    "timm:resnet18.a1_in1k": (from_timm, ["act1", *RESNET[1:]], RESNET[1:], ""),
    "torchvision:resnet18": (from_torchvision, BLOCKS, BLOCKS[1::2], ""),
    "open_clip:ViT-B-32/openai": (from_open_clip, TOWER, TOWER[2::3], "visual."),
    "transformers:lab/tiny@v1": (from_transformers, TWO, [TWO[0], TWO[0], TWO[1], TWO[1]], ""),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_name_loads_network_weights_and_preprocessing(name, mirror, stimuli, monkeypatch):
    make, layers, regions, prefix = NETWORKS[name]
    with pytest.raises(
        OfflineError, match=r"https://.* is not at .*weights.* nor at .*Unset that variable, or put the"
    ):
        load_model(name)
    torch.manual_seed(0)
    network, transform = make(mirror, monkeypatch)
    model = load_model(name)
    assert (model.identifier, model.layers) == (name, layers)
    assert model.visual_degrees() == 8
    assert dict(model.region_layer_map) == dict(zip(("V1", "V2", "V4", "IT"), regions, strict=True))
    wrapper = model.activations_model
    paths = [str(stimuli.get_stimulus(each)) for each in "ab"]
    inputs = torch.stack([transform(Image.open(path).convert("RGB")) for path in paths])
    np.testing.assert_array_equal(wrapper._extractor.preprocess(paths), inputs)
    kept = []
    network.eval().get_submodule(prefix + layers[-1]).register_forward_hook(
        lambda _module, _inputs, output: kept.append(output)
    )
    with torch.no_grad():
        network.encode_image(inputs) if name.startswith("open_clip") else network(inputs)
    expected = kept[0] if isinstance(kept[0], torch.Tensor) else kept[0][0]
    activity = wrapper(stimuli, layers=layers[-1:])
    np.testing.assert_allclose(activity.values, expected.flatten(1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("timm:resnet18.a1_in2k", r"timm has no network 'resnet18\.a1_in2k' with weights .*mean .*'resnet18\.a1_in1k'"),
        ("timm:", "timm has no network '' with weights"),
        ("torchvision:resnet18.IMAGENET1K_V9", r"Did you mean 'resnet18\.IMAGENET1K_V1'"),
        ("open_clip:ViT-B-32/opnai", "Did you mean .*'ViT-B-32/openai'"),
        ("transformers:../../etc/passwd", "not a repository of the hub; expected owner/repository"),
        ("tim:resnet18", r"start with 'tim:'; expected open_clip:, timm:, .* Did you mean 'timm:'\?"),
    ],
)
def test_misspelled_names_get_suggestions(name, said, mirror):
    with pytest.raises(UnknownIdentifierError, match=said):
        load_model(name)


def test_names_are_listed_without_the_network(mirror):
    names = [name for name in known_identifiers("model", schemes=True) if ":" in name]
    counts = Counter(name.partition(":")[0] for name in names)
    assert counts["timm"] > 1_600
    assert min(counts["torchvision"], counts["open_clip"]) > 100
    assert complete_model("timm") == ["timm:"]  # completing the rest would import the library
    assert not any(name.startswith(("timm:", "torchvision:", "open_clip:")) for name in known_identifiers("model"))


def test_checkpoint_of_other_shapes_is_refused(mirror, monkeypatch, tmp_path):
    put(mirror, timm.create_model("resnet34"), "huggingface.co/timm/resnet18.a1_in1k/resolve/main/model.safetensors")
    with pytest.raises(CheckpointError, match=r"does not fit timm:resnet18\.a1_in1k: Unexpected key"):
        load_model("timm:resnet18.a1_in1k")
    narrow = timm.create_model("resnet18", num_classes=7)
    with pytest.raises(CheckpointError, match=r"fc\.weight is \(7, 512\); expected \(1000, 512\)"):
        load("timm:resnet18.a1_in1k", weights=narrow.state_dict())
    from_transformers(mirror, None)
    configuration = mirror / "huggingface.co/lab/tiny/resolve/v1/config.json"
    configuration.write_text(json.dumps({**json.loads(configuration.read_text()), "num_hidden_layers": 3}))
    with pytest.raises(CheckpointError, match=r"does not fit transformers:lab/tiny@v1: vit\.layers\.2\."):
        load_model("transformers:lab/tiny@v1")


def test_weights_that_differ_from_the_first_download_are_refused(mirror, monkeypatch, own_homes):
    from_torchvision(mirror, monkeypatch)
    load_model("torchvision:resnet18")
    kept = next(path for path in own_homes.rglob("resnet18.pth"))
    first = file_digest(kept, "sha256")
    kept.unlink()
    from_torchvision(mirror, monkeypatch)
    with pytest.raises(ChecksumError, match=f"fetched first: sha256 is [0-9a-f]+, but .* has {first}"):
        load_model("torchvision:resnet18")


def test_network_too_large_for_memory_is_refused_before_download(mirror, monkeypatch):
    monkeypatch.setattr(libraries, "available_memory", lambda: 24 * 10**9)
    with pytest.raises(
        ConfigurationError, match=r"has 4,\d{3},\d{3},\d{3} parameters: loading it takes 3\d GB .* has 24 GB"
    ):
        load_model("timm:eva02_enormous_patch14_clip_224")
    monkeypatch.setattr(libraries, "available_memory", lambda: 10**9)
    with pytest.raises(ConfigurationError, match=r"convnext_xxlarge:clip\S+ has 846,471,016 parameters"):
        load_model("convnext_xxlarge:clip_laion2b_soup_ft_in1k")


def test_table_row_overrides_layers_size_and_weights(mirror):
    network = torchvision.models.resnet18(num_classes=7)
    model = load(
        "torchvision:resnet18.IMAGENET1K_V1",
        identifier="mine",
        region_layer_map={"IT": "layer4"},
        image_size=64,
        weights=network.state_dict(),
        arguments={"num_classes": 7},
    )
    assert (model.identifier, dict(model.region_layer_map)) == ("mine", {"IT": "layer4"})
    assert model.activations_model._extractor.preprocess([]).shape == (0, 3, 64, 64)
