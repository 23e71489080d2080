import warnings

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import (
    BehavioralAssembly,
    DataAssembly,
    NeuroidAssembly,
    get_levels,
)
from brainscore_core.supported_data_standards.brainio.transform import average_repetition, index_efficient, subset
from brainscore_core.testing.synthetic import make_neuroid_assembly


class TestAverageRepetition:
    def test_average_matches_a_hand_computation(self):
        assembly = NeuroidAssembly(
            [[4.0, 1.0], [2.0, np.nan], [6.0, np.nan], [7.0, 5.0]],
            {
                "stimulus_id": ("presentation", ["b", "a", "b", "a"]),
                "repetition": ("presentation", [0, 0, 1, 1]),
                "object_name": ("presentation", ["x", "y", "x", "y"]),
                "neuroid_id": ("neuroid", [1, 2]),
            },
            ["presentation", "neuroid"],
            attrs={"stimulus_set_identifier": "s"},
        )
        averaged = average_repetition(assembly)
        assert averaged.values.tolist() == [[4.5, 5.0], [5.0, 1.0]]
        assert averaged["stimulus_id"].values.tolist() == ["a", "b"]
        assert averaged["object_name"].values.tolist() == ["y", "x"]
        assert "repetition" not in averaged.coords
        assert averaged.attrs == assembly.attrs
        assert type(averaged) is NeuroidAssembly
        assert assembly.mean(dim="repetition").identical(averaged)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
    def test_average_is_the_mean_of_each_stimulus(self, dtype):
        assembly = make_neuroid_assembly(5, 3, n_repetitions=4, time_bins=[(0, 10), (10, 20)])
        assembly = (assembly * 100).astype(dtype)
        shuffled = assembly.isel(presentation=np.random.default_rng(1).permutation(20))
        averaged = average_repetition(shuffled)
        for stimulus_id in np.unique(assembly["stimulus_id"].values):
            rows = assembly.values[assembly["stimulus_id"].values == stimulus_id].astype(float)
            actual = averaged.sel(stimulus_id=stimulus_id).values[0]
            np.testing.assert_allclose(actual, rows.mean(axis=0), rtol=1e-6)
        assert averaged.dtype == (dtype if dtype != np.int32 else np.float64)

    def test_presentation_need_not_come_first(self):
        assembly = make_neuroid_assembly(5, 3, n_repetitions=2)
        before = assembly.copy(deep=True)
        turned = average_repetition(assembly.transpose("neuroid", "presentation"))
        np.testing.assert_array_equal(turned.values.T, average_repetition(assembly).values)
        assert assembly.identical(before)
        without = make_neuroid_assembly(4, 2)  # without repetitions it is only sorted
        np.testing.assert_array_equal(average_repetition(without).values, without.values)

    def test_missing_values_stay_missing_without_a_warning(self):
        assembly = make_neuroid_assembly(2, 2, n_repetitions=2)
        assembly = assembly.where(assembly["stimulus_id"] != "stimulus_000")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            averaged = average_repetition(assembly)
        assert np.isnan(averaged.values).tolist() == [[True, True], [False, False]]

    def test_warning_names_coordinates_that_differ_in_repetitions(self):
        assembly = make_neuroid_assembly(3, 2, n_repetitions=2)
        assembly["trial"] = "presentation", np.arange(6)
        with pytest.warns(UserWarning, match="differ in trial"):
            assert average_repetition(assembly).sizes["presentation"] == 6
        assert average_repetition(assembly.drop_vars(["trial"])).sizes["presentation"] == 3

    def test_text_cannot_be_averaged(self):
        assembly = BehavioralAssembly(
            ["x", "y"],
            {"stimulus_id": ("presentation", ["a", "a"]), "repetition": ("presentation", [0, 1])},
            ["presentation"],
        )
        with pytest.raises(AssemblyError, match="numbers"):
            average_repetition(assembly)

    @pytest.mark.parametrize(
        ("coords", "dims", "message"),
        [({}, ["x"], "presentation"), ({"repetition": ("presentation", [0, 1])}, ["presentation"], "stimulus_id")],
    )
    def test_rejects_assemblies_without_presentations_or_stimuli(self, coords, dims, message):
        with pytest.raises(AssemblyError, match=message):
            average_repetition(DataAssembly([1, 2], coords, dims))

    def test_dimension_named_repetition_is_averaged(self):
        assembly = DataAssembly(
            [[1.0, 3.0]], {"stimulus_id": ("presentation", ["a"])}, ["presentation", "repetition"], attrs={"k": 1}
        )
        assert assembly.mean(dim="repetition").values.tolist() == [2.0]
        assert assembly.mean(dim="repetition").attrs == {"k": 1}


