import numpy as np
import pytest

from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_metric


def trials(answers, subjects, n):
    ids = np.resize([f"s{i}" for i in range(n)], len(answers))
    return answers_of(answers, stimulus_id=ids, truth=["a"] * len(answers), subject=subjects)


PEOPLE = trials([*"aabb", "", "NaN", *"aa"], ["x"] * 4 + ["y"] * 4, 4)
MODEL = trials(["a", "NaN", "b", "a"], ["model"] * 4, 4)


def test_score_uses_only_stimuli_that_both_answered():
    score = load_metric("kato_accuracy_distance")(MODEL, PEOPLE)
    # x: stimuli 0, 2, 3, model 2/3, x 1/3; y: stimuli 2, 3, model 1/2, y 1.
    np.testing.assert_allclose(score.raw.values, [1 - (1 / 3) / (2 / 3), 1 - (1 / 2) / 1])
    assert score.attrs["quantity"] == "share"
    assert score.attrs["n_trials"] == 6
    plain = load_metric("accuracy_distance")(MODEL, PEOPLE)
    np.testing.assert_allclose(plain.raw.values, [1, 1])  # all are correct for two of four


def test_ceiling_uses_only_stimuli_that_both_answered():
    ceiling = load_metric("kato_accuracy_distance").ceiling(PEOPLE)
    assert float(ceiling) == pytest.approx(1 - 1 / 1)  # on stimuli 2 and 3, x is never correct and y always


def test_no_score_without_common_answers():
    silent = trials(["NaN"] * 4, ["model"] * 4, 4)
    score = load_metric("kato_accuracy_distance")(silent, PEOPLE)
    assert np.isnan(float(score))
    assert score.attrs["n_undefined"] == 2
    assert np.isnan(load_metric("kato_accuracy_distance", compat=True)(silent, PEOPLE).attrs["error"])
