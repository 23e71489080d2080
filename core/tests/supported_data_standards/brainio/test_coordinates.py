import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from brainscore_core.supported_data_standards.brainio import _coordinates
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly


def make(**coords):
    length = len(next(iter(coords.values())))
    return DataAssembly(np.arange(length), {name: ("x", values) for name, values in coords.items()}, ["x"])


def test_fold_leaves_its_argument_unchanged():
    plain = xr.DataArray([1, 2], coords={"a": ("x", [3, 4]), "b": ("x", [5, 6])}, dims=["x"])
    folded = _coordinates.fold(plain)
    assert list(folded.xindexes["x"].index.names) == ["a", "b"]
    assert not plain.xindexes


def test_fold_returns_none_when_there_is_nothing_to_do():
    assert _coordinates.fold(make(a=[1, 2])) is None
    assert _coordinates.fold(xr.DataArray([1], dims=["x"])) is None
    assert _coordinates.fold(xr.DataArray([1], coords={"x": [5]}, dims=["x"])) is None


def test_step_numbers_become_a_level_next_to_the_bin_edges():
    # Published wrappers of recurrent networks do this: they number the steps and then give them times.
    numbered = DataAssembly([[1, 2]], coords={"step": [4, 7]}, dims=["x", "step"])
    numbered["time_bin_start"] = "step", [0, 100]
    numbered["time_bin_end"] = "step", [100, 200]
    timed = DataAssembly(numbered.rename({"step": "time_bin"}))
    assert set(timed.xindexes["time_bin"].index.names) == {"time_bin_level_0", "time_bin_start", "time_bin_end"}
    assert timed["time_bin_level_0"].values.tolist() == [4, 7]
    later = timed.sel(time_bin_start=100)
    assert later.dims == ("x", "time_bin")
    assert later.values.tolist() == [[2]]


def test_levels_follow_their_index():
    # Published metrics do this for matrices of stimuli: they copy all coordinates except the neuroid dimension.
    places = {"presentation": {"stimulus_id": ["a", "b"], "object_name": ["x", "y"]}, "neuroid": {"neuroid_id": [1, 2]}}
    coords = {name: (dim, values) for dim, each in places.items() for name, values in each.items()}
    assembly = DataAssembly([[1, 2], [3, 5]], coords, ["presentation", "neuroid"])
    copied = {name: values for name, values in assembly.coords.items() if name != "neuroid"}
    assert set(copied) == {"presentation", "stimulus_id", "object_name", "neuroid_id"}
    squares = DataAssembly([1, 4], copied, ["presentation"])
    assert set(squares.xindexes["presentation"].index.names) == {"stimulus_id", "object_name"}
    assert squares.sel(stimulus_id="b").values == 4
    assert "neuroid_id" not in squares.coords
    alone = {name: values for name, values in copied.items() if name != "presentation"}
    assert DataAssembly([1, 4], alone, ["presentation"])["object_name"].values.tolist() == ["x", "y"]


def test_stack_accepts_coordinates_of_one_dimension():
    coords = {"stimulus_id": ("x", ["a", "b"]), "repetition": ("x", [0, 1]), "neuroid_id": ("neuroid", [7, 8, 9])}
    assembly = DataAssembly(np.arange(6).reshape(2, 3), coords, ["x", "neuroid"])
    assert assembly.stack(neuroid=["neuroid_id"]).identical(assembly)
    assert assembly.stack(x=["stimulus_id", "repetition"]).identical(assembly)
    renamed = assembly.stack({"presentation": ("stimulus_id",)})
    assert renamed.dims == ("presentation", "neuroid")
    assert renamed.sel(stimulus_id="b").values.tolist() == [[3, 4, 5]]
    timed = assembly.expand_dims("start").expand_dims("end")
    timed["start"], timed["end"] = [50], [200]
    assert timed.stack(time_bin=["start", "end"])["time_bin"].values.tolist() == [(50, 200)]


def test_fold_keeps_an_index_with_other_coordinates():
    choices = DataAssembly([0.5, 0.5], {"choice": ["a", "b"], "colour": ("choice", ["r", "g"])}, ["choice"])
    assert choices.sel(choice="b").item() == 0.5
    assert _coordinates.fold(choices) is None