class TestSubset:
    def source(self):
        return NeuroidAssembly(
            np.arange(12).reshape(4, 3),
            {
                "stimulus_id": ("presentation", ["d", "b", "a", "c"]),
                "object_name": ("presentation", ["x", "x", "y", "y"]),
                "neuroid_id": ("neuroid", [0, 1, 2]),
                "region": ("neuroid", ["V4", "IT", "IT"]),
            },
            ["presentation", "neuroid"],
            attrs={"k": 1},
        )

    def test_subset_keeps_the_order_of_the_source(self):
        target = self.source().isel(presentation=[2, 0], neuroid=[2, 1])
        picked = subset(self.source(), target)
        assert picked["stimulus_id"].values.tolist() == ["d", "a"]
        assert picked.values.tolist() == [[1, 2], [7, 8]]
        assert picked.attrs == {"k": 1}

    def test_subset_by_one_coordinate(self):
        target = DataAssembly([1, 1], {"stimulus_id": ("presentation", ["a", "b"])}, ["presentation"])
        picked = subset(self.source(), target, subset_dims=["stimulus_id"])
        assert picked["stimulus_id"].values.tolist() == ["b", "a"]
        assert get_levels(picked) == get_levels(self.source())

    def test_every_repetition_of_the_source_matches(self):
        source = make_neuroid_assembly(4, 2, n_repetitions=3)
        target = make_neuroid_assembly(2, 2)
        assert subset(source, target, ["stimulus_id"], dims_must_match=False).sizes["presentation"] == 6
        with pytest.raises(AssemblyError, match="repeat differently"):
            subset(source, target, ["stimulus_id"])

    def test_repeat_follows_the_order_of_the_target(self):
        target = DataAssembly([0] * 3, {"stimulus_id": ("presentation", ["c", "a", "c"])}, ["presentation"])
        picked = subset(self.source(), target, repeat=True)
        assert picked["stimulus_id"].values.tolist() == ["c", "a", "c"]

    def test_repeat_matches_several_coordinates_together(self):
        source = make_neuroid_assembly(3, 2, n_repetitions=2)
        target = source.isel(presentation=[4, 1, 4])
        picked = subset(source, target, ["presentation"], repeat=True)
        assert picked.identical(target)

    def test_rejects_unmatched_values_and_dimensions(self):
        target = DataAssembly([1, 1], {"stimulus_id": ("presentation", ["a", "q"])}, ["presentation"])
        with pytest.raises(AssemblyError, match="stimulus_id 'q'"):
            subset(self.source(), target)
        assert subset(self.source(), target, dims_must_match=False).sizes["presentation"] == 1
        with pytest.raises(AssertionError, match="no coordinate to match"):
            subset(self.source(), self.source(), subset_dims=["subject"])

    @pytest.mark.parametrize("ids", [np.arange(9), np.array(list("ihgfedcba"))])
    def test_tuples_match_a_dimension_with_one_coordinate(self, ids):
        coords = {"stimulus_id": ids, "neuroid_id": [0, 1, 2]}
        flat = NeuroidAssembly(np.arange(27).reshape(9, 3), coords, ["stimulus_id", "neuroid_id"])
        source = flat.stack(presentation=("stimulus_id",), neuroid=("neuroid_id",))
        target = source.sel(presentation=[(value,) for value in ids[4:7]], neuroid=[(1,), (2,)])
        assert target.values.tolist() == [[13, 14], [16, 17], [19, 20]]
        assert subset(source, target, subset_dims=("presentation",)).equals(source.isel(presentation=slice(4, 7)))
        assert subset(source, target).equals(target)
        # If the target is a plain array, its index holds tuples with one entry.
        plain = xr.DataArray(np.zeros(3), {"stimulus_id": ids[4:7]}, ["stimulus_id"])
        expected = subset(source, target, ["presentation"])
        assert subset(source, plain.stack(presentation=["stimulus_id"])).equals(expected)
        tuples = np.empty(3, dtype=object)
        tuples[:] = [(value,) for value in ids[4:7].tolist()]
        by_tuples = xr.DataArray(np.zeros(3), {"presentation": tuples}, ["presentation"])
        assert subset(source, by_tuples).equals(expected)
        assert subset(source, by_tuples[::-1], repeat=True)["stimulus_id"].values.tolist() == ids[4:7][::-1].tolist()

    @pytest.mark.filterwarnings("ignore:Duplicate dimension names")
    def test_dimension_may_occur_twice(self):
        matrix = DataAssembly(
            np.arange(9).reshape(3, 3),
            {"stimulus_id": ("presentation", ["c", "a", "b"])},
            ["presentation", "presentation"],
        )
        target = DataAssembly([1, 1], {"stimulus_id": ("presentation", ["b", "c"])}, ["presentation"])
        picked = subset(matrix, target, dims_must_match=False)
        assert picked.values.tolist() == [[0, 2], [6, 8]]
        assert picked["stimulus_id"].values.tolist() == ["c", "b"]


class TestIndexEfficient:
    @given(st.lists(st.integers(0, 5), max_size=12), st.lists(st.integers(0, 7), max_size=12))
    def test_index_efficient_follows_the_order_of_the_target(self, source, target):
        expected = [at for value in target for at, own in enumerate(source) if own == value]
        assert index_efficient(source, target) == expected
