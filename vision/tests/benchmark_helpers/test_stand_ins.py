import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.benchmark_helpers.stand_ins import SharedCandidate, once
from brainscore_vision.model_interface import region_layers
from brainscore_vision.testing.random_model import RandomModel


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


# -- sharing -----------------------------------------------------------------------------------------------------------


class Counting(RandomModel):
    """Counts calls, and gives a new answer in each."""

    region_layer_map = {"IT": "last", "V4": "middle"}  # noqa: RUF012 - models define it as a class attribute

    def __init__(self):
        super().__init__()
        self.looks, self.tasks = [], []

    def start_task(self, task, fitting_stimuli=None):
        self.tasks.append(task)
        super().start_task(task, fitting_stimuli)

    def look_at(self, stimuli, number_of_trials=1):
        self.looks.append((stimuli.identifier, self._region, number_of_trials))
        answer = super().look_at(stimuli, number_of_trials)
        return answer + len(self.looks) if self._task is None else answer


@pytest.fixture
def model():
    return Counting()


@pytest.fixture
def stimuli(make_stimuli, tmp_path):
    return make_stimuli(tmp_path, 6)


def recorded(candidate, stimuli, region="IT", bins=((70, 170),), trials=1):
    candidate.start_recording(region, time_bins=list(bins))
    return candidate.look_at(stimuli, number_of_trials=trials)


def test_a_repeated_request_runs_the_model_once(model, stimuli):
    shared = SharedCandidate(model)
    first = recorded(shared, stimuli)
    recorded(shared, stimuli, region="V4")
    again = recorded(shared, stimuli.copy())
    assert [region for _, region, _ in model.looks] == ["IT", "V4"]
    assert first.identical(again)
    assert type(again) is type(first)


def test_any_difference_in_a_request_runs_the_model_again(model, stimuli, tmp_path, make_stimuli):
    shared = SharedCandidate(model)
    recorded(shared, stimuli)
    recorded(shared, stimuli, bins=[(70, 90)])
    recorded(shared, stimuli, trials=2)
    recorded(shared, stimuli[:3])
    recorded(shared, stimuli[::-1])
    recorded(shared, stimuli.assign(object_name="z"))
    other = stimuli.copy()
    other.identifier = "another"
    recorded(shared, other)
    (tmp_path / "other").mkdir()
    stimuli.stimulus_paths = make_stimuli(tmp_path / "other", 6, prefix="t").stimulus_paths.values()
    stimuli.stimulus_paths = dict(zip(stimuli["stimulus_id"], reversed(stimuli.stimulus_paths), strict=True))
    recorded(shared, stimuli)  # other pictures under the same names
    assert len(model.looks) == 8


def test_changing_an_answer_does_not_change_the_cache(model, stimuli):
    shared = SharedCandidate(model)
    first = recorded(shared, stimuli)
    kept = first.values.copy()
    first.values[:] = 0
    np.testing.assert_array_equal(recorded(shared, stimuli).values, kept)


def test_answers_evicted_from_the_cache_are_computed_again(model, stimuli):
    size = recorded(Counting(), stimuli).nbytes
    shared = SharedCandidate(model, most_bytes=2 * size)
    for region in ("IT", "V4", "IT", "V1", "IT", "V4"):
        recorded(shared, stimuli, region=region)
    assert [region for _, region, _ in model.looks] == [
        "IT",
        "V4",
        "V1",
        "V4",
    ]  # the least recently used one was evicted
    recorded(SharedCandidate(model, most_bytes=size - 1), stimuli)
    assert len(model.looks) == 5


def test_answers_in_files_are_cached_whatever_their_size(stimuli, tmp_path):
    class Mapped(Counting):
        def look_at(self, stimuli, number_of_trials=1):
            answer = super().look_at(stimuli, number_of_trials)
            np.save(tmp_path / "answer.npy", answer.values)
            return answer.copy(data=np.load(tmp_path / "answer.npy", mmap_mode="r"))

    model = Mapped()
    shared = SharedCandidate(model, most_bytes=1)
    assert recorded(shared, stimuli).identical(recorded(shared, stimuli))
    assert len(model.looks) == 1


def test_a_task_is_prepared_once_and_its_answers_are_shared(model, stimuli, make_stimuli, tmp_path):
    (tmp_path / "fit").mkdir()
    fitting = make_stimuli(tmp_path / "fit", 4, prefix="f").assign(image_label=["x", "y"] * 2)
    shared = SharedCandidate(model)
    for _ in range(2):
        shared.start_task("probabilities", fitting)
        shared.look_at(stimuli)
    assert (model.tasks, len(model.looks)) == (["probabilities"], 1)
    recorded(shared, stimuli)
    shared.start_task("probabilities", fitting.assign(image_label=["y", "x"] * 2))
    shared.look_at(stimuli)
    assert len(model.looks) == 3


def test_stimuli_without_a_digest_are_not_shared(model, stimuli):
    shared = SharedCandidate(model)
    odd = stimuli.assign(thing=[object()] * len(stimuli))
    recorded(shared, odd)
    recorded(shared, odd)
    stimuli.get_stimulus("s0").unlink()
    recorded(shared, stimuli)
    recorded(shared, stimuli)
    assert len(model.looks) == 4
    calls = []
    for _ in range(2):
        once(shared, "step", lambda: calls.append(1), odd)
    assert len(calls) == 2


def test_steps_run_once_per_recording_and_argument(model, stimuli):
    shared, calls = SharedCandidate(model), []

    def step():
        calls.append(1)
        return len(calls)

    results = []
    for region, shown in (("IT", stimuli), ("IT", stimuli), ("IT", stimuli[:2]), ("V4", stimuli), ("IT", stimuli)):
        shared.start_recording(region, time_bins=[(70, 170)])
        results.append(once(shared, "mean", step, shown))
    assert results == [1, 1, 2, 3, 1]
    assert [once(model, "mean", step) for _ in range(2)] == [4, 5]  # an unwrapped model shares nothing


def test_a_failed_recording_clears_the_cache(model, stimuli):
    def fail(region, time_bins):
        raise KeyError(region)

    shared = SharedCandidate(model)
    recorded(shared, stimuli)
    model.start_recording = fail
    with pytest.raises(KeyError):
        shared.start_recording("TEO", time_bins=[(70, 170)])
    shared.look_at(stimuli)
    shared.look_at(stimuli)
    assert len(model.looks) == 3


def test_other_attributes_are_the_models(model):
    shared = SharedCandidate(model)
    assert (shared.identifier, shared.visual_degrees()) == (model.identifier, 8.0)
    assert region_layers(shared) == {"IT": "last", "V4": "middle"}
    with pytest.raises(AttributeError, match="absent"):
        shared.absent()
