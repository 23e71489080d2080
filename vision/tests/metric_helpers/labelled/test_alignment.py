import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.errors import AssemblyError
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision.metric_helpers.labelled import alignment


@given(values=st.lists(st.sampled_from("abcdef"), min_size=1, max_size=20), seed=st.integers(0, 1000))
def test_matching_order_puts_values_in_the_order_of_the_reference(values, seed):
    shuffled = np.random.default_rng(seed).permutation(values)
    order = alignment.matching_order(values, shuffled)
    assert shuffled[order].tolist() == values
    assert sorted(order.tolist()) == list(range(len(values)))


def test_repeated_values_are_paired_in_order():
    assert alignment.matching_order(["a", "b", "a"], ["b", "a", "a"]).tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    ("source", "named"),
    [
        (["a", "b", "x"], ["'c'", "'x'", "1 only in the target", "1 only in the source"]),
        (["a", "b"], ["'c'", "Source (2) and target (3)"]),
        (["a", "b", "c", "c"], ["not equally often", "'c'"]),
    ],
)
def test_error_lists_mismatched_values(source, named):
    with pytest.raises(AssemblyError, match="do not have the same stimulus_id") as error:
        alignment.matching_order(["a", "b", "c"], source)
    assert all(part in str(error.value) for part in named)


def test_object_and_string_identifiers_match():
    assert alignment.matching_order(np.array(["b", "a"], dtype=object), np.array(["a", "b"])).tolist() == [1, 0]


def test_integers_match_floats_only_if_equal():
    assert alignment.matching_order([2, 1], [1.0, 2.0]).tolist() == [1, 0]
    large = np.array([2**53, 2**53 + 2])
    assert alignment.matching_order(large, large[::-1].astype(float)).tolist() == [1, 0]
    for integers in (large + 1, (large + 1).astype(np.uint64)):  # rounded, they equal other numbers
        with pytest.raises(AssemblyError, match=r"only in the target \('9007199254740993'.*'9007199254740992\.0'"):
            alignment.matching_order(integers, integers.astype(float))
        with pytest.raises(AssemblyError, match="do not have the same stimulus_id"):
            alignment.matching_order(integers.astype(float), integers)


def test_a_single_time_bin_is_dropped_and_several_are_rejected():
    bins = {"time_bin_start": ("time_bin", [70]), "time_bin_end": ("time_bin", [170])}
    single = assembly_of(np.ones((3, 2, 1)), **bins)
    assert alignment.squeeze_time_bin(single).dims == ("presentation", "neuroid")
    two = assembly_of(np.ones((3, 2, 2)), time_bin_start=("time_bin", [70, 80]), time_bin_end=("time_bin", [80, 90]))
    assert alignment.squeeze_time_bin(two) is two
    with pytest.raises(AssemblyError, match="time_bin"):
        alignment.matrix(two, ["presentation", "neuroid"], role="target")


def test_error_for_a_missing_coordinate_suggests_the_nearest():
    with pytest.raises(AssemblyError, match=r"'stimulus_idd'.*Did you mean 'stimulus_id'"):
        alignment.coordinate(assembly_of([[1, 2]]), "stimulus_idd")
    with pytest.raises(
        AssemblyError, match=r"no coordinate 'repetition'.* Pass single repetitions, not their mean"
    ) as error:
        alignment.coordinate(assembly_of([[1, 2]]), "repetition")
    assert "Did you mean" not in str(error.value)


def test_constant_and_empty_neuroids_are_excluded_and_listed():
    values = np.array([[1.0, 5.0, np.nan, 2.0], [2.0, 5.0, np.nan, 1.0]])
    neuroids = alignment.usable_neuroids(values, np.array(["a", "b", "c", "d"]))
    assert neuroids.used.tolist() == [True, False, False, True]
    assert neuroids.attrs == {"n_neuroids": 2, "n_neuroids_left_out": 2, "neuroids_left_out": ["b", "c"]}


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rejects_neuroids_with_some_missing_values(bad):
    with pytest.raises(AssemblyError, match=r"1 of 2 neuroids of the target .*'b'"):
        alignment.usable_neuroids(np.array([[1.0, bad], [2.0, 1.0]]), np.array(["a", "b"]))


def test_rejects_a_target_without_varying_neuroids():
    with pytest.raises(AssemblyError, match=r"No neuroid .* varies"):
        alignment.usable_neuroids(np.ones((3, 2)), np.array(["a", "b"]))
