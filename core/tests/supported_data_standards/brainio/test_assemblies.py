import copy
import functools
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio import _coordinates, assemblies
from brainscore_core.supported_data_standards.brainio.assemblies import (
    BehavioralAssembly,
    DataAssembly,
    GroupbyError,
    ModelFeaturesAssembly,
    NeuroidAssembly,
    NeuronRecordingAssembly,
    SpikeTimesAssembly,
    array_is_element,
    coords_for_dim,
    gather_indexes,
    get_levels,
    get_metadata,
    is_fastpath,
    merge_data_arrays,
    walk_coords,
)
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

FAMILY = [cls for cls in vars(assemblies).values() if isinstance(cls, type) and issubclass(cls, DataAssembly)]


def make(cls=NeuroidAssembly, **attrs):
    return cls(
        np.arange(24.0).reshape(6, 4),
        coords={
            "stimulus_id": ("presentation", list("bbaacc")),
            "repetition": ("presentation", [0, 1] * 3),
            "object": ("presentation", list("yyxxxx")),
            "neuroid_id": ("neuroid", list("ijkl")),
            "region": ("neuroid", ["IT", "V4", "IT", "V4"]),
            "animal": ("neuroid", ["m"] * 4),
        },
        dims=["presentation", "neuroid"],
        attrs={"identifier": "Made2026", **attrs},
    )


class TestConstruction:
    @pytest.mark.parametrize("cls", FAMILY)
    def test_class_hierarchy_and_slots(self, cls):
        assembly = make(cls)
        assert type(assembly) is cls
        assert not hasattr(assembly, "__dict__")
        assert issubclass(NeuronRecordingAssembly, NeuroidAssembly)
        assert issubclass(SpikeTimesAssembly, NeuronRecordingAssembly)
        assert issubclass(ModelFeaturesAssembly, NeuroidAssembly)

    def test_single_coordinate_keeps_its_name(self):
        assembly = DataAssembly([1.0, 2.0], {"stimulus_id": ("presentation", ["a", "b"])}, ["presentation"])
        assert assembly["stimulus_id"].values.tolist() == ["a", "b"]
        assert assembly.sel(stimulus_id="b").values.tolist() == [2.0]
        assert assembly.isel(presentation=[1])["stimulus_id"].values.tolist() == ["b"]

    def test_dimension_keeps_the_index_named_like_it(self):
        assembly = BehavioralAssembly(
            [[0.1, 0.9]],
            {"stimulus_id": ("presentation", ["s"]), "choice": ("choice", ["x", "y"]), "sort": ("choice", [0, 1])},
            ["presentation", "choice"],
        )
        assert assembly.sel(choice="y").values.tolist() == [0.9]
        assert assembly.sel(sort=1).dims == ("presentation", "choice")
        assert {name for name, _, _ in walk_coords(assembly)} == {"stimulus_id", "choice", "sort"}

    def test_attrs_can_be_read_but_not_set_as_attributes(self):
        assembly = make(stimulus_set="set")
        assert assembly.stimulus_set == "set"
        assert assembly.identifier == "Made2026"
        with pytest.raises(AttributeError):
            assembly.stimulus_set = "other"

    def test_coordinates_are_copied_from_the_given_arrays(self):
        numbers = np.arange(4)
        made = DataAssembly(np.zeros(4), {"n": ("x", numbers)}, ["x"])
        numbers[:] = 9
        assert made["n"].values.tolist() == [0, 1, 2, 3]

    def test_wrapping_again_changes_nothing(self):
        assembly = make().rename("named")
        for again in (type(assembly)(assembly), type(assembly)(type(assembly)(assembly))):
            assert again.identical(assembly)
            assert again.name == "named"

    def test_wrapping_a_plain_array_folds_its_coordinates(self):
        plain = xr.DataArray([1, 2], coords={"a": ("x", [3, 4]), "b": ("x", [5, 6])}, dims=["x"], attrs={"k": 1})
        assembly = DataAssembly(plain)
        assert get_levels(assembly) == ["a", "b"]
        assert assembly.attrs == {"k": 1}

    def test_assembly_can_be_rebuilt_from_walk_coords(self):
        assembly = make()
        coords = {name: (dims, values) for name, dims, values in walk_coords(assembly)}
        assert NeuroidAssembly(assembly.values, coords, assembly.dims, attrs=assembly.attrs).identical(assembly)

    def test_multi_index_of_another_assembly_can_be_a_coordinate(self):
        assembly = make()
        other = NeuroidAssembly(np.ones(4), coords={"neuroid": assembly["neuroid"]}, dims=["neuroid"])
        assert other.sel(region="V4").sizes == {"neuroid": 2}

    def test_coordinates_may_be_scalar_two_dimensional_or_empty(self):
        coords = {"a": ("x", [1, 2]), "z": 3, "both": (("x", "y"), np.eye(2))}
        assembly = DataAssembly(np.ones((2, 2)), coords, ["x", "y"])
        assert assembly["z"].item() == 3
        assert {name: dims for name, dims, _ in walk_coords(assembly)}["both"] == ("x", "y")
        assert DataAssembly(np.empty((0, 2)), {"a": ("x", np.array([], dtype=str))}, ["x", "y"])["a"].size == 0

    @pytest.mark.parametrize("values", [[True, False], [1, 2], [0.5, np.nan], ["a", "b"], ["2020-01-01", "NaT"]])
    def test_coordinates_keep_values_and_dtype(self, values):
        values = np.array(values, dtype="datetime64[ns]" if values[-1] == "NaT" else None)
        assembly = DataAssembly([0, 1], {"c": ("x", values), "d": ("x", [0, 1])}, ["x"])
        assert assembly["c"].dtype == values.dtype
        np.testing.assert_array_equal(assembly["c"].values, values)

    def test_object_text_becomes_text_unless_some_is_missing(self):
        texts = DataAssembly([0, 1], {"c": ("x", np.array(["a", "bc"], dtype=object))}, ["x"])
        assert texts["c"].dtype == np.dtype("<U2")
        gaps = DataAssembly([0, 1], {"c": ("x", np.array(["a", None], dtype=object))}, ["x"])
        assert gaps["c"].values[0] == "a"
        assert pd.isna(gaps["c"].values[1])


