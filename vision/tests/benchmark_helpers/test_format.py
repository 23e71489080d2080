import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly, NeuroidAssembly
from brainscore_vision.benchmark_helpers import bound_score, check_standard_format


@pytest.mark.parametrize(("value", "expected"), [(1.2, 1), (-0.1, 0), (0.4, 0.4), (0, 0), (1, 1)])
def test_bound_score_clips_in_place_and_leaves_raw_alone(value, expected):
    score = Score(value)
    score.attrs["raw"] = Score(value)
    assert bound_score(score) is None
    assert float(score) == expected
    assert float(score.attrs["raw"]) == value


def test_bound_score_clips_entries_and_keeps_nan():
    score = Score([1.5, np.nan, -2, 0.5], dims=["x"])
    bound_score(score)
    np.testing.assert_array_equal(score.values, [1, np.nan, 0, 0.5])


def recordings(**changes):
    arguments = {
        "data": np.ones((3, 2)),
        "coords": {
            "stimulus_id": ("presentation", ["a", "b", "c"]),
            "object_name": ("presentation", ["x", "y", "x"]),
            "neuroid_id": ("neuroid", [0, 1]),
            "region": ("neuroid", ["V1", "V1"]),
        },
        "dims": ["presentation", "neuroid"],
        "attrs": {"stimulus_set_identifier": "s"},
    }
    return NeuroidAssembly(**{**arguments, **changes})


def test_standard_format_passes():
    check_standard_format(recordings())


def test_standard_format_reports_all_problems_at_once():
    wrong = DataAssembly([[1.0, np.nan]], coords={"a": ("x", [1])}, dims=["x", "y"])
    with pytest.raises(AssemblyError) as caught:
        check_standard_format(wrong)
    for part in ("DataAssembly", "presentation", "neuroid_id", "stimulus_id", "1 of its 2", "stimulus_set_identifier"):
        assert part in str(caught.value)


def test_nans_can_be_expected():
    with_nan = recordings(data=np.full((3, 2), np.nan))
    check_standard_format(with_nan, nans_expected=True)
    with pytest.raises(AssertionError, match="6 of its 6"):  # plugins' tests catch AssertionError
        check_standard_format(with_nan)
