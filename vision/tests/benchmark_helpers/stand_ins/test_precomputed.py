import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision.benchmark_helpers import PrecomputedFeatures


@pytest.fixture
def features(make_recordings):
    def make(ids, values=None):
        n = len(ids)
        return make_recordings(np.arange(2.0 * n).reshape(n, 2) if values is None else values, stimulus_ids=ids)

    return make


def shown(ids, identifier="set"):
    stimulus_set = StimulusSet({"stimulus_id": ids})
    stimulus_set.identifier = identifier
    stimulus_set.stimulus_paths = {each: f"{each}.png" for each in ids}
    return stimulus_set


def test_answers_follow_the_order_of_the_stimuli(features):
    model = PrecomputedFeatures(features(["a", "b", "c"]), visual_degrees=8)
    model.start_recording("V1", time_bins=[(70, 170)])
    answer = model.look_at(shown(["c", "a"]), number_of_trials=3)
    assert answer["stimulus_id"].values.tolist() == ["c", "a"]
    np.testing.assert_array_equal(answer.values, [[4, 5], [0, 1]])
    assert model.visual_degrees() == 8


def test_the_first_of_several_presentations_is_used(features):
    answer = PrecomputedFeatures(features(["a", "b", "a"]), 8).look_at(shown(["a"]))
    np.testing.assert_array_equal(answer.values, [[0, 1]])


def test_error_names_missing_stimuli(features):
    with pytest.raises(AssemblyError, match=r"1 of 2 stimuli.*'z'"):
        PrecomputedFeatures(features(["a"]), 8).look_at(shown(["a", "z"]))


def test_features_are_found_by_set_even_after_placing_on_screen(features):
    model = PrecomputedFeatures({"one": features(["a"]), "two": features(["a"], np.array([[7.0, 8.0]]))}, 8)
    np.testing.assert_array_equal(model.look_at(shown(["a"], "two")).values, [[7, 8]])
    np.testing.assert_array_equal(model.look_at(shown(["a"], "two--target=8.00--source=4.00")).values, [[7, 8]])
    with pytest.raises(AssemblyError, match=r"'three'.*'one', 'two'"):
        model.look_at(shown(["a"], "three"))


def test_identifier_differs_for_different_features(features):
    # The published identifier hashed the abbreviated repr, which is equal for different large arrays.
    many = [str(i) for i in range(2000)]
    values = np.zeros((2000, 2))
    other = values.copy()
    other[1000, 1] = 1
    assert (
        PrecomputedFeatures(features(many, values), 8).identifier
        == PrecomputedFeatures(features(many, values.copy()), 8).identifier
    )
    assert (
        PrecomputedFeatures(features(many, values), 8).identifier
        != PrecomputedFeatures(features(many, other), 8).identifier
    )
