import numpy as np
import pytest

from brainscore_core.errors import AssemblyError, StimulusError
from brainscore_core.records.record import ScoreRecord
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_metric
from brainscore_vision.benchmark_helpers.behaviour.labels import AgreementWithPeople, LabelAccuracy, label_accuracy
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.testing.stand_ins import draw_stimuli

TRUTH = ["dog", "cat", "dog", "cat", "dog", "cat", "dog", "cat"]
COLUMNS = {
    "truth": TRUTH,
    "kind": ["a", "a", "a", "a", "a", "a", "b", "b"],
    "level": [1, 1, 1, 1, 2, 2, 2, 2],
    "origin": ["x", "y", "x", "y", "x", "y", "x", "y"],
}


@pytest.fixture
def stimuli(tmp_path):
    return draw_stimuli("Named2026", 8, columns=COLUMNS, folder=tmp_path)


class Namer(BrainModel):
    """Answers with fixed labels, `repeats` times each, and records the task and the stimuli it was given."""

    identifier = "namer"

    def __init__(self, answers, *, repeats=1, reverse=False):
        self.answers, self.repeats, self.reverse = answers, repeats, reverse

    def visual_degrees(self):
        return 8

    def start_task(self, task, fitting_stimuli):
        self.task, self.choices = task, fitting_stimuli

    def look_at(self, stimuli, number_of_trials=1):
        self.shown, self.number_of_trials = stimuli, number_of_trials
        ids = np.sort(stimuli["stimulus_id"].to_numpy().astype(str))[: len(self.answers)]  # in the stored order
        given, ids = np.tile(self.answers, self.repeats), np.tile(ids, self.repeats)
        order = slice(None, None, -1) if self.reverse else slice(None)
        return answers_of([given[order]], stimulus_id=ids[order], n=range(len(ids)))


ANSWERS = ["dog", "cat", "cat", "dog", "dog", "dog", "dog", "cat"]  # correct: 1 1 0 0 1 0 1 1


def benchmark(stimuli, **options):
    return LabelAccuracy("Named2026-top1", lambda: stimuli, parent="engineering", bibtex="@misc{a}", **options)


@pytest.mark.parametrize("reverse", [False, True])
def test_accuracy_matches_a_hand_computed_value(stimuli, reverse):
    model = Namer(ANSWERS, reverse=reverse)
    score = benchmark(stimuli)(model)
    assert float(score) == 5 / 8
    assert score.raw.raw.values.tolist() == [1, 1, 0, 0, 1, 0, 1, 1]
    assert score.attrs["error"] == pytest.approx(np.std([1, 1, 0, 0, 1, 0, 1, 1], ddof=1) / np.sqrt(8))
    assert (score.attrs["n_stimuli"], score.attrs["n_trials"]) == (8, 8)
    assert float(score.ceiling) == 1
    assert (model.task, model.choices) == ("label", ["cat", "dog"])


def test_guessing_scores_zero_if_chance_is_specified(stimuli):
    score = benchmark(stimuli, chance=0.5)(Namer(ANSWERS))
    assert float(score) == pytest.approx((5 / 8 - 1 / 2) / (1 / 2))
    assert float(score.raw) == 5 / 8
    assert score.attrs["error"] == pytest.approx(2 * score.raw.attrs["error"])
    low, high = score.raw.attrs["interval"]
    assert score.attrs["interval"] == pytest.approx((2 * low - 1, 2 * high - 1))
    assert float(benchmark(stimuli, chance=0.5)(Namer(TRUTH))) == 1


def test_the_model_does_not_see_the_labels(stimuli):
    model = Namer(ANSWERS)
    benchmark(stimuli, visual_degrees=4, number_of_trials=7)(model)
    assert set(model.shown.columns) <= {"stimulus_id", "degrees"}
    assert model.shown["degrees"].unique().tolist() == [8]
    assert model.number_of_trials == 7
    benchmark(stimuli)(model)
    assert list(model.shown.columns) == ["stimulus_id"]
    assert model.shown.identifier == "Named2026"


def test_conditions_have_equal_weight(stimuli):
    score = benchmark(stimuli, conditions=["kind", "level"])(Namer(ANSWERS))
    assert score.raw.raw["kind"].values.tolist() == ["a", "a", "b"]
    assert score.raw.raw["level"].values.tolist() == [1, 2, 2]
    assert score.raw.raw.values.tolist() == [2 / 4, 1 / 2, 1]
    assert float(score) == pytest.approx(2 / 3)


def test_error_is_over_the_chosen_unit(stimuli):
    score = benchmark(stimuli, unit="origin")(Namer(ANSWERS))
    assert score.attrs["error"] == pytest.approx(np.std([3 / 4, 2 / 4], ddof=1) / np.sqrt(2))
    assert score.raw.attrs["error_over"] == ["origin"]