class TestSelection:
    @pytest.mark.parametrize("n_levels", [1, 2, 3])
    def test_scalar_selection_keeps_the_dimension_and_drops_the_level(self, n_levels):
        names = ["region", "neuroid_id", "animal"][:n_levels]
        coords = {"region": list("VVI"), "neuroid_id": list("abc"), "animal": list("mmm")}
        assembly = NeuroidAssembly(
            np.arange(6).reshape(2, 3),
            {"stimulus_id": ("presentation", ["s", "t"]), **{name: ("neuroid", coords[name]) for name in names}},
            ["presentation", "neuroid"],
        )
        selected = assembly.sel(region="V")
        assert selected.dims == ("presentation", "neuroid")
        assert selected.values.tolist() == [[0, 1], [3, 4]]
        assert not hasattr(selected, "region")
        assert [name for name in names if name in selected.coords] == names[1:]
        assert selected.sel(stimulus_id="t").values.tolist() == [[3, 4]]

    def test_selected_level_can_be_assigned_again(self):
        assembly = make().sel(region="IT")
        assembly["region"] = "neuroid", ["X", "Y"]
        assert assembly.sel(region="Y")["neuroid_id"].values.tolist() == ["k"]
        assert assembly.attrs == {"identifier": "Made2026"}

    def test_mask_keeps_all_levels(self):
        assembly = make()
        selected = assembly.sel(neuroid=assembly["region"] == "IT")
        assert get_levels(selected) == get_levels(assembly)
        assert selected["neuroid_id"].values.tolist() == ["i", "k"]
        assert assembly.sel(neuroid=[True, False, True, False]).identical(selected)
        assert assembly[:, (assembly["region"] == "IT").values].identical(selected)
        with pytest.raises(IndexError, match="3 entries"):
            assembly.sel(neuroid=[True, False, True])

    def test_list_and_inclusive_slice_keep_order_and_level(self):
        for wanted in (["c", "b"], slice("b", "c")):
            assert make().sel(stimulus_id=wanted)["stimulus_id"].values.tolist() == ["b", "b", "c", "c"]

    def test_selects_by_levels_of_several_dimensions_at_once(self):
        assert make().sel(stimulus_id="a", repetition=1, region="V4").values.tolist() == [[13.0, 15.0]]

    def test_dict_indexer_equals_keywords(self):
        assert make().sel(neuroid={"region": "IT"}).identical(make().sel(region="IT"))
        assert make().loc[{"region": "IT"}].identical(make().sel(region="IT"))

    def test_full_label_drops_the_dimension(self):
        assert make().sel(neuroid=("k", "IT", "m")).dims == ("presentation",)
        assert make().sel(neuroid_id="k", region="IT", animal="m").dims == ("presentation",)
        assert make().sel(neuroid_id="k", region="IT").dims == ("presentation", "neuroid")

    def test_tuples_select_in_a_dimension_with_one_coordinate(self):
        coords = {"stimulus_id": ("presentation", ["a", "b", "c"]), "neuroid_id": ("neuroid", [7, 8])}
        assembly = DataAssembly([[1, 2], [3, 4], [5, 6]], coords, ["presentation", "neuroid"])
        part = assembly.sel(presentation=[("c",), ("a",)], neuroid=[(8,)])
        assert part.values.tolist() == [[6], [2]]
        assert part["stimulus_id"].values.tolist() == ["c", "a"]
        assert assembly.sel(presentation=("b",)).values.tolist() == [3, 4]
        one = DataAssembly([1, 2], {"t": ("time", np.array([3, 4], "M8[D]"))}, ["time"])
        assert one.sel(time=list(one.indexes["time"][:1])).values.tolist() == [1]
        assert assembly.sel(presentation=assembly.indexes["presentation"][1:]).values.tolist() == [[3, 4], [5, 6]]
        with pytest.raises(KeyError, match="'d'"):
            assembly.sel(presentation=[("a",), ("d",)])
        with pytest.raises(KeyError, match="'d'"):
            assembly.sel(presentation=("d",))

    @pytest.mark.parametrize(
        ("indexers", "message"),
        [
            ({"region": "ITT"}, "Did you mean 'IT'"),
            ({"regio": "IT"}, "Did you mean 'region'"),
            ({"neuroid_id": "i", "region": "V4"}, "never in the same neuroid"),
            ({"stimulus_id": ["a", "q"]}, "'q'"),
        ],
    )
    def test_error_for_a_missing_label_helps(self, indexers, message):
        with pytest.raises(KeyError, match=message):
            make().sel(indexers)

    def test_labels_may_be_numbers_booleans_or_times(self):
        dates = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[ns]")
        assembly = DataAssembly(
            [1, 2], {"f": ("x", [0.5, np.nan]), "b": ("x", [True, False]), "t": ("x", dates)}, ["x"]
        )
        assert assembly.sel(f=0.5).values.tolist() == [1]
        assert assembly.sel(f=np.float32(0.5)).values.tolist() == [1]
        assert assembly.sel(b=False).values.tolist() == [2]
        assert assembly.sel(t=dates[1]).values.tolist() == [2]
        with pytest.raises(KeyError):
            assembly.sel(f=np.nan)

    def test_selection_matches_a_boolean_filter(self):
        generator = np.random.default_rng(0)
        table = pd.DataFrame({"a": generator.integers(0, 4, 60), "b": generator.integers(0, 4, 60), "c": 0})
        assembly = DataAssembly(np.arange(60), {name: ("x", table[name]) for name in table}, ["x"])
        assembly = assembly.isel(x=generator.permutation(60))  # levels are shared, codes are no longer sorted
        for a, b in itertools.product(range(4), range(4)):
            expected = assembly.values[(assembly["a"].values == a) & (assembly["b"].values == b)]
            assert assembly.sel(a=a, b=b).values.tolist() == expected.tolist()

    def test_ordinary_index_is_left_to_xarray(self):
        assembly = DataAssembly([1.0, 2.0, 3.0], {"t": ("t", [0.0, 1.0, 2.0])}, ["t"])
        assert assembly.sel(t=0.9, method="nearest").item() == 2.0
        assert assembly.sel(t=slice(1, 2)).values.tolist() == [2.0, 3.0]
        assert assembly.sel(t=1.0)["t"].item() == 1.0
        assert "t" not in assembly.sel(t=1.0, drop=True).coords

    def test_multisel_keeps_the_coordinate(self):
        selected = make().multisel(region="IT")
        assert selected["region"].values.tolist() == ["IT", "IT"]
        assert selected.dims == ("presentation", "neuroid")
        assert make().multisel(region="IT", drop=True).identical(make().sel(region="IT"))


