import numpy as np
import pytest

from brainscore_core.errors import LayerNotFoundError
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.scores import OnePass

from .conftest import KnownLayers, pictures_of


@pytest.fixture
def net():
    rng = np.random.default_rng(0)
    return KnownLayers({"a": rng.normal(size=(9, 3)), "b": rng.normal(size=(9, 2, 2, 2)), "c": rng.normal(size=(9, 5))})


@pytest.fixture
def stimuli(write_stimuli):
    return write_stimuli(pictures_of(9), degrees=[8] * 9)


def test_overlapping_sets_are_shown_once(net, stimuli):
    model = OnePass(net, ["a", "b"])
    first, second = stimuli.iloc[:6], stimuli.iloc[[8, 4, 0]]
    model.show([first, second])
    assert net.shown == [(["s0", "s1", "s2", "s3", "s4", "s5", "s8"], ["a", "b"])]
    for part in (first, second):
        for layers in (["a"], ["b", "a"]):
            answer, expected = model(part, layers), net(part, layers)
            np.testing.assert_array_equal(answer.values, expected.values)
            assert list(answer.coords) == list(expected.coords)
            for name in expected.coords:
                if name != "neuroid":  # tuples of the other coordinates
                    np.testing.assert_array_equal(answer[name].values, expected[name].values)
        np.testing.assert_array_equal(model.values(part, "b"), net(part, ["b"]).values)
    assert [each[1] for each in net.shown[1:]] == [["a"], ["b", "a"], ["b"]] * 2  # only from the comparisons above


def test_values_of_all_stimuli_are_not_copied(net, stimuli):
    model = OnePass(net, ["a", "b"])
    model.show([stimuli])
    values = model.values(stimuli, "b")
    assert values.base is not None
    assert np.shares_memory(values, model.values(stimuli, "b"))


def test_new_stimuli_are_run_for_all_layers_and_remembered(net, stimuli):
    model = OnePass(net, ["a", "b"])
    model(stimuli, ["a"])
    model(stimuli.iloc[2:4], ["b"])
    assert [layers for _, layers in net.shown] == [["a", "b"]]


def test_sets_with_one_name_for_two_files_are_kept_apart(net, stimuli, write_stimuli, tmp_path):
    (tmp_path / "other").mkdir()
    OnePass(net, ["a"]).show([stimuli, write_stimuli(pictures_of(2), folder=tmp_path / "other")])
    assert [len(ids) for ids, _ in net.shown] == [9, 2]


def test_other_layers_and_variance_are_passed_to_the_model(net, stimuli):
    model = OnePass(net, ["a"])
    model(stimuli, ["c"])
    model(stimuli, ["a"], require_variance=True)
    model(stimuli, ["a"], require_variance=True)
    assert [layers for _, layers in net.shown] == [["c"], ["a"], ["a"]]


def test_repeated_trials_are_not_remembered(net, stimuli):
    def trials(stimuli, layers, number_of_trials=1, require_variance=False):
        answer = net(stimuli, layers)
        return answer.isel(presentation=np.repeat(np.arange(len(stimuli)), number_of_trials))

    model = OnePass(trials, ["a", "b"])
    model.show([stimuli], number_of_trials=3)
    assert model(stimuli, ["a"], number_of_trials=2).sizes["presentation"] == 18
    assert model.values(stimuli, "a") is None
    assert [layers for _, layers in net.shown] == [["a", "b"], ["a"]]


def test_new_stimuli_have_no_values(net, stimuli):
    assert OnePass(net, ["a"]).values(stimuli, "a") is None


def test_model_that_omits_a_layer_is_an_error(net, stimuli):
    model = OnePass(lambda stimuli, layers, **_: net(stimuli, ["a"]), ["a", "aa"])
    with pytest.raises(LayerNotFoundError, match=r"'aa'.*Did you mean 'a'"):
        model.show([stimuli])
