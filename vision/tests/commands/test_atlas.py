"""The commands ``atlas`` and ``choose-layers``, on simulated recordings and a network defined in a file."""

import json

import pytest

from brainscore_vision import load_model
from brainscore_vision.__main__ import main
from brainscore_vision.model_helpers.brain_transformation.layer_atlas import LayerAtlas

NETWORK = """
import torch
from torch import nn


def network():
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 8, 5, stride=2), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(1568, 4))


def inside():
    return nn.Sequential(network())
"""


@pytest.fixture
def network(tmp_path):
    (tmp_path / "some_network.py").write_text(NETWORK)
    return tmp_path / "some_network.py"


@pytest.mark.slow
@pytest.mark.usefixtures("shared_caches")
def test_atlas_prints_the_table_and_draws(network, tmp_path, capsys):
    files = [str(tmp_path / name) for name in ("atlas.svg", "atlas.png", "atlas.json")]
    options = ["--preprocessing", "imagenet-64", "--layers", "0", "1", "2", "4", "--output", *files]
    assert main(["atlas", f"{network}:network", "--benchmarks", "SimulatedCortex2026.V1-pls", *options]) == 0
    printed = capsys.readouterr()
    (choice,) = json.loads((tmp_path / "atlas.json").read_text())["regions"]
    for each in choice["scores"][:3]:
        assert f"{each['score']:.3f} ± {each['error']:.3f}" in printed.out
    assert choice["scores"][3]["score"] is None  # 4 units, and PLS has 25 components
    assert "4 on V1: " in printed.out
    assert "(SIMULATED measurements)" in printed.out
    assert f"nested cross-validation {choice['nested_score']:.3f}" in printed.out
    assert "SimulatedCortex2026.V1-pls" in (tmp_path / "atlas.svg").read_text()
    assert (tmp_path / "atlas.png").stat().st_size > 10_000
    assert all(name in printed.err for name in files)


@pytest.mark.slow
@pytest.mark.usefixtures("shared_caches")
def test_chosen_layers_are_saved_in_the_plugin_folder(tmp_path, monkeypatch, capsys):
    plugin = tmp_path / "models/small_network"
    plugin.mkdir(parents=True)
    (plugin / "__init__.py").write_text(f"""{NETWORK}
from brainscore_vision import model_registry
from brainscore_vision.model_helpers.adapters import as_brain_model
model_registry["a/small:network"] = lambda: as_brain_model(
    network(), identifier="a/small:network", preprocessing="imagenet-64", layers=["0", "2"])
""")
    monkeypatch.setenv("BRAINSCORE_PLUGINS", str(tmp_path))
    assert main(["choose-layers", "a/small:network", "--benchmarks", "SimulatedCortex2026.V1-pls"]) == 0
    (choice,) = LayerAtlas.read(plugin / "layer_atlas/a%2Fsmall%3Anetwork.json").regions
    assert json.loads((plugin / "region_layer_map/a%2Fsmall%3Anetwork.json").read_text()) == {"V1": choice.layer}
    assert choice.layer == max(choice.scores, key=lambda score: score.score).layer
    layers = load_model("a/small:network").region_layer_map
    assert layers["V1"] == choice.layer
    assert layers.origin("V1")["from"] == "file"
    assert main(["choose-layers", "a/small:network", "a/smal:network"]) == 2
    assert "Did you mean 'a/small:network'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["absent-model"], "absent-model"),
        (["pixels", "--benchmarks", "SimulatedCortex2026.V1-plz"], "SimulatedCortex2026.V1-pls"),
    ],
)
def test_wrong_names_are_usage_errors(arguments, said, capsys):
    assert main(["atlas", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_error_for_an_unknown_layer_suggests_a_name(network, capsys):
    options = ["--preprocessing", "imagenet-64", "--benchmarks", "SimulatedCortex2026.V1-pls"]
    assert main(["atlas", f"{network}:inside", *options, "--layers", "0.00"]) == 1
    assert "Did you mean '0.0'" in capsys.readouterr().err