class TestAssignment:
    def test_new_coordinate_is_selectable_at_once(self):
        assembly = make()
        assembly["depth"] = "neuroid", [1, 2, 3, 4]
        assert assembly.sel(depth=3)["neuroid_id"].values.tolist() == ["k"]
        assert get_levels(assembly)[-1] == "depth"
        assert assembly.attrs == {"identifier": "Made2026"}

    def test_assign_coords_leaves_the_original_unchanged(self):
        assembly = make()
        assigned = assembly.assign_coords(depth=("neuroid", [1, 2, 3, 4]))
        assert "depth" not in assembly.coords
        assert type(assigned) is NeuroidAssembly
        assert assigned.sel(depth=3).sizes["neuroid"] == 1

    def test_existing_level_is_replaced(self):
        assembly = make()
        assembly["region"] = "neuroid", ["V1"] * 4
        assert set(assembly["region"].values) == {"V1"}
        assert get_levels(assembly) == get_levels(make())

    def test_bare_dimension_can_get_its_first_coordinate(self):
        assembly = DataAssembly([1, 2], dims=["x"])
        assembly["a"] = "x", ["p", "q"]
        assert assembly.sel(a="q").values.tolist() == [2]

    def test_assigned_array_must_match_in_order_and_length(self):
        assembly = make()
        assembly["label"] = assembly["region"].str.lower()
        assert assembly.sel(label="it").sizes["neuroid"] == 2
        with pytest.raises(AssemblyError, match="a different order"):
            assembly["other"] = assembly.sortby("region")["animal"]
        with pytest.raises(ValueError, match=r"conflicting .*sizes"):
            assembly["x"] = "neuroid", [1, 2]

    def test_values_can_be_assigned_by_position(self):
        assembly = make()
        assembly[0, 0] = 100
        assembly[{"neuroid": 1}] = -1
        assert assembly.values[0, 0] == 100
        assert (assembly.values[:, 1] == -1).all()


KEEP = {
    "isel": lambda a: a.isel(neuroid=[0]),
    "item": lambda a: a[:2],
    "sel": lambda a: a.sel(region="IT"),
    "transpose": lambda a: a.transpose("neuroid", "presentation"),
    "T": lambda a: a.T,
    "squeeze": lambda a: a.isel(neuroid=[0]).squeeze("neuroid"),
    "expand": lambda a: a.expand_dims("split"),
    "sortby": lambda a: a.sortby("region"),
    "copy": lambda a: a.copy(),
    "copy.copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda a: pickle.loads(pickle.dumps(a)),  # noqa: S301  # our own bytes
    "concat": lambda a: xr.concat([a, a], dim="presentation"),
    "merge": lambda a: merge_data_arrays([a.isel(neuroid=[0, 1]), a.isel(neuroid=[2, 3])]),
    "where": lambda a: a.where(a > 3),
    "where drop": lambda a: a.where(a["region"] == "IT", drop=True),
    "fillna": lambda a: a.fillna(0),
    "clip": lambda a: a.clip(0, 3),
    "astype": lambda a: a.astype(int),
    "abs": abs,
    "neg": lambda a: -a,
    "round": lambda a: a.round(1),
    "sqrt": np.sqrt,
    "repetition": lambda a: a.mean(dim="repetition"),
    "dropna": lambda a: a.dropna("neuroid"),
    "rename": lambda a: a.rename("n"),
}
DROP = {
    "add": lambda a: a + 1,
    "radd": lambda a: 1 + a,
    "divide": lambda a: a / a,
    "compare": lambda a: a > 1,
    "equal": lambda a: a == 1,
    "mean": lambda a: a.mean(),
    "mean dim": lambda a: a.mean("neuroid"),
    "std": lambda a: a.std("presentation"),
    "max": lambda a: a.max("presentation"),
    "median": lambda a: a.median("presentation"),
    "count": lambda a: a.count("presentation"),
    "quantile": lambda a: a.quantile(0.5, "presentation"),
    "reduce": lambda a: a.reduce(np.ptp, "neuroid"),
    "cumsum": lambda a: a.cumsum("neuroid"),
    "groupby": lambda a: a.multi_groupby(["stimulus_id", "object"]).mean(dim="presentation"),
}


