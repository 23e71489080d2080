import numpy as np
import pytest

from brainscore_vision import load_benchmark, load_model
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.benchmark_helpers.test_helper import NumberOfTrialsTests, StandardizedTests
from brainscore_vision.testing.stand_ins import draw_stimuli, recordings, shuffled

IDENTIFIER = "Rajalingham2020.IT-pls"


@pytest.fixture(scope="module")
def truth(module_stand_ins):
    return stand_in(module_stand_ins)


def stand_in(stand_ins):
    """Make recordings of letters with 33 repetitions, at least 27 for each neuroid, in a file that also has V4."""
    stimuli = draw_stimuli("Rajalingham2020", 80)
    regions = ["IT"] * 30 + ["V4"] * 5
    assembly, signal = recordings(
        stimuli, n_neuroids=35, n_repetitions=33, noise=1.0, neuroid_coords={"region": regions}, time_bins=[(70, 170)]
    )
    n_recorded = 27 + np.arange(35) % 7
    assembly.values[assembly["repetition"].values[:, None] >= n_recorded] = np.nan
    assembly = assembly.rename(time_bin_end="time_bin_stop")  # as in the file
    stand_ins.data("Rajalingham2020", assembly, checked=False)
    return signal[:, :30]


def score_of(model):
    return load_benchmark(IDENTIFIER)(model)


def test_brain_reaches_its_ceiling(truth):
    score = score_of(PrecomputedFeatures(truth, visual_degrees=8))
    assert load_benchmark(IDENTIFIER).timebins == [(70, 170)]
    low, high = score.attrs["interval"]
    assert low <= 1 <= high
    assert high - low < 0.05
    assert (score.attrs["n_stimuli"], score.attrs["n_neuroids"], score.attrs["n_trials"]) == (80, 30, 33)
    # 27 to 33 repetitions with noise of variance 1: the harmonic mean is 29.9.
    assert float(score.ceiling) == pytest.approx(29.9 / 30.9, abs=0.01)


def test_pixels_score_between_shuffled_and_the_brain(truth):
    pixels = float(score_of(load_model("pixels")))
    assert abs(float(score_of(PrecomputedFeatures(shuffled(truth), visual_degrees=8)))) < 0.1
    assert 0.1 < pixels < 0.9


def test_model_trials_match_the_recordings(truth):
    NumberOfTrialsTests().repetitions_test(IDENTIFIER)


@pytest.mark.private_access
@pytest.mark.slow
def test_published_numbers():
    StandardizedTests().ceilings_test(IDENTIFIER, pytest.approx(0.561013, abs=0.001))
    StandardizedTests().self_regression_test(IDENTIFIER, visual_degrees=8, expected=pytest.approx(0.693463, abs=0.005))
