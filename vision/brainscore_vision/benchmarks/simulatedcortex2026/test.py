"""Check the benchmarks by what must come out when the truth is known."""

import numpy as np
import pytest

from brainscore_core.metrics import Score
from brainscore_vision import load_benchmark, load_ceiling, load_dataset, load_metric, load_model
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.benchmark_helpers.neural_common import NeuralBenchmark, average_repetition
from brainscore_vision.benchmark_helpers.test_helper import NumberOfTrialsTests, StandardizedTests

REGIONS = ["V1", "IT"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("shared-home")


@pytest.fixture(autouse=True)
def shared_home(home, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_HOME", str(home))  # simulate once for this file


def truth(region):
    assembly = load_dataset("SimulatedCortex2026.truth")
    return assembly.sel(neuroid=assembly["region"] == region)


def shuffled(assembly, seed):
    order = np.random.default_rng(seed).permutation(assembly.sizes["presentation"])
    return assembly.copy(data=assembly.values[order])


@pytest.mark.parametrize(("region", "ceiling"), [("V1", 0.963), ("IT", 0.938)])
def test_registered_and_reliable(region, ceiling):
    identifier = f"SimulatedCortex2026.{region}-pls"
    benchmark = load_benchmark(identifier)
    assert (benchmark.identifier, benchmark.version, benchmark.parent) == (identifier, 1, region)
    assert benchmark.timebins == [(70, 170)]
    StandardizedTests().ceilings_test(identifier, pytest.approx(ceiling, abs=0.005))
    NumberOfTrialsTests().repetitions_test(identifier)


@pytest.mark.parametrize("region", REGIONS)
def test_generating_population_reaches_one_within_its_interval(region):
    score = load_benchmark(f"SimulatedCortex2026.{region}-pls")(PrecomputedFeatures(truth(region), visual_degrees=8))
    low, high = score.attrs["interval"]
    assert low <= 1 <= high
    assert high - low < 0.02  # an interval that holds everything would say nothing
    assert low <= float(score) <= high
    described = {key: score.attrs[key] for key in ("n_stimuli", "n_neuroids", "n_trials", "seed", "simulated")}
    n_neuroids = {"V1": 72, "IT": 96}[region]
    assert described == {
        "n_stimuli": 500, "n_neuroids": n_neuroids, "n_trials": 20, "seed": 2026, "simulated": True
    }  # fmt: skip


@pytest.mark.parametrize("region", REGIONS)
def test_shuffled_stimuli_reach_zero(region):
    benchmark = load_benchmark(f"SimulatedCortex2026.{region}-pls")
    scores = [float(benchmark(PrecomputedFeatures(shuffled(truth(region), seed), 8))) for seed in range(3)]
    assert np.abs(scores).max() < 0.02


@pytest.mark.parametrize(("region", "raw"), [("V1", 0.987), ("IT", 0.976)])
def test_recordings_predict_themselves(region, raw):
    # The same noise is in source and target; what 25 components cannot hold of it keeps raw below 1.
    StandardizedTests().self_regression_test(
        f"SimulatedCortex2026.{region}-pls", visual_degrees=8, expected=pytest.approx(raw, abs=0.005)
    )


def test_the_other_population_predicts_less():
    v1, it = (load_benchmark(f"SimulatedCortex2026.{region}-pls") for region in REGIONS)
    assert float(v1(PrecomputedFeatures(truth("IT"), 8))) < float(v1(PrecomputedFeatures(truth("V1"), 8))) - 0.1
    assert float(it(PrecomputedFeatures(truth("V1"), 8))) < float(it(PrecomputedFeatures(truth("IT"), 8))) - 0.1


def test_identical_from_run_to_run():
    first, second = (
        load_benchmark("SimulatedCortex2026.V1-pls")(PrecomputedFeatures(truth("V1"), 8)) for _ in range(2)
    )
    assert float(first) == float(second)
    assert first.attrs["interval"] == second.attrs["interval"]
    assert float(first.ceiling) == float(second.ceiling)


@pytest.fixture(scope="module")
def fewer_stimuli():
    """Make the benchmarks with every fifth stimulus, for models that take long to look."""

    def make(region):
        assembly = load_dataset("SimulatedCortex2026")
        chosen = set(assembly.stimulus_set["stimulus_id"][::5])
        stimuli = assembly.stimulus_set[assembly.stimulus_set["stimulus_id"].isin(chosen)]
        stimuli.identifier = "SimulatedCortex2026-fifth"
        assembly = assembly.sel(neuroid=assembly["region"] == region)
        assembly = assembly[{"presentation": np.flatnonzero(np.isin(assembly["stimulus_id"].values, list(chosen)))}]
        assembly.attrs["stimulus_set"] = stimuli
        assembly = assembly.squeeze("time_bin")
        return NeuralBenchmark(
            identifier=f"fifth.{region}-pls",
            version=1,
            assembly=average_repetition(assembly),
            similarity_metric=load_metric("pls"),
            visual_degrees=8,
            number_of_trials=20,
            ceiling_func=lambda: load_ceiling("internal_consistency")(assembly),
            parent=region,
            bibtex="",
        )

    return make


def test_pixels_score_below_early_layers(fewer_stimuli):
    benchmark = fewer_stimuli("V1")
    of_pixels, of_network = benchmark(load_model("pixels")), benchmark(load_model("efficientnet_lite0"))
    assert isinstance(of_network, Score)
    assert "V1" in of_network.attrs["layers"]
    # Far apart: neither interval reaches the other's.
    assert of_pixels.attrs["interval"][1] < of_network.attrs["interval"][0]