class TestClassAndAttrs:
    @pytest.mark.parametrize("name", KEEP)
    def test_operation_keeps_class_and_attrs(self, name):
        result = KEEP[name](make(NeuronRecordingAssembly))
        assert type(result) is NeuronRecordingAssembly
        assert result.attrs == {"identifier": "Made2026"}

    @pytest.mark.parametrize("name", DROP)
    def test_computation_keeps_class_and_drops_attrs(self, name):
        assembly = make(NeuronRecordingAssembly)
        result = DROP[name](assembly)
        assert type(result) is NeuronRecordingAssembly
        assert result.attrs == {}
        assert assembly.attrs == {"identifier": "Made2026"}

    def test_keep_attrs_option_is_respected(self):
        assert make().mean("neuroid", keep_attrs=True).attrs == {"identifier": "Made2026"}
        with xr.set_options(keep_attrs=True):
            assert (make() + 1).attrs == {"identifier": "Made2026"}
        assert make().mean("repetition", keep_attrs=False).attrs == {}

    def test_concat_along_existing_and_new_dimensions(self):
        assembly = make()
        longer = xr.concat([assembly, assembly.assign_coords(repetition=("presentation", [7] * 6))], "presentation")
        assert longer.sel(repetition=7).values.tolist() == assembly.values.tolist()
        stacked = xr.concat([assembly.expand_dims(split=[0]), assembly.expand_dims(split=[1])], "split")
        assert stacked.sel(split=1).sel(region="IT").sizes == {"presentation": 6, "neuroid": 2}

    def test_single_level_index_survives_operations(self):
        assembly = DataAssembly([3.0, 1.0, 2.0], {"stimulus_id": ("presentation", list("cab"))}, ["presentation"])
        ordered = assembly.sortby("stimulus_id")
        assert ordered.values.tolist() == [1.0, 2.0, 3.0]
        assert ordered["stimulus_id"].values.tolist() == ["a", "b", "c"]
        joined = xr.concat([assembly, assembly], "presentation")
        assert joined.sel(stimulus_id="c").values.tolist() == [3.0, 3.0]
        assert (assembly + assembly)["stimulus_id"].values.tolist() == ["c", "a", "b"]

    def test_sum_aligns_by_label(self):
        assembly = make()
        assert (assembly + assembly.isel(neuroid=[0, 1])).sizes["neuroid"] == 2


class TestIdiomsOfPlugins:
    """Idioms of existing plugins work on current xarray."""

    def test_drop_vars_takes_a_level(self):
        dropped = make().drop_vars("animal")
        assert get_levels(dropped) == ["stimulus_id", "repetition", "object", "neuroid_id", "region"]
        assert dropped.sel(region="IT").sizes["neuroid"] == 2
        assert set(make().drop_vars("neuroid").coords) == {"presentation", "stimulus_id", "repetition", "object"}
        with pytest.raises(ValueError, match="nowhere"):
            make().drop_vars(["nowhere"])
        assert make().drop_vars(["nowhere"], errors="ignore").identical(make())

    def test_wrapping_restores_a_reset_index(self):
        reset = make().reset_index("neuroid")
        assert "neuroid" not in reset.indexes
        assert NeuroidAssembly(reset).identical(make())

    def test_levels_and_dimensions_can_be_renamed(self):
        renamed = make().rename(region="area")
        assert renamed.sel(area="IT").sizes["neuroid"] == 2
        assert make().rename(neuroid="voxel").sel(region="IT").sizes["voxel"] == 2

    def test_time_bins_can_be_added_and_squeezed(self):
        assembly = make().expand_dims("time_bin", axis=2)
        assembly = assembly.assign_coords(time_bin_start=("time_bin", [70]), time_bin_end=("time_bin", [170]))
        assert assembly["time_bin"].values.tolist() == [(70, 170)]
        assert assembly.sel(time_bin_start=70).dims == ("presentation", "neuroid", "time_bin")
        squeezed = assembly.squeeze("time_bin")
        assert squeezed.dims == ("presentation", "neuroid")
        assert squeezed["time_bin"].item() == (70, 170)
        assert squeezed["time_bin_end"].item() == 170

    def test_iteration_yields_one_neuroid_at_a_time(self):
        assert [part["neuroid_id"].item() for part in make().transpose("neuroid", "presentation")] == list("ijkl")


def make_single():
    coords = {"stimulus_id": ("presentation", list("cab")), "start": ("time_bin", [0, 10])}
    return DataAssembly(np.arange(6.0).reshape(3, 2), coords, ["presentation", "time_bin"], attrs={"x": 1})


