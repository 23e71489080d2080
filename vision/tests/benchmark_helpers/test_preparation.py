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


def test_reliable_neuroids_are_those_strictly_above(binned_recordings):
    kept = filter_reliable_neuroids(binned_recordings(dtype=int), 0.3, "reliability")
    assert kept["neuroid_id"].values.tolist() == ["q"]
    assert type(kept) is NeuroidAssembly
    assert kept.attrs == {"kept": 1}
    assert kept.dtype == int
    np.testing.assert_array_equal(kept.values[:, 0], binned_recordings().values[:, 1])


def test_no_reliable_neuroid_is_an_error(binned_recordings):
    with pytest.raises(AssemblyError, match=r"above 0\.9.*0\.5"):
        filter_reliable_neuroids(binned_recordings(), 0.9, "reliability")


def test_flattened_timebins(binned_recordings):
    original = binned_recordings()
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


def test_flattening_needs_its_dims_in_order(binned_recordings):
    with pytest.raises(AssemblyError, match="transpose"):
        flatten_timebins_into_neuroids(binned_recordings().transpose("neuroid", "presentation", "time_bin"))


def test_apply_keep_attrs(binned_recordings):
    original = binned_recordings()
    doubled = apply_keep_attrs(original, lambda assembly: assembly * 2)
    np.testing.assert_array_equal(doubled.values, original.values * 2)
    doubled.attrs["kept"] = 2
    assert original.attrs == {"kept": 1}