def test_fold_appends_to_an_index_without_changing_it():
    plain = xr.DataArray.assign_coords(make(a=[2, 1], b=[1, 1]), c=("x", ["p", "q"]))
    index = _coordinates.fold(plain).xindexes["x"].index
    assert index.to_list() == [(2, 1, "p"), (1, 1, "q")]


@given(st.lists(st.one_of(st.none(), st.text("aBcü中 ", max_size=3)), min_size=1, max_size=20))
def test_codes_restore_the_values(values):
    array = np.array(values, dtype=object)
    codes, uniques = _coordinates.codes_of(make(a=array), "a")
    assert list(uniques) == sorted(set(values) - {None})
    assert [None if code == len(uniques) else uniques[code] for code in codes] == values


@given(st_numpy.arrays(np.int8, 12), st.permutations(range(12)))
def test_codes_are_sorted_after_any_reordering(values, order):
    codes, uniques = _coordinates.codes_of(make(a=values, b=values).isel(x=list(order)), "a")
    assert (uniques[codes] == values[list(order)]).all()
    assert (uniques[1:] > uniques[:-1]).all()


def test_codes_restore_values_that_cannot_be_sorted():
    mixed = np.array([1, "b", 1], dtype=object)
    codes, uniques = _coordinates.codes_of(make(a=mixed, b=[0, 0, 0]), "a")
    assert [uniques[code] for code in codes] == [1, "b", 1]


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("xyz"), st.booleans()), min_size=1, max_size=30))
def test_groups_match_pandas(rows):
    table = pd.DataFrame(rows, columns=["a", "b", "c"])
    groups, first = _coordinates.group_codes(make(**{name: table[name].to_numpy() for name in table}), ["a", "b", "c"])
    expected = table.groupby(["a", "b", "c"]).ngroup()
    assert groups.tolist() == expected.tolist()
    assert first.tolist() == [expected.tolist().index(group) for group in range(expected.max() + 1)]


def test_group_codes_do_not_overflow():
    generator = np.random.default_rng(0)
    keys = {f"c{number}": np.append(generator.permutation(2000), [0, 0]) for number in range(8)}  # 2000 ** 8 > 2 ** 63
    table = pd.DataFrame(keys)
    groups, _ = _coordinates.group_codes(make(**keys), list(keys))
    assert groups.tolist() == table.groupby(list(keys)).ngroup().tolist()
    assert groups[-1] == groups[-2]


def test_drop_coordinates_and_reorder_levels():
    dropped = _coordinates.drop_coordinates(make(a=[1, 2], b=[3, 4]), ["a"])
    assert _coordinates.level_names(dropped, "x") == ["b"]
    bare = _coordinates.drop_coordinates(dropped, ["b"])
    assert not bare.coords
    assert bare.dims == ("x",)
    ordered = _coordinates.reorder_levels(make(a=[1, 2], b=[3, 4], c=[5, 6]), ["c", "a"])
    assert _coordinates.level_names(ordered, "x") == ["c", "a", "b"]
    assert ordered["a"].values.tolist() == [1, 2]


def test_values_of_repeated_entries_and_of_half_precision():
    picked = make(a=["p", "q"], b=[1, 2]).isel(x=[1, 1, 0])
    assert _coordinates.values_of(picked, "a").tolist() == ["q", "q", "p"]
    assert make(a=np.array([0.5, 1.5], dtype=np.float16))["a"].values.tolist() == [0.5, 1.5]


def test_rejects_invalid_groups_and_selections():
    with pytest.raises(ValueError, match="at least one"):
        _coordinates.group_codes(make(a=[1]), [])
    with pytest.raises(ValueError, match="step"):
        make(a=[1, 2]).sel(a=slice(1, 2, 2))
    with pytest.raises(KeyError, match="2 dimensions"):
        DataAssembly(np.eye(2), {"both": (("x", "y"), np.eye(2))}, ["x", "y"]).sel(both=1)