class TestSingleCoordinate:
    """A dimension's only coordinate can be used by its own name and by the dimension's name."""

    @pytest.mark.parametrize("name", ["stimulus_id", "presentation"])
    def test_coordinate_has_plain_values_under_both_names(self, name):
        single = make_single()
        for coord in (single[name], single.coords[name], getattr(single, name)):
            assert coord.values.tolist() == ["c", "a", "b"]
            assert coord.dims == ("presentation",)
            assert coord.name == name
        assert set(single[name].values) == set("abc")

    @pytest.mark.parametrize("name", ["stimulus_id", "presentation"])
    def test_masks_work_under_both_names(self, name):
        single = make_single()
        assert (single[name] == "a").values.tolist() == [False, True, False]
        assert single.sel(presentation=single[name] == "a").values.tolist() == [[2.0, 3.0]]
        assert single[single[name].isin(["a", "c"])]["stimulus_id"].values.tolist() == ["c", "a"]
        assert single[{"presentation": np.flatnonzero(single[name].values == "b")}].values.tolist() == [[4.0, 5.0]]

    def test_selection_and_sorting_work_under_both_names(self):
        single = make_single()
        assert single.sel(presentation="a").values.tolist() == [2.0, 3.0]
        assert single.sel(presentation=["a", "c"])["stimulus_id"].values.tolist() == ["a", "c"]
        assert single.sortby("presentation").values[:, 0].tolist() == [2.0, 4.0, 0.0]
        assert single.sortby("stimulus_id").values[:, 0].tolist() == [2.0, 4.0, 0.0]

    def test_grouping_works_under_both_names(self):
        single = xr.concat([make_single(), make_single() + 1], dim="presentation")
        by_dim = single.multi_groupby(["presentation"]).mean(dim="presentation")
        assert by_dim.dims == ("presentation", "time_bin")
        assert by_dim["stimulus_id"].values.tolist() == list("abc")
        assert by_dim.values[:, 0].tolist() == [2.5, 4.5, 0.5]
        by_name = single.multi_groupby(["stimulus_id"]).mean()
        assert by_name.dims == ("stimulus_id", "time_bin")
        assert by_name.values.tolist() == by_dim.values.tolist()

    def test_coordinate_of_another_assembly_keeps_its_name(self):
        single = make_single()
        again = DataAssembly([1, 2, 3], coords={"presentation": single["presentation"]}, dims=["presentation"])
        assert again["stimulus_id"].values.tolist() == list("cab")
        assert again.sel(stimulus_id="a").values.tolist() == [2]

    def test_one_coordinate_can_be_stacked(self):
        plain = DataAssembly([[1.0], [2.0]], {"stimulus_id": ["a", "b"], "neuroid": [7]}, ["stimulus_id", "neuroid"])
        stacked = plain.stack(presentation=["stimulus_id"])  # xarray's method
        assert stacked["stimulus_id"].values.tolist() == stacked["presentation"].values.tolist() == ["a", "b"]
        assert stacked.sel(stimulus_id="b").dims == ("neuroid", "presentation")

    def test_copies_are_identical(self):
        single = make_single()
        pickled = pickle.loads(pickle.dumps(single))  # noqa: S301  # made one line before
        for other in (single.copy(), copy.deepcopy(single), pickled, DataAssembly(single)):
            assert other.identical(single)
            assert other["presentation"].values.tolist() == list("cab")


class TestInexactSelection:
    @pytest.mark.parametrize("name", ["start", "time_bin"])
    def test_nearest_label_is_selected(self, name):
        assert make_single().sel({name: 8}, method="nearest").values.ravel().tolist() == [1.0, 3.0, 5.0]
        assert make_single().multisel({name: 8}, method="nearest").values.ravel().tolist() == [1.0, 3.0, 5.0]

    def test_multisel_keeps_the_nearest_label(self):
        assert make_single().multisel(start=8, method="nearest")["start"].values.tolist() == [10]
        assert make_single().multisel(start=[8], method="nearest")["start"].values.tolist() == [10]

    def test_rejects_distant_labels_and_unsorted_levels(self):
        with pytest.raises(KeyError, match="near 8"):
            make_single().sel(start=8, method="nearest", tolerance=1)
        with pytest.raises(ValueError, match="sorted"):
            make().sel(stimulus_id="a", method="nearest")


class TestNotebook:
    def test_reprs_are_short_whatever_attrs_hold(self):
        table = StimulusSet({"stimulus_id": [f"stimulus_{number}" for number in range(5_000)]})
        table.identifier = "Large2026"
        made = make(stimulus_set=table)
        assert "NeuroidAssembly" in repr(made)
        assert len(repr(made)) < 3_000
        assert len(repr(Score(0.5, attrs={"raw": made}))) < 3_000
        html = made._repr_html_()
        assert "stimulus_set" in html
        assert "neuroid_id" in html
        assert "stimulus_3000" not in html
        assert len(html) < 60_000


