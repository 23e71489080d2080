import tomllib
from pathlib import Path

import pytest

import brainscore_vision
from brainscore_core.errors import UnknownIdentifierError
from brainscore_core.plugin_management.index import PluginIndex, library_roots
from brainscore_core.plugin_management.registry import KINDS
from brainscore_core.statistics.averages import Estimate, average_tree
from brainscore_vision import hierarchy, load_benchmark


def test_path_starts_at_the_root():
    assert hierarchy.path_to(hierarchy.ROOT) == ("average_vision",)
    assert hierarchy.path_to("V1-orientation") == ("average_vision", "neural", "V1", "V1-orientation")
    assert hierarchy.path_to("behavior") == ("average_vision", "behavior")


def test_every_node_is_below_the_root():
    listed = tomllib.loads(Path(hierarchy.__file__).with_name("hierarchy.toml").read_text())
    assert hierarchy.nodes() == [hierarchy.ROOT, *listed]
    for node, above in listed.items():
        assert hierarchy.path_to(node) == (*hierarchy.path_to(above), node)
        assert node in hierarchy.children(above)


def test_children_of_root_and_regions():
    assert hierarchy.children(hierarchy.ROOT) == ["neural", "behavior", "engineering"]
    assert hierarchy.children("neural")[:4] == ["V1", "V2", "V4", "IT"]
    assert hierarchy.children("V1-orientation") == []


def test_error_for_an_unknown_node_suggests_a_name():
    with pytest.raises(UnknownIdentifierError, match=r"no node 'behaviour'.*Did you mean 'behavior'.*hierarchy\.toml"):
        hierarchy.path_to("behaviour")
    with pytest.raises(UnknownIdentifierError, match="no node 'V3'"):
        hierarchy.children("V3")


def test_averages_weight_sibling_nodes_equally():
    """Sibling nodes count equally, whatever their number of benchmarks; nodes without benchmarks do not count."""
    above = hierarchy.parents({"a": "V1", "b": "V1", "c": "IT", "d": "behavior", "alone": None})
    assert "alone" not in above
    assert "engineering" not in above
    scores = {name: Estimate(value, 0.1) for name, value in {"a": 0.2, "b": 0.4, "c": 0.5, "d": 0.6}.items()}
    averages = {node: each.value for node, each in average_tree(scores, above).items()}
    assert averages == pytest.approx({"V1": 0.3, "IT": 0.5, "neural": 0.4, "behavior": 0.6, hierarchy.ROOT: 0.5})


@pytest.fixture(scope="module")
def parents():
    """Return the parent of every benchmark that ships; building them loads no data."""
    shipped = (Path(__file__).parent / "shipped_plugins.txt").read_text().split()
    return {
        identifier: load_benchmark(identifier).parent
        for plugin in PluginIndex(library_roots(brainscore_vision.__name__)).plugins("benchmarks")
        if f"benchmarks/{plugin.name}" in shipped
        for identifier in plugin.identifiers(KINDS["benchmark"])
    }


def test_every_parent_is_in_the_tree(parents):
    assert len(parents) > 280
    for parent in set(parents.values()) - {None}:
        assert hierarchy.path_to(parent)[0] == hierarchy.ROOT


def test_every_node_has_a_benchmark_below_it(parents):
    reached = {node for parent in set(parents.values()) - {None} for node in hierarchy.path_to(parent)}
    assert set(hierarchy.nodes()) - reached == set()
