import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
from brainscore_vision.benchmark_helpers import check_standard_format


@pytest.fixture
def recordings(make_recordings):
    return make_recordings(np.ones((3, 2)), attrs={"stimulus_set_identifier": "s"})


def test_standard_format_passes(recordings):
    check_standard_format(recordings)


def test_standard_format_reports_all_problems_at_once():
    wrong = DataAssembly([[1.0, np.nan]], coords={"a": ("x", [1])}, dims=["x", "y"])
    with pytest.raises(AssemblyError) as caught:
        check_standard_format(wrong)
    for part in ("DataAssembly", "presentation", "neuroid_id", "stimulus_id", "1 of its 2", "stimulus_set_identifier"):
        assert part in str(caught.value)


def test_nans_pass_only_if_expected(recordings):
    with_nan = recordings.copy(data=np.full((3, 2), np.nan))
    check_standard_format(with_nan, nans_expected=True)
    with pytest.raises(AssertionError, match="6 of its 6"):  # plugins' tests catch AssertionError
        check_standard_format(with_nan)