class TestMergeDataArrays:
    def test_merges_coordinates_in_another_order(self):
        first = make().isel(presentation=[0, 1])
        other = DataAssembly(make().isel(presentation=[2, 3]))
        other = NeuroidAssembly(
            other.values, dict(reversed(list(_coordinates.plain_coordinates(other).items()))), other.dims
        )
        assert get_levels(other) != get_levels(first)
        merged = merge_data_arrays([first, other])
        assert get_levels(merged) == get_levels(first)
        assert merged.sel(stimulus_id="a").values.tolist() == make().sel(stimulus_id="a").values.tolist()
        assert merged.sel(stimulus_id="b").values.tolist() == make().sel(stimulus_id="b").values.tolist()

    def test_merge_fills_gaps_with_nan(self):
        left = DataAssembly([1.0, 2.0], {"s": ("x", ["a", "b"])}, ["x"], attrs={"first": 1})
        right = DataAssembly([3.0], {"s": ("x", ["c"])}, ["x"], name="n", attrs={"second": 2})
        left, right = left.expand_dims(split=[0]), right.expand_dims(split=[1])
        merged = merge_data_arrays([left, right])
        assert merged.attrs == {"first": 1}
        assert merged.name is None
        np.testing.assert_array_equal(merged.sel(split=0).sel(s="b").values, [2.0])
        np.testing.assert_array_equal(merged.sel(split=0).sel(s="c").values, [np.nan])
        assert merged.sel(split=1).sel(s="c").values.tolist() == [3.0]

    def test_merge_returns_the_class_of_the_first(self):
        merged = merge_data_arrays([make(ModelFeaturesAssembly).isel(neuroid=[0]), make().isel(neuroid=[1])])
        assert type(merged) is ModelFeaturesAssembly
        assert merged.sizes["neuroid"] == 2

    def test_merge_rejects_contradictions_and_an_empty_list(self):
        with pytest.raises(xr.MergeError):
            merge_data_arrays([make(), make() + 1])
        with pytest.raises(AssemblyError, match="nothing"):
            merge_data_arrays([])


class TestMultiGroupby:
    def random(self, n=200):
        generator = np.random.default_rng(3)
        values = generator.standard_normal((n, 3))
        values[generator.random((n, 3)) < 0.3] = np.nan
        return DataAssembly(
            values,
            {
                "a": ("presentation", generator.choice(list("zyx"), n)),
                "b": ("presentation", generator.integers(0, 4, n)),
                "other": ("presentation", np.arange(n)),
                "neuroid_id": ("neuroid", list("ijk")),
            },
            ["presentation", "neuroid"],
            attrs={"k": 1},
        )

    @pytest.mark.parametrize(
        ("how", "options"),
        [
            *((how, {}) for how in ("mean", "sum", "min", "max", "prod", "median", "count")),
            *((how, {"ddof": ddof}) for how in ("std", "var") for ddof in (0, 1)),
            *((how, {"min_count": least}) for how in ("sum", "prod") for least in (2, 12)),
        ],
    )
    def test_group_statistics_agree_with_pandas(self, how, options):
        assembly = self.random()
        table = pd.DataFrame(assembly.values, columns=list("ijk")).assign(
            a=assembly["a"].values, b=assembly["b"].values
        )
        expected = getattr(table.groupby(["a", "b"]), how)(**options)
        actual = getattr(assembly.multi_groupby(["a", "b"]), how)(dim="presentation", **options)
        np.testing.assert_allclose(actual.values, expected.to_numpy(), rtol=1e-12)
        assert list(zip(actual["a"].values, actual["b"].values, strict=True)) == list(expected.index)
        assert get_levels(actual) == ["a", "b"]
        assert actual.attrs == {}

    def test_rejects_an_unknown_option(self):
        with pytest.raises(TypeError, match=r"mean\(\) of groups has no option 'ddof'; it takes dim, skipna\."):
            self.random().multi_groupby(["a", "b"]).mean(ddof=1)

    def test_groups_along_another_axis(self):
        grouped = make().multi_groupby(["region", "animal"]).mean(dim="neuroid")
        assert grouped.dims == ("presentation", "neuroid")
        assert grouped.values[0].tolist() == [1.0, 2.0]

    def test_groups_can_be_reduced_mapped_and_iterated(self):
        assembly = make()
        grouped = assembly.multi_groupby(["stimulus_id", "object"])
        assert len(grouped) == 3
        assert [key for key, _ in grouped] == [("a", "x"), ("b", "y"), ("c", "x")]
        np.testing.assert_array_equal(grouped.reduce(np.ptp).values, np.full((3, 4), 4.0))
        assert (
            grouped.map(lambda part: part.isel(presentation=[0])).values.tolist() == assembly.values[[2, 0, 4]].tolist()
        )

    def test_integers_and_booleans_can_be_averaged_and_summed(self):
        assembly = DataAssembly([1, 2, 4], {"a": ("x", [0, 0, 1]), "b": ("x", [0, 0, 0])}, ["x"])
        assert assembly.multi_groupby(["a", "b"]).mean().values.tolist() == [1.5, 4.0]
        assert assembly.multi_groupby(["a", "b"]).sum().dtype == assembly.dtype
        assert (assembly > 1).multi_groupby(["a", "b"]).mean().values.tolist() == [0.5, 1.0]
        assert (assembly > 0).multi_groupby(["a", "b"]).sum().values.tolist() == [2, 1]

    def test_nan_is_skipped_unless_skipna_is_false(self):
        assembly = DataAssembly([1.0, np.nan, 2.0], {"a": ("x", [0, 0, 1]), "b": ("x", [0, 0, 0])}, ["x"])
        np.testing.assert_array_equal(assembly.multi_groupby(["a", "b"]).mean(skipna=False).values, [np.nan, 2.0])
        np.testing.assert_array_equal(assembly.multi_groupby(["a", "b"]).mean().values, [1.0, 2.0])

    def test_missing_group_labels_form_one_group(self):
        assembly = DataAssembly([1.0, 3.0, 8.0], {"a": ("x", [np.nan, np.nan, 1.0]), "b": ("x", [0, 0, 0])}, ["x"])
        assert assembly.multi_groupby(["a", "b"]).mean().values.tolist() == [8.0, 2.0]

    @pytest.mark.parametrize(
        ("names", "message"),
        [(["stimulus_id", "region"], "one dimension"), (["stimulus"], "stimulus_id"), ([], "no coordinate")],
    )
    def test_rejects_invalid_groups(self, names, message):
        with pytest.raises(GroupbyError, match=message):
            make().multi_groupby(names)
        with pytest.raises(GroupbyError, match="neuroid"):
            make().multi_groupby(["stimulus_id", "object"]).mean(dim="neuroid")


