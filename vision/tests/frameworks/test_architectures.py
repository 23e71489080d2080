from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from torchvision import models

from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper
from brainscore_vision.testing.proofs.published_networks import build_random, published_instead

TABLES = Path(__file__).parents[1] / "model_helpers" / "architectures" / "state_dicts"
PLUGINS = {"alexnet": "alexnet", "vgg16": "vgg16", "resnet18": "resnet", "resnet34": "resnet", "resnet50": "resnet"}


@pytest.mark.parametrize("name", PLUGINS)
def test_state_dict_tables_match_torchvision(name):
    with torch.device("meta"):
        state = getattr(models, name)().state_dict()
    written = [f"{key} {'x'.join(map(str, value.shape)) or 'scalar'}" for key, value in state.items()]
    assert (TABLES / f"{name}.txt").read_text().splitlines() == written


@pytest.mark.parametrize("name", PLUGINS)
def test_pinned_weights_match_torchvision(name):
    weights = import_module(f"brainscore_vision.models.{PLUGINS[name]}.model").WEIGHTS
    weights = weights[name] if isinstance(weights, dict) else weights
    published = models.get_model_weights(name).IMAGENET1K_V1
    assert weights.url == published.url
    assert weights.sha256.startswith(published.url.rpartition("-")[2].removesuffix(".pth"))


@pytest.mark.parametrize("name", PLUGINS)
def test_layer_activations_match_torchvision(name, tmp_path):
    theirs = build_random(getattr(models, name))
    plugin = import_module(f"brainscore_vision.models.{PLUGINS[name]}.model")
    entry = name if isinstance(plugin.WEIGHTS, dict) else None
    with published_instead(plugin, theirs.state_dict(), tmp_path, entry):
        ours = plugin.get_model(name)
    pictures = np.random.default_rng(0).normal(size=(2, 3, 224, 224)).astype(np.float32)
    layers = [*plugin.get_layers(name), "logits"]
    found = ours.get_activations(pictures, layers)
    reference = PytorchWrapper(theirs, preprocessing=lambda _: pictures, identifier=name)
    expected = reference.get_activations(pictures, layers)
    for layer in layers:
        assert expected[layer].std() > 0
        np.testing.assert_allclose(found[layer], expected[layer], rtol=1e-4, atol=1e-5 * np.abs(expected[layer]).max())
