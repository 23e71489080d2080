import numpy as np
import pytest

from brainscore_core.errors import AssemblyError, CeilingError, ContractError, StimulusError
from brainscore_core.metrics import Score
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_metric
from brainscore_vision.benchmark_helpers.behaviour import choices
from brainscore_vision.benchmark_helpers.behaviour.choices import MatchToSampleBenchmark
from brainscore_vision.benchmark_helpers.behaviour.labels import AgreementWithPeople, LabelAccuracy
from brainscore_vision.model_helpers.brain_transformation.behavior import NoReadoutError
from brainscore_vision.testing.coarse_pixels import coarse_pixels
from brainscore_vision.testing.people import KnownAnswers, draw_choices
from brainscore_vision.testing.random_model import RandomModel
from brainscore_vision.testing.stand_ins import draw_stimuli

N = 24
TRUTH = ["cat", "car", "dog"] * 8


@pytest.fixture(scope="module")
def stimuli(tmp_path_factory):
    columns = {"truth": TRUTH, "image_label": TRUTH, "level": range(N)}
    return draw_stimuli("choices-test", N, columns=columns, size_px=16, folder=tmp_path_factory.mktemp("choices"))


@pytest.fixture(scope="module")
def fitting(tmp_path_factory):
    columns = {"image_label": ["dog", "cat", "car"] * 4}
    return draw_stimuli("choices-fit", 12, columns=columns, size_px=16, folder=tmp_path_factory.mktemp("fitting"))


@pytest.fixture(scope="module")
def people(stimuli):
    return draw_choices(stimuli, accuracy=0.7, n_subjects=6, presentation_coords=["truth", "level"])


def perfect(stimuli):
    return KnownAnswers(dict(zip(stimuli["stimulus_id"], stimuli["truth"], strict=True)))


class Changed(RandomModel):
    """A random model whose answers are changed before they are returned."""

    def __init__(self, change):
        super().__init__()
        self.change = change

    def look_at(self, stimuli, number_of_trials=1):
        return self.change(super().look_at(stimuli, number_of_trials))


def test_named_choices_follow_the_order_of_the_stimuli(stimuli):
    named = choices.named_choices(Changed(lambda answers: answers[:, ::-1]), stimuli, TRUTH)
    straight = choices.named_choices(RandomModel(), stimuli, TRUTH)
    assert named.dims == ("presentation",)
    assert named["stimulus_id"].values.tolist() == stimuli["stimulus_id"].tolist()
    assert named["level"].values.tolist() == list(range(N))
    assert named.values.tolist() == straight.values.tolist()
    assert set(named.values.tolist()) <= set(TRUTH)


def test_a_model_may_answer_once_per_trial(stimuli):
    following = {"car": "cat", "cat": "dog", "dog": "car"}

    def twice(answers):
        both = [*answers.values[0], *map(following.get, answers.values[0])]
        return answers_of([both], stimulus_id=np.tile(answers["stimulus_id"].values, 2))

    once = choices.named_choices(RandomModel(), stimuli, TRUTH)
    named = choices.named_choices(Changed(twice), stimuli, TRUTH, number_of_trials=2)
    assert named["stimulus_id"].values.tolist() == stimuli["stimulus_id"].tolist() * 2
    assert named.values.tolist() == [*once.values, *map(following.get, once.values)]


def test_stimuli_are_shown_at_their_visual_size(stimuli):
    model, shown = perfect(stimuli), []
    look_at = model.look_at
    model.look_at = lambda stimuli, **kwargs: shown.append(stimuli) or look_at(stimuli, **kwargs)
    choices.named_choices(model, stimuli, TRUTH, visual_degrees=4)
    choices.named_choices(model, stimuli, TRUTH)
    assert shown[0].identifier == "choices-test--target8.00--source4.00"
    assert (shown[1].identifier, list(shown[1].columns)) == ("choices-test", ["stimulus_id"])
    with pytest.raises(StimulusError, match="positive numbers of degrees"):
        choices.named_choices(model, stimuli, TRUTH, visual_degrees=0)


