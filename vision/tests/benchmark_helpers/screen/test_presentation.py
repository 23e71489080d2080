import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision.benchmark_helpers.screen.presentation import digest_order, presented
from brainscore_vision.benchmark_helpers.stand_ins.sharing import SharedCandidate, once
from brainscore_vision.metric_helpers.arrays.column_blocks import is_mapped
from brainscore_vision.model_interface import BrainModel

IDS = st.lists(st.text("abcdefgh0123", min_size=1, max_size=3), min_size=1, max_size=30)


class Watched(BrainModel):
    """A model that records the stimuli it is shown and answers with the position of each."""

    identifier = "watched"

    def __init__(self, layout="adjacent"):
        self.layout = layout

    def visual_degrees(self):
        return 8

    def start_recording(self, recording_target, time_bins):
        """Accept any region."""

    def start_task(self, task, fitting_stimuli=None):
        """Accept any task."""

    def look_at(self, stimuli, number_of_trials=1, require_variance=False):
        self.seen = stimuli
        repeats = np.repeat if self.layout == "adjacent" else np.tile
        places = repeats(np.arange(len(stimuli)), number_of_trials)
        ids = stimuli["stimulus_id"].to_numpy()[places]
        values = np.array([[sum(map(ord, str(name)))] for name in ids], dtype=float)
        labels = {"stimulus_id": ("presentation", ids), "place": ("presentation", places)}
        if self.layout == "without names":
            labels.pop("stimulus_id")
        units = {"neuroid_id": ("neuroid", [0]), "layer": ("neuroid", ["a"])}
        return NeuroidAssembly(values, coords={**labels, **units}, dims=["presentation", "neuroid"])


def stimuli_of(ids, **columns):
    return StimulusSet({"stimulus_id": ids, **columns})


@given(ids=IDS, seed=st.integers(0, 99))
def test_order_depends_only_on_the_stimuli(ids, seed):
    table = np.array(ids, dtype=object)
    order = digest_order(stimuli_of(table))
    assert sorted(order) == list(range(len(ids)))
    moved = np.random.default_rng(seed).permutation(table)
    assert moved[digest_order(stimuli_of(moved, object_name=sorted(moved)))].tolist() == table[order].tolist()


def test_order_depends_on_pixels_but_not_names(write_stimuli):
    pixels = [np.full((2, 2, 3), value) for value in range(20)]
    first = write_stimuli({f"a{number:02}": image for number, image in enumerate(pixels)})
    second = write_stimuli({f"z{19 - number:02}": image for number, image in enumerate(pixels)})
    np.testing.assert_array_equal(digest_order(first), digest_order(second))
    changed = write_stimuli({f"c{number:02}": image + 100 for number, image in enumerate(pixels)})
    assert (digest_order(changed) != digest_order(first)).any()


def test_blocks_of_equal_labels_are_shuffled():
    """In stored order the label changes 3 times in 400 rows; in a random order it would change about 300 times."""
    labels = np.repeat(["bear", "car", "dog", "table"], 100)
    order = digest_order(stimuli_of([f"{number:03}" for number in range(400)]))
    assert 250 < (labels[order][1:] != labels[order][:-1]).sum() < 350


def test_repetitions_of_a_stimulus_are_shuffled():
    order = digest_order(stimuli_of(["a"] * 50 + ["b"] * 50))
    is_a = order < 50
    assert 20 < (is_a[1:] != is_a[:-1]).sum() < 80


def test_rows_of_a_trial_stay_together_but_are_shuffled():
    rng = np.random.default_rng(0)
    trios = np.array([rng.permutation(40)[:3] for _ in range(300)])
    shown = trios.ravel()[digest_order(stimuli_of(trios.ravel().astype(str)), rows_per_trial=3)].reshape(-1, 3)
    assert sorted(map(sorted, shown.tolist())) == sorted(map(sorted, trios.tolist()))
    stored = {frozenset(trio): trio[2] for trio in trios.tolist()}
    third = [stored[frozenset(trio)] for trio in shown.tolist()]
    chosen_first = np.mean([trio[0] == last for trio, last in zip(shown.tolist(), third, strict=True)])
    assert 0.25 < chosen_first < 0.42


@pytest.mark.parametrize("layout", ["adjacent", "one after the other"])
@given(ids=IDS, trials=st.integers(1, 3))
def test_answers_are_returned_in_the_order_of_the_table(layout, ids, trials):
    model, stimuli = Watched(layout), stimuli_of(ids)
    answer = presented(model).look_at(stimuli, number_of_trials=trials)
    repeats = np.repeat if layout == "adjacent" else np.tile
    if trials == 1 or len(set(ids)) == len(ids):
        assert answer["stimulus_id"].values.tolist() == repeats(np.array(ids, dtype=object), trials).tolist()
    np.testing.assert_array_equal(model.seen["stimulus_id"].to_numpy()[answer["place"]], answer["stimulus_id"])
    np.testing.assert_array_equal(answer.values[:, 0], [sum(map(ord, name)) for name in answer["stimulus_id"].values])


