import numpy as np
import pytest
from scipy.stats import sem

from brainscore_core.errors import AssemblyError
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_metric


def people():
    """Three people, who are correct for 5, 3 and 9 of 9 stimuli."""
    answers = ["dog cat chair cat dog dog dog dog chair", "cat cat chair cat dog cat chair cat cat"]
    answers.append(" ".join(["dog cat chair"] * 3))
    return answers_of(
        np.array(" ".join(answers).split()),
        stimulus_id=np.tile([f"s{i}" for i in range(9)], 3),
        truth=np.resize(["dog", "cat", "chair"], 27),
        condition=np.tile(np.repeat([1, 2, 3], 3), 3),
        animacy=np.resize(["animate", "animate", "inanimate"], 27),
        subject=np.repeat(["A", "B", "C"], 9),
    )


def only(name):
    target = people()
    return target.isel(presentation=target["subject"].values == name)


def test_score_matches_hand_computed_values():
    score = load_metric("accuracy_distance")(only("A"), people())
    expected = [1, 1 - (2 / 9) / (6 / 9), 1 - (4 / 9) / 1]
    np.testing.assert_allclose(score.attrs["raw"].values, expected)
    assert float(score) == pytest.approx(0.74074074)  # as published
    assert float(score.raw.sel(subject="A")) == 1
    assert score.attrs["error"] == pytest.approx(sem(expected))
    notes = {name: score.attrs[name] for name in ("n_stimuli", "n_trials", "n_subjects", "n_conditions", "quantity")}
    assert notes == {"n_stimuli": 9, "n_trials": 27, "n_subjects": 3, "n_conditions": 1, "quantity": "share"}
    published = load_metric("accuracy_distance", compat=True)(only("A"), people())
    assert published.attrs["error"] == pytest.approx(np.std(expected))


@pytest.mark.parametrize("variables", [("condition",), ["condition", "animacy"], "condition"])
def test_conditions_are_compared_separately(variables):
    score = load_metric("accuracy_distance")(only("C"), people(), variables)
    assert float(score) == pytest.approx(0.55555556)  # as published
    # A is correct for 3, 0 and 2 of 3: a perfect model is equally good, as far away as possible, and half as far.
    if variables in (("condition",), "condition"):
        assert float(score.raw.sel(subject="A")) == pytest.approx((1 + 0 + 1 / 2) / 3)


def test_conditions_absent_from_one_side_are_ignored():
    target = people()
    source = only("C").isel(presentation=slice(6))
    score = load_metric("accuracy_distance")(source, target, ("condition",))
    assert float(score.raw.sel(subject="A")) == pytest.approx((1 + 0) / 2)
    seen = target["condition"].values == 1
    assert load_metric("accuracy_distance")(only("C"), target.isel(presentation=seen), ("condition",)) > 0
    with pytest.raises(AssemblyError, match=r"missing from the source .*'s8'"):
        load_metric("accuracy_distance")(only("C").isel(presentation=slice(8)), target, ("condition",))


def test_ceiling_compares_pairs_of_people():
    ceiling = load_metric("accuracy_distance").ceiling(people())
    expected = [1 - (2 / 9) / (6 / 9), 1 - 4 / 9, 1 - 6 / 9]  # A-B, A-C, B-C; the second is the person
    np.testing.assert_allclose(ceiling.attrs["raw"].values, expected)
    assert float(ceiling) == pytest.approx(np.mean(expected))
    assert ceiling.raw["subject_left"].values.tolist() == ["A", "A", "B"]
    assert ceiling.raw["subject_right"].values.tolist() == ["B", "C", "C"]
    assert ceiling.attrs["error"] > 0
    published = load_metric("accuracy_distance", compat=True).ceiling(people())
    assert published.attrs["error"] == pytest.approx(np.std(expected))
    both = load_metric("accuracy_distance", symmetric=True).ceiling(people())
    turned = [1 - (2 / 9) / (5 / 9), 1 - (4 / 9) / (5 / 9), 1 - (6 / 9) / (6 / 9)]  # the first is the person
    np.testing.assert_allclose(both.attrs["raw"].values, (np.array(expected) + turned) / 2)


def test_rejects_different_stimuli_and_missing_coordinates():
    metric = load_metric("accuracy_distance")
    with pytest.raises(AssemblyError, match="only in the source"):
        metric(only("A"), people().isel(presentation=people()["stimulus_id"].values != "s3"))
    with pytest.raises(AssemblyError, match="'colour'"):
        metric(only("A"), people(), ("colour",))
    with pytest.raises(AssemblyError, match="two subjects"):
        metric.ceiling(only("A"))
    with pytest.raises(AssemblyError, match="'subject'"):
        metric(only("A"), answers_of(list("ab"), stimulus_id=list("12"), truth=list("ab")))