class TestGroups:
    def test_groups_have_positions_first_last_and_quantile(self):
        grouped = make().multi_groupby(["stimulus_id"])
        assert grouped.groups == {"a": [2, 3], "b": [0, 1], "c": [4, 5]}
        assert make().multi_groupby(["stimulus_id", "repetition"]).groups["b", 1] == [1]
        assert grouped.first().values[:, 0].tolist() == [8.0, 0.0, 16.0]
        assert grouped.last().values[:, 0].tolist() == [12.0, 4.0, 20.0]
        assert grouped.quantile(0.25).values[:, 0].tolist() == [9.0, 1.0, 17.0]

    @pytest.mark.parametrize("dim", [..., ("presentation", "neuroid"), ["neuroid", "presentation"]])
    def test_mean_over_all_dimensions_weights_every_value_equally(self, dim):
        values = np.arange(24.0).reshape(6, 4)
        values[2, 1] = np.nan  # a mean over all values of the group, not a mean of means
        assembly = make().copy(data=values)
        by_two = assembly.multi_groupby(["stimulus_id", "object"]).mean(dim)
        assert by_two.dims == ("presentation",)
        assert get_levels(by_two) == ["stimulus_id", "object"]
        for (stimulus_id, shown), part in assembly.multi_groupby(["stimulus_id", "object"]):
            assert by_two.sel(stimulus_id=stimulus_id, object=shown).item() == pytest.approx(np.nanmean(part.values))
        by_one = assembly.multi_groupby(["stimulus_id"]).mean(dim)
        assert by_one.dims == ("stimulus_id",)
        assert by_one.values.tolist() == pytest.approx([np.nanmean(values[rows]) for rows in ([2, 3], [0, 1], [4, 5])])

    def test_all_dimensions_are_reduced_along_another_axis(self):
        across = make().transpose("neuroid", "presentation").multi_groupby(["stimulus_id"])
        assert across.sum(...).equals(make().multi_groupby(["stimulus_id"]).sum(...))
        assert across.median(...).values.tolist() == [11.5, 3.5, 19.5]
        assert across.reduce(np.max, ...).values.tolist() == across.max(...).values.tolist() == [15.0, 7.0, 23.0]

    def test_groups_by_the_index_of_a_dimension(self):
        assembly = DataAssembly([[1, 2, 3], [4, 5, 6]], {"a": ["p", "q"], "b": ["x", "y", "z"]}, ["a", "b"])
        assert assembly.multi_groupby(["a"]).mean(...).equals(DataAssembly([2.0, 5.0], {"a": ["p", "q"]}, ["a"]))

    def test_groupby_of_xarray_works(self):
        grouped = make().groupby("stimulus_id").mean(...)
        assert grouped.dims == ("stimulus_id",)
        assert grouped["stimulus_id"].values.tolist() == list("abc")
        assert grouped.values.tolist() == [11.5, 3.5, 19.5]
        by_presentation = make().groupby("stimulus_id").mean("presentation")
        assert by_presentation.sel(stimulus_id="b").values.tolist() == [2.0, 3.0, 4.0, 5.0]


class TestMultiDimApply:
    def test_function_receives_cells_and_coordinates(self):
        seen = []

        def apply(cells, **coords):
            seen.append((coords["stimulus_id"].tolist(), coords["neuroid_id"]))
            assert isinstance(coords["neuroid_id"], str)
            return np.mean(cells)

        result = make().multi_dim_apply(["stimulus_id", "neuroid_id"], apply)
        assert len(seen) == 12
        assert seen[0] == (["a", "a"], "i")
        assert result["stimulus_id"].values.tolist() == list("bbaacc")
        assert result.values[:, 0].tolist() == [2.0, 2.0, 10.0, 10.0, 18.0, 18.0]
        assert type(result) is NeuroidAssembly

    def test_cells_may_be_scalar_and_every_dimension_is_required(self):
        assembly = DataAssembly([[1, 2]], {"a": ("x", ["p"]), "b": ("y", ["q", "r"])}, ["x", "y"])
        assert assembly.multi_dim_apply(["a", "b"], lambda cell, **_: cell + 0.5).values.tolist() == [[1.5, 2.5]]
        with pytest.raises(GroupbyError, match="every dimension"):
            make().multi_dim_apply(["stimulus_id"], lambda cells, **_: cells)

    def test_result_keeps_the_order_of_dimensions(self):
        result = make().multi_dim_apply(["neuroid_id", "stimulus_id"], lambda cells, **_: cells)
        assert result.dims == ("presentation", "neuroid")
        assert result.sel(stimulus_id="b").values.tolist() == make().sel(stimulus_id="b").values.tolist()


