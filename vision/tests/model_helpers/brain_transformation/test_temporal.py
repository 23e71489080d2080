"""Time bins, compared with integration on a fine grid of milliseconds."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision.model_helpers.brain_transformation import temporal
from brainscore_vision.model_helpers.brain_transformation.mapping import LayerMappedModel


def static(values):
    return assembly_of(values, stimulus_id=[f"s{index}" for index in range(len(values))])


def in_time(values, bins):
    timed = temporal.repeat_in_time(static(values[..., 0]), bins)
    timed.values[:] = values
    return timed


def record(answer, bins):
    return temporal.in_time_bins(answer, temporal.check_bins(bins))


def test_static_activity_is_repeated_in_every_bin():
    answer = record(static([[1.0, 2.0], [3.0, 4.0]]), [(70, 90), (90, 110), (110, 130)])
    assert answer.dims == ("presentation", "neuroid", "time_bin")
    assert answer["time_bin_start"].values.tolist() == [70, 90, 110]
    assert answer["time_bin_end"].values.tolist() == [90, 110, 130]
    for index in range(3):
        np.testing.assert_array_equal(answer.values[..., index], [[1, 2], [3, 4]])
    assert answer["region"].values.tolist() == ["IT", "IT"]
    assert answer["stimulus_id"].values.tolist() == ["s0", "s1"]
    answer.values[0, 0, 0] = 9  # bins are independent in memory
    assert answer.values[0, 0, 1] == 1


def test_single_bin_has_no_time_dimension():
    assert record(static([[1.0, 2.0]]), [(70, 170)]).dims == ("presentation", "neuroid")
    timed = in_time(np.array([[[1.0, 3.0]]]), [(0, 50), (50, 100)])
    aligned = record(timed, [(25, 100)])
    assert aligned.dims == ("presentation", "neuroid")
    np.testing.assert_allclose(aligned.values, [[(25 * 1 + 50 * 3) / 75]])


@pytest.mark.parametrize("bins", [[], [(70,)], [(170, 70)], [(70, 70)]])
def test_rejects_invalid_bins(bins):
    with pytest.raises(ValueError, match="time_bins"):
        temporal.check_bins(bins)


edges = st.lists(st.integers(0, 60), min_size=2, max_size=7, unique=True).map(sorted)


@given(edges, st.data())
def test_aligned_bins_equal_integration_over_milliseconds(points, data):
    source = list(pairwise(points))
    values = np.asarray(
        data.draw(st.lists(st.integers(-9, 9), min_size=len(source), max_size=len(source))), dtype=float
    )
    start = data.draw(st.integers(points[0], points[-1] - 1))
    end = data.draw(st.integers(start + 1, points[-1]))
    per_ms = np.concatenate([[value] * (stop - begin) for value, (begin, stop) in zip(values, source, strict=True)])
    expected = per_ms[start - points[0] : end - points[0]].mean()
    np.testing.assert_allclose(temporal.align_bins(values[None], source, [(start, end)]), [[expected]], atol=1e-12)


def test_center_method_chooses_one_bin():
    values = np.array([[1.0, 2.0, 3.0]])
    bins = [(0, 10), (10, 20), (20, 30)]
    np.testing.assert_array_equal(temporal.align_bins(values, bins, [(0, 30), (5, 35)], "center"), [[2, 3]])
    with pytest.raises(ValueError, match="centre"):
        temporal.align_bins(values, bins, [(0, 30)], "centre")


def test_bins_without_overlap_are_ignored():
    assert temporal.align_bins(np.array([np.nan, 2.0]), [(0, 10), (10, 20)], [(10, 15)]).tolist() == [2.0]


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool])
def test_means_of_counts_keep_their_fractions(dtype):
    counts = in_time(np.array([[[0, 1, 1], [1, 0, 0]]], dtype=dtype), [(0, 10), (10, 20), (20, 30)])
    aligned = temporal.assembly_time_align(counts, [(0, 20), (5, 25), (0, 30), (20, 30)])
    expected = [[[1 / 2, 3 / 4, 2 / 3, 1], [1 / 2, 1 / 4, 1 / 3, 0]]]
    np.testing.assert_allclose(aligned.values, expected, rtol=1e-12)
    assert aligned.dtype == np.float64
    assert temporal.assembly_time_align(counts, [(0, 10)], "center").dtype == np.float64


def test_assemblies_keep_labels_dims_and_dtype():
    timed = in_time(np.array([[[2.0, 4.0], [6.0, 8.0]]], dtype=np.float32), [(0, 10), (10, 20)])
    timed.attrs["note"] = "dropped"
    aligned = temporal.assembly_time_align(timed.transpose("time_bin", ...), [(5, 15), (0, 10), (0, 20)])
    assert type(aligned) is NeuroidAssembly
    assert aligned.dims == ("time_bin", "presentation", "neuroid")
    assert aligned.dtype == np.float32
    np.testing.assert_allclose(aligned.values[:, 0], [[3, 7], [2, 6], [3, 7]])
    assert aligned["time_bin_end"].values.tolist() == [15, 10, 20]
    assert aligned["region"].values.tolist() == ["IT", "IT"]
    assert aligned.attrs == {}


@pytest.mark.parametrize("target", [(-5, 5), (15, 25), (8, 32)])
def test_error_lists_bins_outside_the_recording(target):
    timed = in_time(np.zeros((1, 1, 2)), [(0, 10), (20, 30)])
    with pytest.raises(AssemblyError, match="not fully covered") as caught:
        temporal.assembly_time_align(timed, [(0, 10), target])
    assert str(target) in str(caught.value)
    assert isinstance(caught.value, AssertionError)


def test_old_names_of_levels_are_replaced():
    levels = {"time_bin_level_0": ("time_bin", [0, 10]), "time_bin_level_1": ("time_bin", [10, 20])}
    old = assembly_of(np.zeros((1, 1, 2)), **levels)
    new = temporal.fix_timebin_naming(old)
    assert new["time_bin_start"].values.tolist() == [0, 10]
    assert new["time_bin_end"].values.tolist() == [10, 20]
    assert "time_bin_level_0" not in new.coords


class Recorded:
    """A region model as written for the published system, which keeps its own time bins."""

    activations_model = staticmethod(lambda stimuli, layers: None)

    def __init__(self, answer):
        self.answer, self.identifier, self.region_layer_map, self.recorded = answer, "own", {"IT": "late"}, None

    def visual_degrees(self):
        return 8

    def start_task(self, task):
        if task != "passive":
            raise NotImplementedError(task)

    def start_recording(self, recording_target):
        self.recorded = recording_target

    def look_at(self, stimuli, number_of_trials=1):
        return self.answer


def test_region_model_is_aligned_to_time_bins():
    own = Recorded(static([[1.0, 2.0], [3.0, 4.0]]))
    model = temporal.TemporalAligned(own)
    assert (model.identifier, model.visual_degrees()) == ("own", 8)
    assert model.activations_model is own.activations_model
    model.start_recording("IT", time_bins=[(70, 90), (90, 110)])
    assert own.recorded == "IT"
    answer = model.look_at(None)
    assert answer.sizes == {"presentation": 2, "neuroid": 2, "time_bin": 2}
    assert "region" in answer.indexes["neuroid"].names
    model.start_recording("IT", time_bins=[(70, 170)])
    assert model.look_at(None).dims == ("presentation", "neuroid")


def test_region_model_with_its_own_time_is_averaged():
    model = temporal.TemporalAligned(Recorded(in_time(np.array([[[1.0, 3.0]]]), [(0, 50), (50, 100)])))
    model.start_recording("IT", time_bins=[(25, 75)])
    assert model.look_at(None).values.tolist() == [[2.0]]


def test_invalid_bins_change_nothing():
    own = Recorded(static([[1.0]]))
    with pytest.raises(ValueError, match="time_bins"):
        temporal.TemporalAligned(own).start_recording("IT", [(170, 70)])
    assert own.recorded is None


def test_changes_of_the_map_reach_the_wrapped_model():
    own = LayerMappedModel("net", print, {"IT": "late"})
    model = temporal.TemporalAligned(own)
    model.region_layer_map["IT"] = "early"
    assert own.region_layer_map == {"IT": "early"}
    model.region_layer_map = {"V1": "late"}
    assert own.region_layer_map == model.region_layer_map == {"V1": "late"}
    with pytest.raises(NotImplementedError):
        model.start_task("label")
    model.start_task("passive")
