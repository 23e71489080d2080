import re
from pathlib import Path

import pytest

from brainscore_core.plugin_management.index import PluginIndex, library_roots
from brainscore_core.plugin_management.registry import KINDS
from brainscore_vision import load_benchmark
from brainscore_vision.catalogue.facts import benchmark_facts
from brainscore_vision.testing.data import registered_files

PUBLISHED = [line.split(" ") for line in (Path(__file__).parent / "published_identifiers.txt").read_text().splitlines()]
FOLDERS = sorted({folder for kind, folder, *_ in PUBLISHED if kind == "benchmarks"})
REGISTRIES = {"benchmarks": ["benchmark"], "data": ["data", "stimulus_set"], "metrics": ["metric"]}


@pytest.mark.parametrize(("kind", "n_published"), {"benchmarks": 289, "data": 224, "metrics": 47}.items())
def test_published_identifiers_are_registered(kind, n_published):
    """The lists contain the identifiers of brainscore-vision 2.4.2; its models are in `published_models.txt`."""
    index = PluginIndex(library_roots("brainscore_vision"))
    found = {
        (plugin.directory.name, identifier)
        for plugin in index.plugins(kind)
        for registry in REGISTRIES[kind]
        for identifier in plugin.identifiers(KINDS[registry])
    }
    wanted = {(folder, identifier) for each, folder, identifier, *_ in PUBLISHED if each == kind}
    assert len(wanted) == n_published
    assert sorted(wanted - found) == []


def test_data_plugins_register_the_published_files():
    published = (Path(__file__).parent / "published_files.txt").read_text().splitlines()
    plugins = sorted({line.split(" ")[0] for line in published})
    assert [f"{plugin} {line}" for plugin in plugins for line in registered_files(plugin)] == published


@pytest.mark.parametrize("folder", FOLDERS)
def test_published_benchmarks_are_built_without_data(folder, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    for kind, its_folder, identifier, *version_and_parent in PUBLISHED:
        if (kind, its_folder) == ("benchmarks", folder):
            benchmark = load_benchmark(identifier)
            assert benchmark.identifier == identifier
            assert [str(benchmark.version), str(benchmark.parent)] == version_and_parent
            assert re.match(r"@\w+\{.*\btitle\s*=", benchmark.bibtex, re.DOTALL | re.IGNORECASE)


def test_averages_have_only_the_published_leaves():
    """Simulated and example benchmarks also have parents, but the leaderboard keeps them out of its averages."""
    published = {name for kind, _, name, *rest in PUBLISHED if kind == "benchmarks" and rest[-1] != "None"}
    shipped = (Path(__file__).parent / "shipped_plugins.txt").read_text().split()
    index = PluginIndex(library_roots("brainscore_vision"))
    ours = [plugin for plugin in index.plugins("benchmarks") if f"benchmarks/{plugin.name}" in shipped]
    identifiers = {identifier for plugin in ours for identifier in plugin.identifiers(KINDS["benchmark"])}
    leaves = {facts.identifier for facts in benchmark_facts() if facts.parent} & identifiers
    assert len(published) > 200
    assert published <= leaves
    assert sorted({name.partition(".")[0].partition("-")[0] for name in leaves - published}) == ["SimulatedCortex2026"]