class TestValidate:
    def test_valid_assemblies_pass(self):
        make().validate()
        DataAssembly([np.nan], dims=["anything"]).validate()
        SpikeTimesAssembly([1.0], dims=["event"]).validate()
        BehavioralAssembly([1, 2], {"stimulus_id": ("presentation", ["a", "a"])}, ["presentation"]).validate()

    def test_error_lists_every_problem(self):
        assembly = NeuroidAssembly(
            np.array([[[1.0], [np.nan]]]),
            {"stimulus_id": ("presentation", [7]), "neuroid": ("neuroid", ["n", "n"]), "time_bin_start": ("time", [1])},
            ["presentation", "neuroid", "time"],
        )
        with pytest.raises(AssemblyError) as caught:
            assembly.validate(allow_nan=False)
        message = str(caught.value)
        for part in ("'time'", "'stimulus_id' holds int64", "'neuroid_id'", "1 of 2 values"):
            assert part in message
        with pytest.raises(AssertionError):
            assembly.validate()

    def test_error_names_the_problem(self):
        class Mine(NeuroidAssembly):
            __slots__ = ()

        make().transpose("neuroid", "presentation").validate()  # the order of dimensions is free
        ids = np.array(["a", None], dtype=object)
        for assembly, message in (
            (make().assign_coords(neuroid_id=("neuroid", list("iikl"))), "repeat the neuroid_id of another, such as i"),
            (make().isel(neuroid=0), "'neuroid' is absent"),
            (BehavioralAssembly([0, 1], {"stimulus_id": ("presentation", ids)}, ["presentation"]), "1 missing"),
            (Mine([1], dims=["x"]), "Mine"),
        ):
            with pytest.raises(AssemblyError, match=message):
                assembly.validate()

    def test_time_bins_must_not_end_before_they_start(self):
        coords = {
            "stimulus_id": ("presentation", ["a"]),
            "neuroid_id": ("neuroid", ["n"]),
            "time_bin_start": ("time_bin", [0, 20]),
            "time_bin_end": ("time_bin", [20, 10]),
        }
        assembly = NeuroidAssembly(np.zeros((1, 1, 2)), coords, ["presentation", "neuroid", "time_bin"])
        with pytest.raises(AssemblyError, match="20 to 10 ms"):
            assembly.validate()
        assembly["time_bin_end"] = "time_bin", [20, 40]
        assembly.validate()


class TestHelpers:
    def test_walk_coords_yields_levels_and_scalars(self):
        walked = {name: (dims, values.tolist()) for name, dims, values in walk_coords(make().isel(neuroid=[0, 1]))}
        assert walked["region"] == (("neuroid",), ["IT", "V4"])
        assert set(walked) == {"stimulus_id", "repetition", "object", "neuroid_id", "region", "animal"}
        scalar = DataAssembly([1, 2], {"t": ("t", [3, 4])}, ["t"]).isel(t=0)
        assert [(name, dims, values.item()) for name, dims, values in walk_coords(scalar)] == [("t", (), 3)]

    def test_get_metadata_selects_levels_indexes_and_dimensions(self):
        assembly, of_neuroid = make(), ["neuroid_id", "region", "animal"]
        assert list(get_metadata(assembly, names_only=True)) == get_levels(assembly)
        whole = list(get_metadata(assembly, names_only=True, include_levels=False, include_multi_indexes=True))
        assert whole == ["presentation", "neuroid"]
        assert [name for name, _, _ in get_metadata(assembly, dims=(("neuroid",),))] == of_neuroid
        assert list(coords_for_dim(assembly, "neuroid")) == of_neuroid

    def test_get_metadata_treats_a_single_coordinate_as_an_index(self):
        # As in the published package it counts as an index, not as a level; unlike there it keeps its name.
        coords = {"up": ("a", ["x", "y"]), "down": ("a", [1, 2]), "sideways": ("b", ["p", "q", "r"])}
        assembly = DataAssembly(np.zeros((2, 3)), coords, ["a", "b"])
        assert get_levels(assembly) == ["up", "down"]
        names = functools.partial(get_metadata, assembly, names_only=True)
        assert list(names()) == ["up", "down", "sideways"]
        assert list(names(include_indexes=False)) == ["up", "down"]
        assert list(names(include_levels=False)) == ["sideways"]
        assert list(names(include_levels=False, include_multi_indexes=True)) == ["a", "sideways"]
        assert list(names(include_indexes=False, include_levels=False)) == []
        assert list(names(dims=("b",))) == ["sideways"]
        ((name, dims, values),) = get_metadata(assembly, dims=("b",))
        assert (name, dims, values.tolist()) == ("sideways", ("b",), ["p", "q", "r"])

    def test_second_coordinate_of_a_dimension_comes_last(self):
        assembly = DataAssembly([1, 2], {"z": ("x", [3, 4])}, ["x"])
        assert get_levels(assembly.assign_coords(a=("x", [5, 6]))) == ["z", "a"]

    def test_array_is_element_requires_exactly_one_equal_element(self):
        assert array_is_element(["a"], "a")
        assert not array_is_element(["a", "a"], "a")
        assert not array_is_element([], "a")
        assert array_is_element(np.array([1]), 1)

    def test_gather_indexes_leaves_its_argument_unchanged(self):
        plain = xr.DataArray([1, 2], coords={"a": ("x", [3, 4])}, dims=["x"])
        gathered = gather_indexes(plain)
        assert isinstance(gathered.indexes["x"], pd.MultiIndex)
        assert "x" not in plain.indexes
        assert gather_indexes(make()).identical(make())

    def test_is_fastpath_reads_position_and_keyword(self):
        assert is_fastpath(1, 2, 3, 4, 5, 6, True)
        assert is_fastpath(fastpath=True)
        assert not is_fastpath(1, 2)