def test_answers_without_names_are_reordered_by_position():
    ids = list("dbacfe")
    model = Watched("without names")
    answer = presented(model).look_at(stimuli_of(ids))
    assert model.seen["stimulus_id"].tolist() != ids
    assert answer.values[:, 0].tolist() == list(map(ord, ids))


def test_assemblies_in_attributes_are_reordered_too():
    class Probable(Watched):
        def look_at(self, stimuli, number_of_trials=1):
            answer = super().look_at(stimuli, number_of_trials)
            return answer.assign_attrs(probabilities=answer * 2)

    ids = list("dbacfe")
    answer = presented(Probable()).look_at(stimuli_of(ids))
    assert answer.attrs["probabilities"]["stimulus_id"].values.tolist() == ids


def test_answers_in_another_order_are_unchanged():
    class Sorted(Watched):
        def look_at(self, stimuli, number_of_trials=1):
            return super().look_at(stimuli.sort_values("stimulus_id"), number_of_trials)

    answer = presented(Sorted()).look_at(stimuli_of(list("dbacfe")))
    assert answer["stimulus_id"].values.tolist() == list("abcdef")


def test_a_wrong_number_of_answers_is_passed_on():
    class Short(Watched):
        def look_at(self, stimuli, number_of_trials=1):
            return super().look_at(stimuli, number_of_trials)[:-1]

    assert presented(Short()).look_at(stimuli_of(list("dbacfe"))).sizes["presentation"] == 5


def test_answers_to_trios_are_reordered_by_trial():
    class Odd(Watched):
        def look_at(self, stimuli, number_of_trials=1):
            self.seen = stimuli
            trios = stimuli["stimulus_id"].to_numpy().reshape(-1, 3)
            return answers_of([trios.max(axis=1)], stimulus_id=["|".join(trio) for trio in trios])

    trios = [["a", "b", "c"], ["d", "a", "f"], ["b", "a", "e"], ["h", "g", "a"]]
    model = presented(Odd())
    model.start_task(BrainModel.Task.odd_one_out)
    answer = model.look_at(stimuli_of([name for trio in trios for name in trio]))
    assert answer.values[0].tolist() == [max(trio) for trio in trios]
    assert model.seen["stimulus_id"].tolist() != [name for trio in trios for name in trio]


def test_keep_order_presents_the_stored_order():
    model = Watched()
    presented(presented(model, keep_order=True)).look_at(stimuli_of(list("dbacfe")))
    assert model.seen["stimulus_id"].tolist() == list("dbacfe")


def test_answers_beyond_the_memory_budget_are_reordered_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_MEMORY_GB", "0.00001")
    ids = [f"{number:03}" for number in range(200)]

    class Large(Watched):
        def look_at(self, stimuli, number_of_trials=1):
            answer = super().look_at(stimuli, number_of_trials)
            np.save(tmp_path / "values.npy", answer.values * np.ones((1, 50)))
            values = np.load(tmp_path / "values.npy", mmap_mode="r")
            names = {"stimulus_id": ("presentation", answer["stimulus_id"].values)}
            names["neuroid_id"] = "neuroid", range(50)
            return NeuroidAssembly(values, coords=names, dims=["presentation", "neuroid"], attrs={"a": 1})

    answer = presented(Large()).look_at(stimuli_of(ids))
    assert is_mapped(answer.values)
    assert answer["stimulus_id"].values.tolist() == ids
    assert answer.attrs == {"a": 1}
    np.testing.assert_array_equal(answer.values[:, 49], [sum(map(ord, name)) for name in ids])


def test_passes_on_stimuli_without_names_and_missing_methods():
    class Bare:
        def look_at(self, stimuli, number_of_trials=1):
            return stimuli

    model = presented(Bare())
    assert model.look_at("no table") == "no table"
    with pytest.raises(AttributeError, match="start_task"):
        model.start_task("label", ["a"])


def test_shared_steps_work_through_the_presentation_wrapper():
    calls = []
    shared = presented(SharedCandidate(Watched()))
    shared.start_recording("IT", [(70, 170)])
    assert [once(shared, "step", lambda: calls.append(1) or 5) for _ in range(2)] == [5, 5]
    assert calls == [1]
