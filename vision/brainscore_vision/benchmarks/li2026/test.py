import numpy as np
import pytest

from brainscore_vision import load_benchmark, load_model
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.testing.stand_ins import draw_stimuli, recordings, shuffled

from .benchmark import Li2026Temporal, load_rsa_assembly

REGIONS = ["V1", "V2", "V4", "IT"]
N_REPETITIONS = 9
N_UNITS = 32  # in each region; every eighth is unreliable


@pytest.fixture(scope="module")
def truth(module_stand_ins):
    return stand_in(module_stand_ins)


def stand_in(stand_ins):
    """Make mean rates of four regions, with the reliability of a mean over nine repetitions; return the signal."""
    stimuli = draw_stimuli("Li2026", 80)
    repetitions, signal = recordings(
        stimuli,
        n_neuroids=4 * N_UNITS,
        n_repetitions=N_REPETITIONS,
        noise=1.0,
        neuroid_coords={
            "region": np.repeat(REGIONS, N_UNITS),
            "animal": np.tile(["M1", "M2"], 2 * N_UNITS),
            "reliability_window": np.tile([N_REPETITIONS / (N_REPETITIONS + 1)] * 7 + [0.3], N_UNITS // 2),
        },
        time_bins=[(70, 170)],
    )
    mean = signal.copy(data=repetitions.values.reshape(N_REPETITIONS, 80, 4 * N_UNITS, 1).mean(axis=0))
    stand_ins.data("Li2026", mean)
    return signal[:, :, 0]


def brain_of(truth, region):
    reliable = (truth["region"] == region) & (truth["reliability_window"] > 0.4)
    return truth.sel(neuroid=reliable)


def test_parents_of_benchmarks():
    for region in REGIONS:
        parents = {metric: load_benchmark(f"Li2026.{region}-{metric}").parent for metric in ("ridgecv", "rdm", "pls")}
        assert parents == {"ridgecv": f"Li2026.{region}", "rdm": f"Li2026.{region}", "pls": None}


@pytest.mark.parametrize("region", ["V2", *(pytest.param(name, marks=pytest.mark.slow) for name in ("V1", "V4", "IT"))])
def test_brain_is_predicted_up_to_its_reliability(truth, region):
    benchmark = load_benchmark(f"Li2026.{region}-ridgecv")
    assert float(benchmark.ceiling) == pytest.approx(0.9)
    assert benchmark.ceiling.attrs["error"] == pytest.approx(0, abs=1e-9)  # all units are equally reliable
    score = benchmark(PrecomputedFeatures(brain_of(truth, region), visual_degrees=11))
    low, high = score.attrs["interval"]
    assert low <= 1 <= high
    assert high - low < 0.3
    assert score.attrs["n_neuroids"] == N_UNITS * 7 // 8


@pytest.mark.parametrize("metric", ["ridgecv", "pls"])
def test_shuffled_scenes_score_about_0(truth, metric):
    benchmark = load_benchmark(f"Li2026.IT-{metric}")
    brain = brain_of(truth, "IT")
    assert float(benchmark(PrecomputedFeatures(brain, visual_degrees=11))) > 0.8
    assert abs(float(benchmark(PrecomputedFeatures(shuffled(brain), visual_degrees=11)))) < 0.15


def test_geometry_is_compared_animal_by_animal(truth):
    benchmark = load_benchmark("Li2026.IT-rdm")
    brain = brain_of(truth, "IT")
    score = benchmark(PrecomputedFeatures(brain, visual_degrees=11))
    assert score.attrs["raw"].attrs["raw"]["subject"].values.tolist() == ["M1", "M2"]
    lower = benchmark.ceiling.attrs["lower_bound"] / float(benchmark.ceiling)
    assert lower < float(score) <= 1
    assert abs(float(benchmark(PrecomputedFeatures(shuffled(brain), visual_degrees=11)))) < 0.15


@pytest.mark.slow
def test_time_courses_need_a_model_that_changes_over_time(stand_ins):
    repetitions, signal = recordings(
        draw_stimuli("Li2026", 40),
        n_neuroids=40,
        n_repetitions=N_REPETITIONS,
        neuroid_coords={
            "region": ["IT"] * 20 + ["IT-other"] * 10 + ["V1"] * 10,
            "animal": "M1",
            "reliability": [0.9] * 36 + [0.3] * 4,
        },
        time_bins=[(start, start + 10) for start in range(0, 40, 10)],
    )
    stand_ins.data(
        "Li2026.temporal", signal.copy(data=repetitions.values.reshape(N_REPETITIONS, 40, 40, 4).mean(axis=0))
    )
    benchmark = Li2026Temporal("IT")
    assert benchmark.identifier == "Li2026.IT-temporal-pls"
    assert float(benchmark.ceiling) == pytest.approx(0.9)
    score = benchmark(PrecomputedFeatures(signal, visual_degrees=11))
    assert float(score) > 0.9
    assert score.attrs["n_neuroids"] == 30
    static = benchmark(load_model("pixels"))
    assert np.isnan(static)
    assert "'pixels' does not change over time" in static.attrs["not_applicable"]


@pytest.mark.private_access
@pytest.mark.memory_intense
@pytest.mark.parametrize(("region", "at_least"), [("V1", 2000), ("V2", 2200), ("V4", 3000), ("IT", 20000)])
def test_published_counts(region, at_least):
    assembly = load_rsa_assembly(region)
    assert assembly.sizes["neuroid"] >= at_least
    assert assembly.sizes["presentation"] == len(assembly.stimulus_set) == 1000
    assert len(np.unique(assembly["subject"].values)) == (5 if region == "IT" else 2)
