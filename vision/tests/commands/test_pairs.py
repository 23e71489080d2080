from types import SimpleNamespace

import pytest

from brainscore_core.scoring.pairs import Pair
from brainscore_vision.commands.campaign import pairs_of


@pytest.fixture
def facts(tmp_path):
    """Return a function that makes the facts of a public benchmark from metadata."""

    def make(**metadata):
        (tmp_path / "metadata.yml").write_text("".join(f"{key}: {value}\n" for key, value in metadata.items()))
        return {"b": SimpleNamespace(plugin=SimpleNamespace(directory=tmp_path), access="public")}

    return make


@pytest.mark.parametrize(
    ("metadata", "pair"),
    [
        # alexnet states only its memory, 2 GB
        ({}, Pair("alexnet", "b", minutes=5.0, memory_gb=2.0)),
        ({"minutes": 30, "memory_gb": 8, "gpus": 2}, Pair("alexnet", "b", minutes=30.0, memory_gb=8.0, gpus=2)),
        ({"minutes": "long", "memory_gb": -1, "gpus": "yes"}, Pair("alexnet", "b", minutes=5.0, memory_gb=2.0)),
    ],
)
def test_pairs_use_the_resources_that_their_plugins_state(facts, metadata, pair):
    assert pairs_of(["alexnet"], ["b"], facts(**metadata)) == [pair]


def test_metadata_are_read_again_after_a_change(facts):
    minutes = [pairs_of(["alexnet"], ["b"], facts(minutes=minutes))[0].minutes for minutes in (30, 40)]
    assert minutes == [30, 40]


def test_unknown_benchmark_counts_as_private():
    (pair,) = pairs_of(["no-such-model"], ["b"], {})
    assert pair == Pair("no-such-model", "b", private=True)
