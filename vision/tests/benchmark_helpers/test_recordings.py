import numpy as np
import pytest

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision.benchmark_helpers.neural_common import timebins_from_assembly
from brainscore_vision.benchmark_helpers.recordings import squeeze_single_timebin


def test_timebins(binned_recordings):
    assert timebins_from_assembly(binned_recordings()) == [(70, 80), (80, 95)]


@pytest.mark.parametrize("select", [lambda a: a.squeeze("time_bin"), lambda a: a.isel(time_bin=0)])
def test_timebins_of_what_squeeze_leaves(select, binned_recordings):
    assert timebins_from_assembly(select(binned_recordings(bins=[(70, 170)]))) == [(70, 170)]


def test_no_timebins():
    without = NeuroidAssembly(np.zeros((1, 1)), dims=["presentation", "neuroid"])
    with pytest.raises(KeyError, match="time_bin_start"):
        timebins_from_assembly(without)


def test_only_a_single_timebin_is_squeezed(binned_recordings):
    assert squeeze_single_timebin(binned_recordings(bins=[(70, 170)])).dims == ("presentation", "neuroid")
    assert squeeze_single_timebin(binned_recordings()).dims == ("presentation", "neuroid", "time_bin")
