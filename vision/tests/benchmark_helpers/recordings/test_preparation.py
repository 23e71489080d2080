import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision.benchmark_helpers import neural_common
from brainscore_vision.benchmark_helpers.recordings.preparation import name_neuroids_apart


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
