import numpy as np
import pytest

from brainscore_vision.testing.people import KnownAnswers, draw_choices
from brainscore_vision.testing.stand_ins import draw_stimuli


@pytest.fixture(scope="module")
def stimuli(tmp_path_factory):
    columns = {"truth": list("abcd") * 10, "image_label": list("badc") * 10}
    return draw_stimuli("people-test", 40, columns=columns, size_px=8, folder=tmp_path_factory.mktemp("people"))


def test_people_have_the_requested_accuracy(stimuli):
    accuracy = np.linspace(0.1, 0.9, 40)
    choices = draw_choices(stimuli, accuracy=accuracy, n_subjects=400, presentation_coords=["truth"])
    right = (choices.values == choices["truth"].values).reshape(400, 40).mean(axis=0)
    np.testing.assert_allclose(right, accuracy, atol=4 * 0.5 / np.sqrt(400))
    wrong = choices.values[(choices["truth"].values == "a") & (choices.values != "a")]
    shares = np.unique(wrong, return_counts=True)[1] / len(wrong)
    np.testing.assert_allclose(shares, 1 / 3, atol=0.03)  # all three others equally often
    assert len(set(choices["subject"].values)) == 400
    assert choices.attrs["stimulus_set"] is stimuli


def test_each_subject_may_have_a_different_accuracy(stimuli):
    choices = draw_choices(stimuli, accuracy=[[1.0], [0.0]], n_subjects=2, presentation_coords=["truth"])
    right = choices.values == choices["truth"].values
    assert right[:40].all()
    assert not right[40:].any()


def test_choices_are_determined_by_the_seed(stimuli):
    one, same, other = (draw_choices(stimuli, accuracy=0.5, n_subjects=3, seed=seed).values for seed in (0, 0, 1))
    assert (one == same).all()
    assert (one != other).any()


def test_known_answers_are_given_in_every_task(stimuli):
    ids = stimuli["stimulus_id"].tolist()
    model = KnownAnswers(dict(zip(ids, stimuli["truth"], strict=True)) | {f"{ids[0]}|{ids[1]}|{ids[2]}": ids[1]})
    model.start_task("label", list("abcd"))
    named = model.look_at(stimuli)
    assert named.dims == ("choice", "presentation")
    assert named.values[0].tolist() == stimuli["truth"].tolist()
    model.start_task("probabilities", stimuli)
    learned = model.look_at(stimuli, number_of_trials=3)
    assert learned["choice"].values.tolist() == list("badc")  # in order of first occurrence
    assert learned["choice"].values[learned.values.argmax(axis=1)].tolist() == stimuli["truth"].tolist()
    assert learned["truth"].values.tolist() == stimuli["truth"].tolist()
    model.start_task("odd_one_out")
    assert model.look_at(stimuli[:3]).values.tolist() == [[ids[1]]]
