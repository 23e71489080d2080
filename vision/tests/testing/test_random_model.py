import numpy as np
import pytest

from brainscore_core.testing.synthetic import make_stimulus_set
from brainscore_vision.testing import RandomModel


@pytest.fixture
def stimuli(tmp_path):
    stimulus_set = make_stimulus_set(tmp_path, 9)
    stimulus_set["image_label"] = ["a", "b", "c"] * 3
    return stimulus_set


def test_activity_has_the_requested_region_and_time_bins(stimuli):
    model = RandomModel(5.0, n_neuroids=4)
    model.start_recording("V4", [(0, 10)])
    flat = model.look_at(stimuli)
    assert (flat.dims, flat.shape, model.visual_degrees()) == (("presentation", "neuroid"), (9, 4), 5.0)
    assert flat["stimulus_id"].values.tolist() == stimuli["stimulus_id"].tolist()
    assert set(flat["region"].values) == {"V4"}
    assert np.unique(flat.values).size == flat.size
    model.start_recording("IT", [(0, 10), (10, 20)])
    binned = model.look_at(stimuli)
    assert binned.dims == ("presentation", "neuroid", "time_bin")
    assert binned["time_bin_end"].values.tolist() == [10, 20]


def test_activity_depends_on_the_stimulus_and_the_seed(stimuli):
    answers = []
    for seed in (0, 0, 1):
        model = RandomModel(seed=seed)
        model.start_recording("IT")
        answers.append(model.look_at(stimuli[::-1] if answers else stimuli))
    np.testing.assert_array_equal(answers[0].values, answers[1].values[::-1])
    assert (answers[0].values != answers[2].values[::-1]).all()


def test_tasks_follow_the_interface(stimuli):
    model = RandomModel()
    model.start_task("label", ["cat", "dog"])
    labels = model.look_at(stimuli)
    assert (labels.dims, labels.shape) == (("choice", "presentation"), (1, 9))
    assert set(labels.values.ravel()) == {"cat", "dog"}
    model.start_task("label", "imagenet")
    assert model.look_at(stimuli).shape == (1, 9)
    model.start_task("probabilities", stimuli)
    shares = model.look_at(stimuli)
    assert shares.dims == ("presentation", "choice")
    assert shares["choice"].values.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(shares.values.sum(axis=1), 1)
    model.start_task("odd_one_out")
    odd = model.look_at(stimuli)
    trios = [name.split("|") for name in odd["stimulus_id"].values]
    assert odd.shape == (1, 3)
    assert all(choice in trio for choice, trio in zip(odd.values[0], trios, strict=True))
