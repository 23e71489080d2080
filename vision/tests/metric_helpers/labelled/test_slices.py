import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision.metric_helpers.labelled import slices


def timed(n=4, q=3, bins=2, seed=0):
    return assembly_of(
        np.random.default_rng(seed).normal(size=(n, q, bins)),
        stimulus_id=[f"s{i}" for i in range(n)],
        object_name=[f"o{i % 2}" for i in range(n)],
        time_bin_start=("time_bin", 10 * np.arange(bins)),
        time_bin_end=("time_bin", 10 * np.arange(bins) + 10),
    )


def test_per_time_calls_once_per_bin_and_stacks_results():
    assembly = timed(bins=3)
    seen = []

    def double(part):
        seen.append(part.dims)
        return part * 2

    result = slices.PerTime(double)(assembly.isel(time_bin=[2, 0, 1]))
    assert seen == [("presentation", "neuroid")] * 3
    assert result.dims == ("time_bin", "presentation", "neuroid")
    np.testing.assert_array_equal(result.values, 2 * assembly.transpose("time_bin", "presentation", "neuroid").values)
    assert result["time_bin_start"].values.tolist() == [0, 10, 20]
    assert result["time_bin_end"].values.tolist() == [10, 20, 30]
    assert result["neuroid_id"].values.tolist() == ["n0", "n1", "n2"]
    assert isinstance(result, NeuroidAssembly)


def test_assemblies_are_sorted_into_the_same_order():
    one = timed(bins=3)
    two = one.isel(time_bin=[1, 2, 0])
    difference = slices.PerTime(lambda a, b: Score(float(np.abs(a.values - b.values).max())))(one, two)
    assert difference.dims == ("time_bin",)
    np.testing.assert_array_equal(difference.values, 0)
    shuffled = one.isel(presentation=[2, 0, 3, 1], neuroid=[1, 2, 0])
    same = slices.PerPresentation(lambda a, b: Score(float((a.values - b.isel(neuroid=[2, 0, 1]).values).sum())))(
        one, shuffled
    )
    np.testing.assert_array_equal(same.values, 0)
    assert same["stimulus_id"].values.tolist() == ["s0", "s1", "s2", "s3"]
    means = slices.PerNeuroid(lambda part: float(part.mean()))(shuffled)
    np.testing.assert_allclose(means.values, one.values.mean(axis=(0, 2)))
    assert means["neuroid_id"].values.tolist() == ["n0", "n1", "n2"]


def test_per_ops_stacks_dimensions_in_order():
    assembly = timed()
    result = slices.PerOps(lambda part: Score(part.values.sum()), ["neuroid", "time_bin"])(assembly)
    assert result.dims == ("neuroid", "time_bin")
    np.testing.assert_allclose(result.values, assembly.values.sum(axis=0))
    assert result["region"].values.tolist() == ["IT"] * 3
    assert slices.PerOps(lambda part: None, ["neuroid"])(assembly) is None


def test_attrs_are_stacked_with_the_values():
    def scored(part):
        score = Score(part.values.mean())
        raw = Score(part.values.mean(axis=0), coords={"neuroid_id": ("neuroid", ["a", "b", "c"])}, dims=["neuroid"])
        score.attrs = {"raw": raw, "error": float(part.values.std()), "seed": 1, "n": int(part.values[0, 0] > 0)}
        return score

    assembly = timed(seed=1)
    result = slices.PerTime(scored)(assembly)
    assert result.attrs["raw"].dims == ("time_bin", "neuroid")
    np.testing.assert_allclose(result.attrs["raw"].values, assembly.values.mean(axis=0).T)
    assert result.attrs["raw"]["time_bin_start"].values.tolist() == [0, 10]
    np.testing.assert_allclose(result.attrs["error"].values, assembly.values.std(axis=(0, 1)))
    assert result.attrs["seed"] == 1
    positive = (assembly.values[0, 0] > 0).astype(int).tolist()
    assert result.attrs["n"] == (positive if len(set(positive)) > 1 else positive[0])


def test_results_with_different_neuroids_are_joined():
    def some(part):
        where = [0, 1] if part["time_bin_start"].item() == 0 else [1, 2]
        names = part["neuroid_id"].values[where]
        return Score(part.values[0, where], coords={"neuroid_id": ("neuroid", names)}, dims=["neuroid"])

    assembly = timed()
    result = slices.PerTime(some)(assembly)
    expected = assembly.values[0].T.copy()
    expected[0, 2] = expected[1, 0] = np.nan
    np.testing.assert_array_equal(result.values, expected)


def test_rejects_absent_or_different_dimensions():
    assembly = timed()
    with pytest.raises(AssemblyError, match="PerTime slices along 'time_bin'"):
        slices.PerTime(lambda part: part)(assembly.isel(time_bin=0, drop=True))
    with pytest.raises(AssemblyError, match="time_bin_start"):
        slices.PerTime(lambda a, b: a)(assembly, timed(bins=3))
    with pytest.raises(AssemblyError, match="size along 'time_bin'"):
        slices.PerOps(lambda a, b: a, ["time_bin"])(assembly, timed(bins=3))
    with pytest.raises(AssemblyError, match="stacking into 'presentation' also needs"):
        slices.SpanTime(lambda part: part)(assembly.isel(time_bin=0, drop=True))


@settings(max_examples=20)
@given(n=st.integers(1, 5), q=st.integers(1, 4), bins=st.integers(1, 4))
def test_span_time_equals_concatenation(n, q, bins):
    assembly = timed(n, q, bins)
    before = assembly.values.copy()
    stacked = slices.SpanTime(lambda part: part)(assembly)
    assert stacked.dims == ("presentation", "neuroid")
    np.testing.assert_array_equal(stacked.values, np.concatenate(np.moveaxis(before, 2, 0)))
    assert stacked["stimulus_id"].values.tolist() == [f"s{i}" for i in range(n)] * bins
    assert stacked["time_bin_start"].values.tolist() == np.repeat(10 * np.arange(bins), n).tolist()
    assert stacked["neuroid_id"].values.tolist() == [f"n{i}" for i in range(q)]
    stacked.values[:] = 0
    np.testing.assert_array_equal(assembly.values, before)


def test_resampling_is_seeded_and_equal_for_all_assemblies():
    assembly = timed(6, 2, 4)
    both = slices.SpanTime(lambda a, b: (a, b), resample=True)(assembly, assembly * 2)
    assert both[0].sizes["presentation"] == 6
    np.testing.assert_array_equal(2 * both[0].values, both[1].values)
    again = slices.SpanTime(lambda a: a, resample=True)(assembly)
    np.testing.assert_array_equal(again.values, both[0].values)
    other = slices.SpanTime(lambda a: a, resample=True, seed=1)(assembly)
    assert not np.array_equal(other.values, again.values)


def test_span_ops_stacks_any_dimensions():
    plain = xr.DataArray(np.arange(24).reshape(2, 3, 4), dims=["a", "b", "c"], coords={"a": [5, 6]})
    stacked = slices.SpanOps(lambda part: part, ["c", "a"], "ca")(plain)
    assert stacked.dims == ("ca", "b")
    np.testing.assert_array_equal(stacked.values, plain.values.transpose(2, 0, 1).reshape(8, 3))
    assert stacked["a"].values.tolist() == [5, 6] * 4
