import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision.benchmark_helpers.neural_common import (
    apply_keep_attrs,
    filter_reliable_neuroids,
    flatten_timebins_into_neuroids,
    timebins_from_assembly,
)
from brainscore_vision.benchmark_helpers.recordings import squeeze_single_timebin


def recordings(bins=((70, 80), (80, 95)), dtype=float):
    n_bins = len(bins)
    return NeuroidAssembly(
        np.arange(2 * 3 * n_bins, dtype=dtype).reshape(2, 3, n_bins),
        coords={
            "stimulus_id": ("presentation", ["a", "b"]),
            "object_name": ("presentation", ["x", "y"]),
            "neuroid_id": ("neuroid", ["p", "q", "r"]),
            "reliability": ("neuroid", [0.1, 0.5, 0.3]),
            "time_bin_start": ("time_bin", [start for start, _ in bins]),
            "time_bin_end": ("time_bin", [end for _, end in bins]),
        },
        dims=["presentation", "neuroid", "time_bin"],
        attrs={"kept": 1},
    )


def test_timebins():
    assert timebins_from_assembly(recordings()) == [(70, 80), (80, 95)]


@pytest.mark.parametrize("select", [lambda a: a.squeeze("time_bin"), lambda a: a.isel(time_bin=0)])
def test_timebins_of_what_squeeze_leaves(select):
    assert timebins_from_assembly(select(recordings(bins=[(70, 170)]))) == [(70, 170)]


def test_no_timebins():
    without = NeuroidAssembly(np.zeros((1, 1)), dims=["presentation", "neuroid"])
    with pytest.raises(KeyError, match="time_bin_start"):
        timebins_from_assembly(without)


def test_only_a_single_timebin_is_squeezed():
    assert squeeze_single_timebin(recordings(bins=[(70, 170)])).dims == ("presentation", "neuroid")
    assert squeeze_single_timebin(recordings()).dims == ("presentation", "neuroid", "time_bin")


def test_reliable_neuroids_are_those_strictly_above():
    kept = filter_reliable_neuroids(recordings(dtype=int), 0.3, "reliability")
    assert kept["neuroid_id"].values.tolist() == ["q"]
    assert type(kept) is NeuroidAssembly
    assert kept.attrs == {"kept": 1}
    assert kept.dtype == int
    np.testing.assert_array_equal(kept.values[:, 0], recordings().values[:, 1])


def test_no_reliable_neuroid_is_an_error():
    with pytest.raises(AssemblyError, match=r"above 0\.9.*0\.5"):
        filter_reliable_neuroids(recordings(), 0.9, "reliability")


def test_flattened_timebins():
    original = recordings()
    flat = flatten_timebins_into_neuroids(original)
    assert flat.shape == (2, 6, 1)
    assert timebins_from_assembly(flat) == [(70, 95)]
    assert flat["neuroid_id"].values.tolist() == ["p", "p", "q", "q", "r", "r"]
    assert flat["recording_time"].values.tolist() == [70, 80] * 3
    for position, (neuroid, start) in enumerate(
        zip(flat["neuroid_id"].values, flat["recording_time"].values, strict=True)
    ):
        n, t = ["p", "q", "r"].index(neuroid), [70, 80].index(start)
        np.testing.assert_array_equal(flat.values[:, position, 0], original.values[:, n, t])
    assert flat.attrs == {"kept": 1}


def test_flattening_needs_its_dims_in_order():
    with pytest.raises(AssemblyError, match="transpose"):
        flatten_timebins_into_neuroids(recordings().transpose("neuroid", "presentation", "time_bin"))


def test_apply_keep_attrs():
    original = recordings()
    doubled = apply_keep_attrs(original, lambda assembly: assembly * 2)
    np.testing.assert_array_equal(doubled.values, original.values * 2)
    doubled.attrs["kept"] = 2
    assert original.attrs == {"kept": 1}
