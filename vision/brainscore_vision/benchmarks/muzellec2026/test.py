import numpy as np
import pytest

from brainscore_vision import load_benchmark, load_model
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.testing.stand_ins import draw_stimuli, recordings, shuffled

N_NEUROIDS = 60


@pytest.fixture(scope="module")
def truth(module_stand_ins):
    return stand_in(module_stand_ins)


def stand_in(stand_ins):
    stimuli = draw_stimuli("hvm-public", 90, columns={"object_name": ["bear", "elephant", "person"] * 30})
    assembly, signal = recordings(
        stimuli,
        n_neuroids=N_NEUROIDS,
        n_repetitions=12,
        noise=1.0,
        neuroid_coords={"region": np.repeat(["V4", "IT"], N_NEUROIDS // 2)},
        time_bins=[(70, 170)],
    )
    stand_ins.data("MajajHong2015.public", assembly)
    signal["object_name"] = "presentation", stimuli["object_name"].to_numpy()  # models return the columns of stimuli
    return signal[:, :, 0]


def with_other_features(brain, n):
    """Return features of the brain and n unrelated ones."""
    others = np.random.default_rng(0).normal(size=(brain.sizes["presentation"], n))
    more = brain[:, [0] * n].copy(data=others)
    features = type(brain)(
        np.concatenate([brain.values, more.values], axis=1),
        coords={
            "stimulus_id": ("presentation", brain["stimulus_id"].values),
            "object_name": ("presentation", brain["object_name"].values),
            "neuroid_id": ("neuroid", np.arange(brain.sizes["neuroid"] + n)),
        },
        dims=brain.dims,
    )
    return PrecomputedFeatures(features, visual_degrees=8)


@pytest.mark.parametrize("region", ["IT", pytest.param("V4", marks=pytest.mark.slow)])
def test_brain_features_are_predicted_and_unrelated_ones_are_not(truth, region):
    benchmark = load_benchmark(f"MajajHong2015public.{region}-reverse_pls")
    assert (benchmark.version, benchmark.parent) == (4, region)
    brain = truth.sel(neuroid=truth["region"] == region)
    score = benchmark(PrecomputedFeatures(brain, visual_degrees=8))
    assert float(score.attrs["raw"]) > 0.98  # many neurons together have little noise
    assert float(score) > 1  # above the reliability of a single neuron
    assert float(score.ceiling) == pytest.approx(12 / 13, abs=0.01)
    assert score.attrs["raw"].attrs["stratified_by"] == "object_name"
    less = float(benchmark(with_other_features(brain, 20)))
    assert float(benchmark(with_other_features(brain, 90))) < 0.2 < less < float(score)
    assert abs(float(benchmark(PrecomputedFeatures(shuffled(brain), visual_degrees=8)))) < 0.15


@pytest.mark.slow
def test_pixels_score_between_chance_and_the_brain(truth):
    score = load_benchmark("MajajHong2015public.V4-reverse_pls")(load_model("pixels"))
    assert 0.05 < float(score) < 0.8
    low, high = score.attrs["interval"]  # around the median of 196,608 features
    assert low < float(score) < high