def test_answers_to_a_stimulus_are_averaged(stimuli):
    score = benchmark(stimuli)(Namer(ANSWERS, repeats=3))
    once = benchmark(stimuli)(Namer(ANSWERS))
    assert float(score) == float(once)
    assert score.attrs["error"] == pytest.approx(once.attrs["error"])
    assert (score.attrs["n_stimuli"], score.attrs["n_trials"]) == (8, 24)


def test_rejects_answers_to_other_stimuli(stimuli, tmp_path):
    answers = Namer(ANSWERS).look_at(draw_stimuli("Other2026", 8, folder=tmp_path))
    with pytest.raises(AssemblyError, match=r"only in the target \('Named2026_0000'.*only in the source \('Other2026"):
        label_accuracy(answers, stimuli)
    with pytest.raises(AssemblyError, match="1 only in the target"):
        benchmark(stimuli)(Namer(ANSWERS[:-1]))
    with pytest.raises(AssemblyError, match="1 only in the target"):
        benchmark(stimuli, choices="imagenet", visual_degrees=4)(Namer(ANSWERS[:-1]))


def test_rejects_labels_outside_the_choices(stimuli):
    with pytest.raises(AssemblyError, match="answered 'cow'; expected one of cat, dog"):
        benchmark(stimuli)(Namer(["cow", *ANSWERS[1:]]))
    assert float(benchmark(stimuli, choices="imagenet")(Namer(["n01440764", *ANSWERS[1:]]))) == 4 / 8


def test_rejects_stimuli_without_the_columns_or_rows(stimuli):
    with pytest.raises(StimulusError, match="'Named2026-top1' lack 'colour'; they have the columns stimulus_id, truth"):
        benchmark(stimuli, conditions=["colour"])(Namer(ANSWERS))
    with pytest.raises(AssemblyError, match="the stimulus set is empty"):
        label_accuracy(Namer([]).look_at(stimuli), stimuli[:0])


def test_constructing_a_benchmark_loads_nothing():
    def fail():
        raise AssertionError

    LabelAccuracy("a-top1", fail, parent="engineering", bibtex="@misc{a}")
    metric = load_metric("error_consistency")
    AgreementWithPeople("a-error_consistency", metric, fail, parent="a", bibtex="@misc{a}", visual_degrees=8)


@pytest.fixture
def people(stimuli):
    """Three people who err on different stimuli: B agrees with A more than C does."""
    wrong = {"A": [0, 1, 2], "B": [1, 2, 3], "C": [2, 5, 6]}
    other = {"dog": "cat", "cat": "dog"}
    answers = [other[label] if i in wrong[name] else label for name in wrong for i, label in enumerate(TRUTH)]
    ids, truth = (np.tile(column, 3) for column in (stimuli["stimulus_id"], TRUTH))
    people = answers_of(answers, stimulus_id=ids, truth=truth, subject=np.repeat(list(wrong), 8))
    return people.assign_attrs(stimulus_set=stimuli)


def agreement(people, metric="error_consistency", **options):
    options = {"visual_degrees": 4, **options}
    return AgreementWithPeople(
        "Named2026-agreement", load_metric(metric), lambda: people, parent="behavior", bibtex="@misc{a}", **options
    )


def test_agreement_is_divided_by_its_ceiling_and_bounded(people):
    made = agreement(people)
    model = Namer(people.values[:8])
    score = made(model)
    raw = load_metric("error_consistency")(model.look_at(people.stimulus_set), people)
    assert float(score.raw) == float(raw)
    assert float(made.ceiling) == float(load_metric("error_consistency").ceiling(people))
    assert float(raw / made.ceiling) > 1  # the model equals one of the people, so one comparison is with itself
    assert float(score) == 1
    assert float(agreement(people, bounded=False)(model)) == pytest.approx(float(raw) / float(made.ceiling))
    assert (model.task, model.choices) == ("label", ["cat", "dog"])
    assert model.shown["degrees"].unique().tolist() == [8]


def test_agreement_names_its_stimuli_and_assembly(people):
    """Two benchmarks on the same human answers are not independent; averages recognise this by these names."""
    people.attrs.update(stimulus_set_identifier="Named2026", identifier="Named2026.people")
    model = Namer(people.values[8:16])
    records = [
        ScoreRecord.of_score(agreement(people, metric)(model), model="namer", benchmark=f"Named2026-{metric}")
        for metric in ("error_consistency", "accuracy_distance")
    ]
    assert {(each.stimulus_set, each.assembly) for each in records} == {("Named2026", "Named2026.people")}
    assert [each.estimate().influence is not None for each in records] == [True, True]


def test_agreement_with_stimuli_that_fill_the_field_of_view(people):
    model = Namer(people.values[:8])
    agreement(people, visual_degrees=None)(model)
    assert model.shown.identifier == "Named2026"
