import numpy as np
import pytest

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision.benchmark_helpers.neural_common import timebins_from_assembly
from brainscore_vision.benchmark_helpers.recordings.recording import show, squeeze_single_timebin


def test_time_bins_are_pairs_of_start_and_end(binned_recordings):
    assert timebins_from_assembly(binned_recordings()) == [(70, 80), (80, 95)]


@pytest.mark.parametrize("select", [lambda a: a.squeeze("time_bin"), lambda a: a.isel(time_bin=0)])
def test_time_bins_survive_squeezing(select, binned_recordings):
    assert timebins_from_assembly(select(binned_recordings(bins=[(70, 170)]))) == [(70, 170)]


def test_an_assembly_without_time_bins_raises():
    without = NeuroidAssembly(np.zeros((1, 1)), dims=["presentation", "neuroid"])
    with pytest.raises(KeyError, match="time_bin_start"):
        timebins_from_assembly(without)


def test_only_a_single_time_bin_is_squeezed(binned_recordings):
    assert squeeze_single_timebin(binned_recordings(bins=[(70, 170)])).dims == ("presentation", "neuroid")
    assert squeeze_single_timebin(binned_recordings()).dims == ("presentation", "neuroid", "time_bin")


class Noisy:
    """Answers each trial of the stimuli a and b with the trial's number, plus ten for b."""

    def visual_degrees(self):
        return 8

    def look_at(self, stimuli, number_of_trials=1):
        trials = range(number_of_trials)
        coords = {
            "stimulus_id": ("presentation", np.repeat(stimuli["stimulus_id"].to_numpy(), number_of_trials)),
            "repetition": ("presentation", [*trials] * len(stimuli)),
            "neuroid_id": ("neuroid", ["n"]),
        }
        values = [[trial + 10 * stimulus] for stimulus in range(len(stimuli)) for trial in trials]
        return NeuroidAssembly(np.asarray(values, dtype=float), coords=coords, dims=["presentation", "neuroid"])


def test_trials_of_a_random_model_are_averaged(write_stimuli):
    stimuli = write_stimuli({name: np.zeros((2, 2, 3)) for name in "ab"})
    shown = show(Noisy(), stimuli, visual_degrees=8, number_of_trials=5)
    np.testing.assert_array_equal(shown.values, [[2], [12]])
    assert shown["stimulus_id"].values.tolist() == ["a", "b"]
    once = show(Noisy(), stimuli, visual_degrees=8, number_of_trials=1)
    assert once["repetition"].values.tolist() == [0, 0]
