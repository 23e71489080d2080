from __future__ import annotations

from pathlib import Path

import numpy as np
import open_clip
import pytest
import timm
import torch
from PIL import Image
from safetensors.torch import save_file

from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision import load_model
from brainscore_vision.models.timm_models import model

# Counts in timm's file of each network; DINOv2 at 224 pixels has 1 + 16 x 16 embedded positions, not 1 + 37 x 37.
PARAMETERS = {
    "vit_b_16": 86_567_656,
    "convnext_tiny": 28_589_128,
    "clip_vit_b_32": 87_849_728,
    "dinov2_vits14": 22_056_192 - (37**2 - 16**2) * 384,
}
SIZES = {"vit_b_16": 197 * 768, "convnext_tiny": 768 * 7 * 7, "clip_vit_b_32": 50 * 768, "dinov2_vits14": 257 * 384}
CLASSES = {"vit_b_16": 1000, "convnext_tiny": 1000, "clip_vit_b_32": 512, "dinov2_vits14": 384}


@pytest.fixture(scope="module")
def stimuli(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    stimulus_set = StimulusSet({"stimulus_id": ["a", "b"]})
    stimulus_set.stimulus_paths = {name: folder / f"{name}.png" for name in "ab"}
    for seed, name in enumerate("ab"):
        pixels = np.random.default_rng(seed).integers(0, 256, (240, 240, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(stimulus_set.get_stimulus(name))
    return stimulus_set


def random_file(name, path):
    """Write a file of random weights as on the hub, and return the network that has them."""
    torch.manual_seed(0)
    if name == "clip_vit_b_32":
        network = open_clip.create_model("ViT-B-32-quickgelu")
    else:
        network = timm.create_model(model.MODELS[name].architecture, pretrained=False)
    save_file({key: value.contiguous() for key, value in network.state_dict().items()}, path)
    return network.eval()


def test_model_page_lists_parameters_licences_and_layers():
    page = (Path(__file__).parents[3] / "docs/reference/models.md").read_text()
    for name, count in PARAMETERS.items():
        known = model.MODELS[name]
        layers = " | ".join(f"`{layer}`" for layer in known.region_layer_map.values())
        assert f"| `{name}` | {count:,} | timm | {known.weights.licence} | {layers} |" in page


@pytest.mark.parametrize("name", model.get_model_list())
def test_models_load_weights_and_have_the_expected_outputs(name, stimuli, tmp_path, monkeypatch):
    source = random_file(name, tmp_path / "model.safetensors")
    asked = []
    monkeypatch.setattr(model, "fetch_weights", lambda *what: asked.append(what) or tmp_path / "model.safetensors")
    loaded = load_model(name)
    assert asked == [(model.MODELS[name].weights.url, model.MODELS[name].weights.sha256)]
    wrapper = loaded.activations_model
    network = wrapper._model
    assert sum(each.numel() for each in network.parameters()) == PARAMETERS[name]
    assert loaded.identifier == wrapper.identifier == name
    for layer in (*loaded.layers, *loaded.region_layer_map.values()):
        network.get_submodule(layer)
    loaded.start_recording("IT", time_bins=[(70, 170)])
    assert loaded.look_at(stimuli).shape == (2, SIZES[name])
    activations = wrapper(stimuli, layers=[model.MODELS[name].features, "logits"])
    assert activations.sel(neuroid=activations["layer"] == "logits").shape == (2, CLASSES[name])
    if name != "dinov2_vits14":  # its positions are resampled
        images = torch.from_numpy(wrapper._extractor.preprocess([str(stimuli.get_stimulus(each)) for each in "ab"]))
        with torch.no_grad():
            expected = source.encode_image(images) if name == "clip_vit_b_32" else source(images)
        logits = activations.sel(neuroid=activations["layer"] == "logits").values
        np.testing.assert_allclose(logits, expected, rtol=1e-3, atol=1e-4)
