"""The weights of our networks have the names and shapes of the published checkpoints.

The tables in ``state_dicts`` were written from torchvision 0.28 and from the authors' code of CORnet-S;
vision/tests/frameworks/test_architectures.py compares the tables of torchvision with the installed version.
"""

from pathlib import Path

import pytest
import torch

from brainscore_vision.model_helpers.architectures.alexnet import AlexNet
from brainscore_vision.model_helpers.architectures.cornet import CORnetS
from brainscore_vision.model_helpers.architectures.resnet import resnet18, resnet34, resnet50
from brainscore_vision.model_helpers.architectures.vgg import VGG16
from brainscore_vision.model_helpers.weights import fit_weights
from brainscore_vision.testing.proofs.published_networks import build_random

TABLES = Path(__file__).parent / "state_dicts"
NETWORKS = {
    "alexnet": (AlexNet, 61_100_840),
    "vgg16": (VGG16, 138_357_544),
    "resnet18": (resnet18, 11_689_512),
    "resnet34": (resnet34, 21_797_672),
    "resnet50": (resnet50, 25_557_032),
    "cornet_s": (CORnetS, 53_416_616),
}


def published_shapes(name):
    lines = (TABLES / f"{name}.txt").read_text().splitlines()
    return {key: () if shape == "scalar" else tuple(map(int, shape.split("x"))) for key, shape in map(str.split, lines)}


@pytest.mark.parametrize("name", NETWORKS)
def test_names_and_shapes_match_the_published_ones(name):
    build, n_parameters = NETWORKS[name]
    with torch.device("meta"):
        network = build()
    assert {key: tuple(value.shape) for key, value in network.state_dict().items()} == published_shapes(name)
    assert sum(parameter.numel() for parameter in network.parameters()) == n_parameters
    assert network(torch.empty(2, 3, 224, 224, device="meta")).shape == (2, 1000)


def test_every_table_has_a_network():
    assert {path.stem for path in TABLES.glob("*.txt")} == set(NETWORKS)


@pytest.mark.slow
def test_area_of_cornet_matches_its_equation():
    network = build_random(CORnetS)
    area, inputs = network.IT, torch.randn(2, 256, 14, 14, generator=torch.Generator().manual_seed(1))
    functional = torch.nn.functional

    def norm(values, module):
        scale = module.weight / torch.sqrt(module.running_var + 1e-5)
        return (values - module.running_mean[:, None, None]) * scale[:, None, None] + module.bias[:, None, None]

    with torch.no_grad():
        state = functional.conv2d(inputs, area.conv_input.weight)
        for step, stride in ((0, 2), (1, 1)):
            skip = state
            if step == 0:
                skip = norm(functional.conv2d(state, area.skip.weight, stride=2), area.norm_skip)
            hidden = norm(functional.conv2d(state, area.conv1.weight), getattr(area, f"norm1_{step}")).clamp(min=0)
            hidden = functional.conv2d(hidden, area.conv2.weight, stride=stride, padding=1)
            hidden = norm(hidden, getattr(area, f"norm2_{step}")).clamp(min=0)
            hidden = norm(functional.conv2d(hidden, area.conv3.weight), getattr(area, f"norm3_{step}"))
            state = (hidden + skip).clamp(min=0)
        torch.testing.assert_close(area(inputs), state, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(area(inputs), state, rtol=1e-4, atol=1e-4)  # no state remains from the first call


def test_network_on_meta_gets_all_values_from_the_checkpoint():
    state = build_random(resnet18, seed=3).state_dict()
    with torch.device("meta"):
        network = resnet18()
    fit_weights(network, state)
    assert {str(value.device) for value in network.state_dict().values()} == {"cpu"}
    assert all(torch.equal(value, state[name]) for name, value in network.state_dict().items())
