"""`fixtures/peer_models.py`, which compares models with published ones, draws, saves and compares as documented."""

import importlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from brainscore_vision.catalogue.model_tables import Row, published_rows
from brainscore_vision.model_helpers.tables import renamed

FIXTURES = Path(__file__).parent / "fixtures"
ROWS = list(published_rows().values())


@pytest.fixture
def peer_models(monkeypatch):
    monkeypatch.syspath_prepend(str(FIXTURES))
    return importlib.import_module("peer_models")


def test_rows_drawn_with_a_seed_are_reproducible(peer_models):
    drawn, again, other = (peer_models.draw(ROWS, seed) for seed in (37, 37, 38))
    assert drawn == again
    assert drawn != other
    assert max(Counter(row.identifier for row in drawn).values()) == 1


@pytest.mark.parametrize("seed", [37, 1])
def test_drawn_rows_include_each_loader_layout_and_kind(peer_models, seed):
    drawn = peer_models.draw(ROWS, seed)
    assert len(drawn) == peer_models.COUNT
    loadable = [row for row in ROWS if not row.reason]
    assert {*map(peer_models.loader, drawn)} == {*map(peer_models.loader, loadable)}
    assert {(row.entry, row.names) for row in drawn} == {(row.entry, row.names) for row in loadable}
    assert [kind for kind, fits in peer_models.KINDS.items() if not any(map(fits, drawn))] == []


@pytest.mark.parametrize("name", ["ReAlnet01", "imagenet_l2_3_0", "eMMCR_Mom_lmda_01_1", "AlexNet_SIN", "CORnet-S"])
def test_rows_read_checkpoints_of_the_published_layout(peer_models, name):
    row = published_rows()[name]
    state = {name: torch.rand(2) for name in ("features.0.weight", "layer1.0.conv1.weight", "fc.bias")}
    content = importlib.import_module("peer_models_files").checkpoint_of(row, state)
    for key in row.entry.partition("|")[0].split("/") if row.entry else ():
        content = content[key]
    found = renamed(content, row.names)
    assert found.keys() == state.keys()
    assert all(torch.equal(found[name], state[name]) for name in state)


def test_random_weights_are_distinct_with_positive_variances(peer_models):
    state = {"bn.running_var": torch.zeros(50), "conv.weight": torch.zeros(5, 4, 3, 3), "bn.count": torch.tensor(3)}
    weights = importlib.import_module("peer_models_files").random_weights(state, 1)
    assert weights["bn.running_var"].min() > 0
    assert len(weights["conv.weight"].unique()) == 5 * 4 * 3 * 3
    assert weights["bn.count"] == 3


@pytest.mark.parametrize(
    ("address", "other"),
    [
        ("s3://lab/nets/net.pth?version=null", "https://lab.s3.us-east-2.amazonaws.com/nets/net.pth"),
        (
            "https://drive.usercontent.google.com/download?id=1uSpR1uVQkyW6wUY9DM6XbXNbhdW89cOc&confirm=t",
            "https://drive.google.com/file/d/1uSpR1uVQkyW6wUY9DM6XbXNbhdW89cOc/view?usp=sharing",
        ),
        ("s3://lab/nets//net.pth", "s3://lab/nets/net.pth"),
    ],
)
def test_two_addresses_of_a_file_are_recognised(peer_models, address, other):
    same_place = importlib.import_module("peer_models_published").same_place
    assert same_place(address) == same_place(other)
    assert same_place(address) != same_place(other.replace("net", "nut").replace("1uS", "1uT"))


def save_recordings(folder, name, **changed):
    arrays = {"inputs": np.zeros((1, 3, 2, 2)), "layer a": np.arange(1.0, 5), "outputs": np.arange(6.0)[None]}
    np.savez(folder / f"{name}.npz", **arrays | {key.replace("_", " "): values for key, values in changed.items()})
    return {"regions": {"IT": "a"}, "layers": ["a"], "readout": ["a"], "degrees": 8}


def test_equal_recordings_have_no_problems(peer_models, tmp_path):
    here, published = save_recordings(tmp_path, "ours"), save_recordings(tmp_path, "published")
    result = peer_models.compare(Row(identifier="net"), tmp_path, here, published)
    assert (result.inputs, result.layers, result.problems) == (0, 0, [])


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"inputs": np.full((1, 3, 2, 2), 2e-6)}, "inputs differ by 2.0e-06"),
        ({"layer_a": np.array([1, 2, 3, 4.001])}, "IT 0, a here and a published: 2.5e-04 of the largest"),
        ({"outputs": np.arange(6.0)[None, ::-1]}, "the five highest outputs differ"),
    ],
)
def test_differences_are_problems(peer_models, tmp_path, changed, problem):
    here, published = save_recordings(tmp_path, "ours", **changed), save_recordings(tmp_path, "published")
    assert problem in peer_models.compare(Row(identifier="net"), tmp_path, here, published).problems


def test_different_commitments_are_problems(peer_models, tmp_path):
    here, published = save_recordings(tmp_path, "ours"), save_recordings(tmp_path, "published")
    published = {**published, "degrees": 7, "regions": {"V4": "a"}}
    assert peer_models.compare(Row(identifier="net"), tmp_path, here, published).problems == [
        "degrees are 8 here and 7 published",
        "layers are of IT 0, readout 0 here and of V4 0, readout 0 published",
    ]