def test_learned_choices_are_the_most_probable_labels(stimuli, fitting):
    model = perfect(stimuli)
    learned = choices.learned_choices(model, stimuli, fitting, visual_degrees=8)
    assert learned.values.tolist() == TRUTH
    assert learned.dims == ("presentation",)
    assert model.labels == ["dog", "cat", "car"]
    probabilities = choices.learned_probabilities(RandomModel(), stimuli, fitting)
    np.testing.assert_allclose(probabilities.sum("choice"), 1)
    assert probabilities["level"].values.tolist() == list(range(N))


def test_a_network_learns_the_labels_and_answers(stimuli, fitting):
    probabilities = choices.learned_probabilities(coarse_pixels(), stimuli, fitting, visual_degrees=8)
    assert probabilities.sizes == {"presentation": N, "choice": 3}


def test_probabilities_are_averaged_over_trials(stimuli, fitting):
    def twice(answers):
        ids = answers["stimulus_id"].values
        certain = answers.copy(data=np.eye(3)[[int(name[-4:]) % 3 for name in ids]])
        both = np.concatenate([certain.values, np.full((N, 3), 1 / 3)])
        return answers_of(both, stimulus_id=np.tile(ids, 2), choice=("choice", answers["choice"].values))

    probabilities = choices.learned_probabilities(Changed(twice), stimuli, fitting, number_of_trials=2)
    np.testing.assert_allclose(probabilities.values, (np.eye(3)[np.arange(N) % 3] + 1 / 3) / 2)


def test_rejects_answers_to_other_stimuli(stimuli, fitting):
    def renamed(answers):
        ids = answers["stimulus_id"].values.astype(object)
        ids[0] = "never-shown"
        return answers_of(answers.values, stimulus_id=ids)

    with pytest.raises(AssemblyError, match=r"'choices-test_\d{4}'(.|\n)*'never-shown'"):
        choices.named_choices(Changed(renamed), stimuli, TRUTH)
    with pytest.raises(AssemblyError, match=r"'choices-test_\d{4}'"):
        choices.named_choices(Changed(lambda answers: answers[:, :-1]), stimuli, TRUTH)
    with pytest.raises(AssemblyError, match=r"not equally often|only in"):
        choices.learned_choices(Changed(lambda answers: answers[[0] * N]), stimuli, fitting)


def test_rejects_answers_with_other_dimensions(stimuli, fitting):
    def two_each(answers):
        ids = answers["stimulus_id"].values
        return answers_of(np.repeat(answers.values, 2, axis=0), stimulus_id=ids, level=range(N))

    with pytest.raises(AssemblyError, match="one answer for each presentation"):
        choices.named_choices(Changed(two_each), stimuli, TRUTH)
    with pytest.raises(AssemblyError, match="expected an assembly with the dimension 'presentation'"):
        choices.named_choices(Changed(lambda answers: answers.values), stimuli, TRUTH)
    with pytest.raises(AssemblyError, match=r"expected \('presentation', 'choice'\)"):
        choices.learned_choices(Changed(lambda answers: answers[:, 0]), stimuli, fitting)


def test_rejects_answers_that_are_not_labels(stimuli):
    with pytest.raises(AssemblyError, match="answered 'nan'; expected one of car, cat, dog"):
        choices.named_choices(Changed(lambda answers: answers.copy(data=np.full((1, N), np.nan))), stimuli, TRUTH)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rejects_probabilities_that_are_not_finite(stimuli, fitting, value):
    def broken(answers):
        answers.values[3] = value
        return answers

    with pytest.raises(AssemblyError, match="NaN or infinite for 1 of 24"):
        choices.learned_choices(Changed(broken), stimuli, fitting)


