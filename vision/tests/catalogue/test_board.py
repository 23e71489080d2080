import json
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from brainscore_ci.checks.metadata import read_bibtex
from brainscore_core.errors import ConfigurationError, CorruptFileError
from brainscore_vision import hierarchy
from brainscore_vision.catalogue import board
from brainscore_vision.catalogue.board import board_catalogue
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.records import (
    LayerAtlas,
    LayerScore,
    RegionChoice,
)

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def listing(tmp_path_factory, lend_caches):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BRAINSCORE_HOME", str(lend_caches(tmp_path_factory.mktemp("board"))))
        return board_catalogue()


def test_tree_is_the_hierarchy_plus_engineering_outside_average(listing):
    parents = {node["identifier"]: node.get("parent") for node in listing["nodes"]}
    assert set(parents) == {"average", *hierarchy.nodes()} - {hierarchy.ROOT}
    assert (parents["average"], parents["engineering"], parents["behavior"]) == (None, None, "average")
    assert (parents["V1"], parents["V1-orientation"], parents["ImageNet"]) == ("neural", "V1", "engineering")
    regions = {node["identifier"]: node.get("region") for node in listing["nodes"]}
    assert (regions["IT"], regions["Li2026.V4"], regions["Bracci2019"], regions["neural"]) == ("IT", "V4", None, None)


def test_lists_registered_models_and_benchmarks(listing):
    models = {each["identifier"]: each for each in listing["models"]}
    assert models["efficientnet_lite0"]["plugin"] == "brainscore_vision/models/efficientnet_lite0"
    assert models["efficientnet_lite0"]["licence"] == "MIT AND Apache-2.0"
    assert models["efficientnet_lite0"]["year"] == 2019
    benchmarks = {each["identifier"]: each for each in listing["benchmarks"]}
    assert benchmarks["SimulatedCortex2026.IT-pls"]["simulated"] is True
    assert benchmarks["MajajHong2015.IT-pls"]["parent"] == "IT"
    assert benchmarks["MajajHong2015.IT-pls"]["url"] == "https://doi.org/10.1523/JNEUROSCI.5181-14.2015"
    assert benchmarks["MajajHong2015.IT-pls"]["simulated"] is False
    assert benchmarks["MajajHong2015.IT-pls"]["public"] is False
    assert len(models) == len(listing["models"]) > 8
    assert len(benchmarks) == len(listing["benchmarks"]) > 200


def test_descriptions_concern_models_and_benchmarks_not_plugins(listing):
    models = {entry["identifier"]: entry["description"] for entry in listing["models"]}
    assert models["efficientnet_lite0"] == "EfficientNet-Lite0, a small network trained on ImageNet."
    assert models["gabor_bank"].startswith("A bank of Gabor filters")
    texts = [*models.values(), *(entry["paradigm"] for entry in listing["benchmarks"])]
    assert len(texts) > 200
    assert not [text for text in texts if text.startswith("Register") or "`" in text or not text[:1].isupper()]


def test_metric_description_comes_from_the_metric_plugin(listing):
    """The metric is the one a benchmark loads, or the one in its name or metadata; a few benchmarks have none."""
    benchmarks = {entry["identifier"]: entry for entry in listing["benchmarks"]}
    sentence = benchmarks["Allen2022_fmri.IT-rdm"]["metric"]  # the metric in its name
    assert sentence == "Compare the dissimilarities of stimuli in a model with those in a brain."
    folders = {name: entry["metric_plugin"] for name, entry in benchmarks.items() if "metric" in entry}
    assert folders["Gifford2022.IT-ridge"] == "vision/brainscore_vision/metrics/regression_correlation"  # ridge_split
    assert folders["ImageNet-top1"] == "vision/brainscore_vision/metrics/accuracy"  # its metadata.yml says so
    assert all((ROOT / folder / "__init__.py").is_file() for folder in folders.values())
    own = {name.partition("-")[0] for name in benchmarks if name not in folders}
    assert own == {"Bracci2019_RSA", "Hebart2023", "Hermann2020cueconflict", "tong.Coggan2024_behavior"}


def test_leaderboard_reads_the_listing(listing):
    """The package of the leaderboard is named as a string, because neither package imports the other."""
    catalogue = (
        EntryPoint("", "brainscore_web.leaderboard.catalogue:Catalogue", "").load().from_json(json.dumps(listing))
    )
    assert len(catalogue.models) == len(listing["models"])
    assert catalogue.benchmark["MajajHong2015.IT-pls"].region == "IT"


def test_every_citation_is_bibtex_or_a_reference(listing):
    cited = [each for kind in ("models", "benchmarks") for each in listing[kind]]
    for text in {each["bibtex"] for each in cited if "bibtex" in each}:
        assert read_bibtex(text)
    prose = next(each for each in cited if each["identifier"] == "vit_b_16")
    assert "bibtex" not in prose
    assert prose["reference"].startswith("Steiner et al. (2022)")


def test_listing_contains_the_atlas_of_a_plugin(tmp_path):
    scores = [LayerScore(layer="early", score=0.5, error=0.1), LayerScore(layer="late", score=None, note="constant")]
    unknown = dict.fromkeys(("margin", "margin_interval", "nested_score", "nested_error", "fold_score", "runner_up"))
    choice = RegionChoice(
        region="V1", benchmark="b", simulated=True, scores=scores, layer="early", n_folds=0, n_same=0, seed=0, **unknown
    )
    file = tmp_path / "layer_atlas/m.json"
    assert board._atlas(tmp_path, "m") is None
    file.parent.mkdir()
    file.write_text(LayerAtlas(model="m", layers=["early", "late"], regions=[choice]).to_json())
    listing = board._atlas(tmp_path, "m")
    region = {"region": "V1", "benchmark": "b", "simulated": True, "scores": [0.5, None]}
    assert listing == {"layers": ["early", "late"], "regions": [region]}
    catalogue = EntryPoint("", "brainscore_web.leaderboard.catalogue:Catalogue", "").load()
    content = {"models": [{"identifier": "m", "atlas": listing}], "benchmarks": [], "nodes": []}
    assert catalogue.from_json(json.dumps(content)).model["m"].atlas.regions[0].scores == (0.5, None)
    listing["regions"][0]["scores"] = [0.5]
    with pytest.raises(CorruptFileError, match=r"atlas of 'm' has 1 score for .V1., expected one"):
        catalogue.from_json(json.dumps(content))
    for wrong in ("{", "[]", '{"layers": []}'):
        file.write_text(wrong)
        with pytest.raises(ConfigurationError, match="is not an atlas of layers"):
            board._atlas(tmp_path, "m")


@pytest.mark.parametrize("folder", [".", "vision"])
def test_entry_point_is_the_board_catalogue(folder):
    declared = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]["entry-points"]
    assert EntryPoint("", declared["brainscore.catalogues"]["vision"], "").load() is board_catalogue


def test_recorded_library_networks_are_listed_with_their_facts(monkeypatch):
    monkeypatch.setattr(board, "benchmark_facts", list)
    name = "torchhub:lab/Net.works:v1.0:small"
    listing = board_catalogue(recorded=[name, "pixels", "nothing:a b"])
    entries = {entry["identifier"]: entry for entry in listing["models"]}
    assert len(entries) == len(listing["models"])
    assert entries[name]["url"] == "https://github.com/lab/Net.works"
    assert "licence" not in entries[name]  # the plugin's licence does not cover the weights
    assert "nothing:a b" not in entries
    read = EntryPoint("", "brainscore_web.leaderboard.catalogue:Catalogue", "").load().from_json(json.dumps(listing))
    assert read.model[name].load == f"load_model({name!r})"
