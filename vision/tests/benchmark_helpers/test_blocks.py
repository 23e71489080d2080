import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.testing.synthetic import make_neuroid_assembly
from brainscore_vision.benchmark_helpers.multi_subject import block_diagonal_concat


def test_blocks_on_the_diagonal():
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