def test_a_choice_needs_two_labels(stimuli, fitting):
    with pytest.raises(StimulusError, match="at least two"):
        choices.named_choices(RandomModel(), stimuli, ["cat"] * N)
    with pytest.raises(StimulusError, match="at least two"):
        choices.learned_choices(RandomModel(), stimuli, fitting[fitting["image_label"] == "cat"])
    with pytest.raises(StimulusError, match="'image_label'"):
        choices.learned_choices(RandomModel(), stimuli, fitting[["stimulus_id"]])
    assert choices.choice_labels(["b", "a", "b"]) == ["a", "b"]


def test_a_model_without_logits_cannot_name_labels(stimuli):
    with pytest.raises(NoReadoutError, match="'logits'"):
        choices.named_choices(coarse_pixels(), stimuli, TRUTH)


def benchmark(people, ceiling=None, **options):
    options = {"visual_degrees": 8, "parent": "behavior", "bibtex": "@misc{a}", **options}
    metric = load_metric("accuracy_distance")
    if ceiling:
        metric.ceiling = ceiling
    return AgreementWithPeople("Test-choices", metric, lambda: people, **options)


def test_a_benchmark_can_have_the_model_learn_the_labels(stimuli, people, fitting):
    model = perfect(stimuli)
    score = benchmark(people, load_fitting_stimuli=lambda: fitting)(model)
    assert model.task == "probabilities"
    assert model.labels == ["dog", "cat", "car"]
    named = benchmark(people)(model)
    assert model.task == "label"
    assert model.labels == ["car", "cat", "dog"]
    assert float(score) == float(named) > 0
    assert (score.attrs["n_stimuli"], score.attrs["n_trials"]) == (N, 6 * N)


@pytest.mark.parametrize("ceiling", [0, -0.1, np.nan, np.inf, None, Score(0.0)])
def test_rejects_unusable_ceilings(people, ceiling):
    with pytest.raises(CeilingError, match="Test-choices"):
        benchmark(people, lambda _: ceiling)(RandomModel())


def test_subjects_may_have_seen_different_stimuli(stimuli, people):
    """The second subject saw only half of the stimuli."""
    kept = ~((people["subject"].values == "2") & (people["level"].values >= N // 2))
    part = people[kept]
    part.attrs["stimulus_set"] = stimuli
    score = benchmark(part)(perfect(stimuli))
    assert 0 < float(score) <= 1
    assert score.attrs["n_trials"] == 6 * N - N // 2


def test_conditions_are_read_from_the_human_answers(stimuli, people):
    """The stimulus set may have a column of the same name that means something else."""
    levels = np.repeat(["easy", "hard"], N // 2)
    apart = people.assign_coords(condition=("presentation", np.tile(levels, 6)))
    apart.attrs["stimulus_set"] = stimuli.assign(condition="all alike")
    metric = load_metric("error_consistency")
    options = {"visual_degrees": 8, "parent": "behavior", "bibtex": "@misc{a}"}
    score = AgreementWithPeople("Test-choices", metric, lambda: apart, **options)(RandomModel())
    assert score.attrs["n_conditions"] == 2


def test_label_accuracy_can_use_learned_labels(stimuli, fitting):
    model = perfect(stimuli)
    options = {"visual_degrees": 8, "parent": "behavior", "bibtex": "@misc{a}"}
    score = LabelAccuracy("Test-top1", lambda: stimuli, load_fitting_stimuli=lambda: fitting, **options)(model)
    assert model.task == "probabilities"
    assert float(score) == 1


# -- match to sample ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["i2n", None, MatchToSampleBenchmark])
def test_rejects_a_non_metric_on_construction(metric):
    with pytest.raises(ContractError, match=r"The metric of benchmark 'Lab2026-i2n'.*metric="):
        MatchToSampleBenchmark(
            "Lab2026-i2n",
            metric,
            load_trials=pytest.fail,
            load_fitting_stimuli=pytest.fail,
            visual_degrees=8,
            parent="behavior",
            bibtex="",
        )
