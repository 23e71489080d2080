import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.testing.synthetic import make_neuroid_assembly
from brainscore_vision.benchmark_helpers.multi_subject import block_diagonal_concat
from brainscore_vision.benchmark_helpers.recordings.blocks import neuroid_concat


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
