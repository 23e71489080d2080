import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision.metric_helpers.labelled import judgements

PEOPLE = answers_of(
    ["a", "b", "a", "NaN", "b"],
    stimulus_id=["s2", "s1", "s2", "s1", "s2"],
    truth=["a", "a", "a", "a", "a"],
    subject=["x", "x", "y", "y", "x"],
)


def test_judgements_are_counted_by_subject_and_stimulus():
    people = judgements.read_judgements(PEOPLE)
    assert people.subjects.tolist() == ["x", "y"]
    assert people.stimuli.tolist() == ["s1", "s2"]
    assert people.conditions == [()]
    assert people.judged.tolist() == [[[1, 2], [1, 1]]]
    assert people.right.tolist() == [[[0, 1], [0, 1]]]
    assert judgements.read_judgements(PEOPLE, omitted=["NaN"]).judged.tolist() == [[[1, 2], [0, 1]]]
    with pytest.raises(AssemblyError, match=r"more than once .*'s2' by 'x'"):
        judgements.read_judgements(PEOPLE, single=True)


def test_conditions_are_the_combinations_that_occur():
    people = judgements.read_judgements(
        answers_of(
            list("aaaa"),
            stimulus_id=list("1234"),
            truth=list("aaba"),
            subject=list("xxxx"),
            size=[2, 1, 2, 1],
            colour=["red", "red", "blue", "red"],
        ),
        ["size", "colour"],
    )
    assert people.conditions == [(1, "red"), (2, "blue"), (2, "red")]
    assert people.judged.sum(axis=(1, 2)).tolist() == [2, 1, 1]
    assert people.right.sum(axis=(1, 2)).tolist() == [2, 0, 1]


def test_repeated_answers_of_a_model_are_averaged():
    people = judgements.read_judgements(PEOPLE)
    source = answers_of(list("aba"), stimulus_id=["s1", "s1", "s2"], trial=[0, 1, 2])
    share, answered = judgements.read_model_judgements(source, people)
    assert share.tolist() == [[0.5, 1.0]]
    assert answered.all()
    with pytest.raises(AssemblyError, match="repeated"):
        judgements.read_model_judgements(source, people, single=True)
    share, answered = judgements.read_model_judgements(source, people, omitted=["b"])
    assert share.tolist() == [[1.0, 1.0]]


def test_the_models_truth_takes_precedence():
    source = answers_of(list("bb"), stimulus_id=["s1", "s2"], truth=["b", "a"])
    assert judgements.read_model_judgements(source, judgements.read_judgements(PEOPLE))[0].tolist() == [[1.0, 0.0]]


def test_labels_compare_as_numbers_or_as_text():
    assert judgements.same_label(np.array([1.0, 2.0]), np.array([1, 3])).tolist() == [True, False]
    assert judgements.same_label(np.array(["1", "2"]), np.array([1, 3])).tolist() == [True, False]
    assert judgements.same_label(np.array(["a"], dtype=object), np.array(["a"])).tolist() == [True]


def test_labels_of_needs_one_label_per_presentation():
    assert judgements.labels_of(answers_of([list("ab")], stimulus_id=list("12"))).tolist() == ["a", "b"]
    with pytest.raises(AssemblyError, match="argmax"):
        judgements.labels_of(answers_of([list("ab"), list("ab")]))


def test_most_probable_chooses_the_first_maximum():
    values = np.array([[0.2, 0.8], [0.5, 0.5]])
    assembly = answers_of(values, stimulus_id=list("12"), choice=("choice", ["no", "yes"]))
    assert judgements.most_probable(assembly).tolist() == ["yes", "no"]
    assert judgements.most_probable(assembly.transpose("choice", "presentation")).tolist() == ["yes", "no"]
    values[1, 0] = np.nan
    with pytest.raises(AssemblyError, match="NaN for 1 of 2"):
        judgements.most_probable(assembly.copy(data=values))
    with pytest.raises(AssemblyError, match="presentation"):
        judgements.most_probable(PEOPLE)


def test_rejects_judgements_without_presentations():
    with pytest.raises(AssemblyError, match="no presentations"):
        judgements.read_judgements(PEOPLE.isel(presentation=slice(0)))
