import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.testing.synthetic import make_neuroid_assembly
from brainscore_vision.benchmark_helpers import neural_common
from brainscore_vision.benchmark_helpers.multi_subject import block_diagonal_concat
from brainscore_vision.benchmark_helpers.neural_common import timebins_from_assembly
from brainscore_vision.benchmark_helpers.recordings import (
    name_neuroids_apart,
    neuroid_concat,
    show,
    squeeze_single_timebin,
)


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


# -- preparation -------------------------------------------------------------------------------------------------------


def test_reliable_neuroids_are_strictly_above_the_threshold(binned_recordings):
    kept = neural_common.filter_reliable_neuroids(binned_recordings(dtype=int), 0.3, "reliability")
    assert kept["neuroid_id"].values.tolist() == ["q"]
    assert type(kept) is NeuroidAssembly
    assert kept.attrs == {"kept": 1}
    assert kept.dtype == int
    np.testing.assert_array_equal(kept.values[:, 0], binned_recordings().values[:, 1])


def test_rejects_a_threshold_above_every_neuroid(binned_recordings):
    with pytest.raises(AssemblyError, match=r"above 0\.9.*0\.5"):
        neural_common.filter_reliable_neuroids(binned_recordings(), 0.9, "reliability")


def test_flattened_time_bins_keep_values_and_names(binned_recordings):
    original = binned_recordings()
    flat = neural_common.flatten_timebins_into_neuroids(original)
    assert flat.shape == (2, 6, 1)
    assert neural_common.timebins_from_assembly(flat) == [(70, 95)]
    assert flat["neuroid_id"].values.tolist() == ["p", "p", "q", "q", "r", "r"]
    assert flat["recording_time"].values.tolist() == [70, 80] * 3
    for position, (neuroid, start) in enumerate(
        zip(flat["neuroid_id"].values, flat["recording_time"].values, strict=True)
    ):
        n, t = ["p", "q", "r"].index(neuroid), [70, 80].index(start)
        np.testing.assert_array_equal(flat.values[:, position, 0], original.values[:, n, t])
    assert flat.attrs == {"kept": 1}


def test_flattening_rejects_other_orders_of_dimensions(binned_recordings):
    with pytest.raises(AssemblyError, match="transpose"):
        neural_common.flatten_timebins_into_neuroids(
            binned_recordings().transpose("neuroid", "presentation", "time_bin")
        )


def test_apply_keep_attrs_copies_the_attributes(binned_recordings):
    original = binned_recordings()
    doubled = neural_common.apply_keep_attrs(original, lambda assembly: assembly * 2)
    np.testing.assert_array_equal(doubled.values, original.values * 2)
    doubled.attrs["kept"] = 2
    assert original.attrs == {"kept": 1}


class TestNameNeuroidsApart:
    def test_repeated_ids_get_the_subject_as_prefix(self, make_recordings):
        given = make_recordings(
            np.ones((2, 3)), neuroid_id=("neuroid", [0, 1, 0]), subject=("neuroid", ["a", "a", "b"]), attrs={"kept": 1}
        )
        named = name_neuroids_apart(given)
        assert named["neuroid_id"].values.tolist() == ["a/0", "a/1", "b/0"]
        assert named["subject"].values.tolist() == ["a", "a", "b"]
        assert named["stimulus_id"].values.tolist() == given["stimulus_id"].values.tolist()
        assert named.attrs == {"kept": 1}
        assert np.shares_memory(named.values, given.values)

    def test_unique_ids_are_unchanged(self, make_recordings):
        given = make_recordings(np.ones((2, 3)), subject=("neuroid", ["a", "a", "b"]))
        assert name_neuroids_apart(given) is given

    def test_rejects_ids_repeated_within_a_subject(self, make_recordings):
        given = make_recordings(
            np.ones((2, 3)), neuroid_id=("neuroid", [0, 0, 0]), subject=("neuroid", ["a", "a", "b"])
        )
        with pytest.raises(AssemblyError, match="1 neuroids have the neuroid_id of another also within one 'subject'"):
            name_neuroids_apart(given)


# -- blocks ------------------------------------------------------------------------------------------------------------


def test_assemblies_become_blocks_on_the_diagonal():
    first = make_neuroid_assembly(4, 3)
    second = make_neuroid_assembly(2, 2, seed=1).transpose("neuroid", "presentation")
    joined = block_diagonal_concat([first, second])
    assert joined.dims == ("presentation", "neuroid")
    np.testing.assert_array_equal(joined.values[:4, :3], first.values)
    np.testing.assert_array_equal(joined.values[4:, 3:], second.values.T)
    assert np.isnan(joined.values[:4, 3:]).all()
    assert np.isnan(joined.values[4:, :3]).all()
    assert list(joined["stimulus_id"].values[4:]) == list(second["stimulus_id"].values)
    assert list(joined["region"].values) == [*first["region"].values, *second["region"].values]
    chosen = block_diagonal_concat([first, second], ["stimulus_id", "absent"], ["neuroid_id", "region"])
    assert "object_name" not in chosen.coords
    assert "absent" not in chosen.coords


def test_blocks_need_two_dimensions():
    with pytest.raises(AssemblyError, match="time_bin"):
        block_diagonal_concat([make_neuroid_assembly(4, 3, time_bins=[(0, 10), (10, 20)])])
    with pytest.raises(AssemblyError, match="got 0"):
        block_diagonal_concat([])


def test_neuroid_concat_uses_the_stimuli_common_to_all(make_recordings):
    first = make_recordings(np.arange(8.0).reshape(4, 2), stimulus_ids=list("abcd"), subject=("neuroid", ["x"] * 2))
    second = make_recordings(np.arange(9.0).reshape(3, 3), stimulus_ids=list("dae"), subject=("neuroid", ["y"] * 3))
    joined = neuroid_concat([first, second])
    assert joined["stimulus_id"].values.tolist() == ["a", "d"]
    np.testing.assert_array_equal(joined.values, [[0, 1, 3, 4, 5], [6, 7, 0, 1, 2]])
    assert joined["subject"].values.tolist() == ["x", "x", "y", "y", "y"]


def test_neuroid_concat_rejects_disjoint_or_repeated_stimuli(make_recordings):
    first = make_recordings(np.ones((2, 2)), stimulus_ids=list("ab"))
    with pytest.raises(AssemblyError, match="no stimulus is in all"):
        neuroid_concat([first, make_recordings(np.ones((2, 2)), stimulus_ids=list("cd"))])
    with pytest.raises(AssemblyError, match=r"assemblies \[1\] occur more than once"):
        neuroid_concat([first, make_recordings(np.ones((2, 2)), stimulus_ids=["a", "a"])])
