"""Networks by their names in timm, torchvision, open_clip and transformers, from a mirror with random weights."""

from __future__ import annotations

import numpy as np
import open_clip
import pytest
import timm
import torch
import torchvision
import transformers
from PIL import Image
from safetensors.torch import save_file

from brainscore_core.errors import OfflineError
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision import load_model

TINY = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16,
    "image_size": 32, "patch_size": 8,
}  # fmt: skip
RESNET = ["maxpool", "layer1", "layer2", "layer3", "layer4"]


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_MIRROR", str(tmp_path))
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    return tmp_path


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
    patch.setattr(weights.value, "url", "https://download.pytorch.org/models/resnet18.pth")  # states no digest
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


NETWORKS = {
    "timm:resnet18.a1_in1k": (from_timm, ["act1", *RESNET[1:]], "layer4"),
    "torchvision:resnet18": (
        from_torchvision, [f"layer{stage}.{block}" for stage in "1234" for block in "01"], "layer4.1",
    ),
    "open_clip:ViT-B-32/openai": (
        from_open_clip, [f"transformer.resblocks.{block}" for block in range(12)], "visual.transformer.resblocks.11",
    ),
    "transformers:lab/tiny@v1": (from_transformers, ["vit.layers.0", "vit.layers.1"], "vit.layers.1"),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_a_name_stands_for_network_weights_and_preprocessing(name, mirror, stimuli, monkeypatch):
    make, layers, last = NETWORKS[name]
    with pytest.raises(
        OfflineError, match=r"https://.* is not at .*weights.* nor at .*Unset that variable, or put the"
    ):
        load_model(name)
    torch.manual_seed(0)
    network, transform = make(mirror, monkeypatch)
    model = load_model(name)
    assert (model.identifier, model.layers) == (name, layers)
    assert model.visual_degrees() == 8
    wrapper = model.activations_model
    paths = [str(stimuli.get_stimulus(each)) for each in "ab"]
    inputs = torch.stack([transform(Image.open(path).convert("RGB")) for path in paths])
    np.testing.assert_array_equal(wrapper._extractor.preprocess(paths), inputs)
    kept = []
    network.eval().get_submodule(last).register_forward_hook(lambda _module, _inputs, output: kept.append(output))
    with torch.no_grad():
        network.encode_image(inputs) if name.startswith("open_clip") else network(inputs)
    expected = kept[0] if isinstance(kept[0], torch.Tensor) else kept[0][0]
    activity = wrapper(stimuli, layers=layers[-1:])
    np.testing.assert_allclose(activity.values, expected.flatten(1), rtol=1e-4, atol=1e-4)
