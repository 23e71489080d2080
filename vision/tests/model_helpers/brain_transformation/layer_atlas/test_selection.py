import logging

import pytest

from brainscore_core.errors import DownloadError, UnknownIdentifierError
from brainscore_vision.model_helpers.brain_transformation import ModelCommitment, neural
from brainscore_vision.model_helpers.brain_transformation.layer_atlas import selection
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.selection import (
    DeclaredBenchmarks,
    LayerSelection,
    RegionLayerMap,
)
from brainscore_vision.model_helpers.brain_transformation.mapping import NoLayerForRegionError

LAYERS = ["early", "middle", "late"]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path / "home"))


@pytest.fixture
def benchmarks(known, make_benchmark):
    return {region: make_benchmark(known[1], region) for region in ("V4", "IT")}


def test_published_names_exist():
    assert neural.LayerSelection is LayerSelection
    assert neural.RegionLayerMap is RegionLayerMap


def test_selection_names_the_best_layer(known, benchmarks):
    selection = LayerSelection("known", known[0], LAYERS, visual_degrees=8)
    assert selection(selection_identifier="IT", benchmark=benchmarks["IT"]) == "middle"


def test_lookup_chooses_a_layer_only_for_its_region(known, benchmarks):
    layers = RegionLayerMap(LayerSelection("known", known[0], LAYERS, 8), benchmarks)
    assert (layers, known[0].shown) == ({}, [])
    assert layers["IT"] == "middle"
    assert layers == {"IT": "middle"}
    assert len(known[0].shown) == 1
    assert [choice.region for choice in layers.atlas.regions] == ["IT"]
    assert layers["V4"] == "middle"
    assert layers == {"V4": "middle", "IT": "middle"}
    assert layers.origin("V4")["benchmark"] == "Known2026.V4-pls"
    assert layers.atlas["V4"].layer == "middle"
    with pytest.raises(
        NoLayerForRegionError, match=r"region 'V1'; there are some for V4, IT\..*--region-layer V1=late"
    ):
        layers["V1"]


def test_explicit_layer_is_kept(known, benchmarks):
    layers = RegionLayerMap(LayerSelection("known", known[0], LAYERS, 8), benchmarks)
    layers["V4"] = "late"
    assert layers["IT"] == "middle"
    assert layers["V4"] == "late"
    assert layers.origin("V4") == {"from": "explicit"}


def test_custom_selection_is_called_for_each_region(benchmarks):
    def last(selection_identifier, benchmark):
        return f"{selection_identifier} on {benchmark.identifier}"

    layers = RegionLayerMap(last, benchmarks)
    assert layers["IT"] == "IT on Known2026.IT-pls"
    assert list(layers) == ["IT"]


@pytest.fixture
def loadable(benchmarks, monkeypatch):
    def load(identifier):
        if identifier in benchmarks:
            return benchmarks[identifier]
        if identifier == "far":
            raise DownloadError("no network")
        raise UnknownIdentifierError(f"No benchmark {identifier!r}.")

    monkeypatch.setattr(selection, "load_benchmark", load)


def test_first_available_benchmark_is_used(loadable, benchmarks, caplog):
    of = DeclaredBenchmarks({"IT": ("far", "absent", "IT"), "V4": ("V4",), "V1": ("far",)})
    with caplog.at_level(logging.INFO):
        assert of["IT"] is benchmarks["IT"] is of["IT"]
    said, details = (record.getMessage() for record in caplog.records)
    assert "region IT is chosen on IT, because far is not available" in said
    assert "--region-layer IT=LAYER" in said
    assert "far: no network" in details
    assert list(of) == ["IT", "V4", "V1"]
    with pytest.raises(UnknownIdentifierError, match="'V1' is available"):
        of["V1"]
    with pytest.raises(KeyError):
        of["V2"]


def test_model_without_a_map_chooses_and_records_the_origin(known, loadable, benchmarks, monkeypatch, caplog):
    of = {"V4": ("V4",), "IT": ("IT",), "V1": ("far",), "MT": ("far",)}
    monkeypatch.setattr(selection, "REGION_BENCHMARKS", of)
    model = ModelCommitment("no-plugin-registers-this", known[0], LAYERS)
    score = benchmarks["IT"](model)
    assert score.attrs["layers"] == {"IT": "middle"}
    origin = score.attrs["layer_origin"]["IT"]
    assert (origin["from"], origin["benchmark"]) == ("selection", "Known2026.IT-pls")
    assert model.region_layer_map == {"IT": "middle"}
    model.start_recording("V1", [(70, 170)])  # without any benchmark, as in a box
    assert (model.region_layer_map["V1"], model.region_layer_map.origin("V1")) == (LAYERS[0], {"from": "depth"})
    assert f"Region V1 has the layer at its depth, {LAYERS[0]}." in caplog.text
    with pytest.raises(UnknownIdentifierError, match=r"no network\nName the layer: --region-layer MT=LAYER"):
        model.start_recording("MT", [(70, 170)])


def test_scores_record_that_a_layer_is_explicit(known, benchmarks):
    model = ModelCommitment("net", known[0], LAYERS, region_layer_map={"IT": "late"})
    assert benchmarks["IT"](model).attrs["layer_origin"] == {"IT": {"from": "explicit"}}


def test_declared_benchmarks_have_public_or_simulated_data():
    assert set(selection.REGION_BENCHMARKS) == {"V1", "V2", "V4", "IT"}
    for region, identifiers in selection.REGION_BENCHMARKS.items():
        assert all(identifier.endswith(f".{region}-pls") for identifier in identifiers)
        assert all("public" in identifier or "Simulated" in identifier for identifier in identifiers)


@pytest.mark.slow
@pytest.mark.usefixtures("shared_caches")
def test_every_region_has_a_benchmark_without_download(monkeypatch):
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    for region, identifiers in selection.REGION_BENCHMARKS.items():
        assert identifiers[-1] == f"SimulatedCortex2026.{region}-pls"
    assert DeclaredBenchmarks()["V4"].identifier == "SimulatedCortex2026.V4-pls"
