import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_metric


def choices(labels, ids="1234"):
    return answers_of(labels, stimulus_id=list(ids), trial=np.arange(len(ids)))


def test_accuracy_matches_a_hand_computed_value():
    score = load_metric("accuracy")(choices(list("abcd")), choices(list("abdd")))
    assert score == pytest.approx(0.75)
    assert score.attrs["raw"].values.tolist() == [True, True, False, True]
    assert score.attrs["raw"]["stimulus_id"].values.tolist() == list("1234")
    assert score.attrs["error"] == pytest.approx(np.sqrt(0.75 * 0.25 / 3))
    assert (score.attrs["n_stimuli"], score.attrs["n_trials"]) == (4, 4)
    assert score.attrs["quantity"] == "accuracy"


def test_a_choice_dimension_of_length_one_is_accepted():
    assert load_metric("accuracy")(choices([list("abcd")]), choices(list("abdd"))) == pytest.approx(0.75)


@pytest.mark.parametrize("container", [list, tuple, np.array])
def test_arrays_and_lists_compare_in_order(container):
    assert load_metric("accuracy")(container(list("abcd")), container(list("abdd"))) == pytest.approx(0.75)
    assert load_metric("accuracy")(choices(list("abcd")), container(list("abdd"))) == pytest.approx(0.75)
    assert load_metric("accuracy")(container([1, 2, 3]), container([1, 2, 4])) == pytest.approx(2 / 3)


def test_object_arrays_are_accepted_as_labels():
    assert load_metric("accuracy")(choices(np.array(list("abcd"), dtype=object)), choices(list("abcd"))) == 1


@pytest.mark.parametrize("missing", [None, np.nan])
@pytest.mark.parametrize("container", [choices, lambda labels: labels], ids=["assembly", "array"])
def test_missing_answers_are_wrong_and_missing_truth_raises(container, missing):
    answers = container(np.array(["a", "b", missing, "nan"], dtype=object))
    score = load_metric("accuracy")(answers, container(np.array(["a", "b", "None", "nan"], dtype=object)))
    assert score.attrs["raw"].values.tolist() == [True, True, False, True]
    with pytest.raises(AssemblyError, match="1 of 4 target labels are missing, the first at position 2"):
        load_metric("accuracy")(answers, answers)


def test_nan_answers_are_wrong_and_nan_truth_raises():
    assert float(load_metric("accuracy")([0.0, np.nan], [0, 1])) == 0.5
    with pytest.raises(AssemblyError, match="1 of 2 target labels are missing"):
        load_metric("accuracy")([0.0, np.nan], [0.0, np.nan])


def test_rejects_labels_that_cannot_be_compared():
    metric = load_metric("accuracy")
    with pytest.raises(AssemblyError, match="'5'"):
        metric(choices(list("abcd"), "1235"), choices(list("abcd")))
    with pytest.raises(AssemblyError, match="source has 3 labels and the target 4"):
        metric(list("abc"), list("abcd"))
    with pytest.raises(AssemblyError, match="argmax"):
        metric(np.zeros((4, 3)), list("abcd"))
    with pytest.raises(AssemblyError, match=r"never be equal.*astype"):
        metric([1, 2, 3], ["1", "2", "3"])
    with pytest.raises(AssemblyError, match="Nothing to compare"):
        metric([], [])


def test_repeated_presentations_do_not_change_the_error():
    once = load_metric("accuracy")(choices(list("abcd")), choices(list("abdd")))
    twice = load_metric("accuracy")(choices(list("aabbccdd"), "11223344"), choices(list("aabbdddd"), "11223344"))
    assert float(twice) == float(once)
    assert twice.attrs["error"] == pytest.approx(once.attrs["error"])


def test_error_includes_sampling_of_people():
    """Of two people, one is always correct and the other never: n - 1 = 1 degree of freedom, error 1/2."""
    target = choices(list("abcdabcd"), "12341234").assign_coords(subject=("presentation", list("xxxxyyyy")))
    score = load_metric("accuracy")(list("abcd----"), target)
    assert float(score) == 0.5
    assert score.attrs["error"] == pytest.approx(0.5)
    assert score.attrs["error_df"] == pytest.approx(1)
    assert score.attrs["error_over"] == ["stimulus", "subject"]


def test_perfect_accuracy_has_an_interval_but_no_error():
    score = load_metric("accuracy")(choices(list("abcd")), choices(list("abcd")))
    assert np.isnan(score.attrs["error"])
    assert "no spread" in score.attrs["error_nan_reason"]
    low, high = score.attrs["interval"]
    assert high == 1
    assert 0 < low < 0.6  # Wilson's interval for four answers, with Student's t for three degrees of freedom
    assert low == pytest.approx(4 / (4 + 3.182446**2))
