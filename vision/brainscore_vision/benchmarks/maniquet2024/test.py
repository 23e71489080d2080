import numpy as np
import pytest

from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_benchmark
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.testing.stand_ins import draw_stimuli

from .benchmark import PUBLISHED_CEILINGS, Maniquet2024ConfusionSimilarity, Maniquet2024TasksConsistency

METRICS = ["confusion_similarity", "tasks_consistency"]


# -- with stand-ins ----------------------------------------------------------------------------------------------------

OBJECTS = np.array(["building", "bus", "cat", "face", "tree"])
CONDITIONS = {  # people's task -> manipulation and details of models' images
    "control": ("control", "control"),
    "clutter_heavy": ("clutter", "heavy"),
    "clutter_light": ("clutter", "light"),
    "scrambling_highpass": ("phasescrambling", "highpass"),
    "scrambling_lowpass": ("phasescrambling", "lowpass"),
    "occlusion_few_large_blobs_high": ("occluder", "fewlarge-high"),
    "occlusion_many_small_deletion_low": ("occluder", "manysmall-low"),
}
EASE = np.array([0.9, 0.5, 0.8, 0.3, 0.6, 0.4, 0.7])  # share of right answers to each task
TAKEN_FOR = np.array([[0, 7, 2, 1, 0], [1, 0, 0, 8, 1], [0, 1, 0, 3, 6], [5, 5, 0, 0, 0], [2, 0, 8, 0, 0]])
N_TRIALS = 7000
N_EACH = 10  # images of an object in a task


def draw_answers(truth, task, generator):
    """Draw people's answers: their accuracy depends on the task, their confusions on the object."""
    wrong = TAKEN_FOR[truth] / TAKEN_FOR[truth].sum(axis=1, keepdims=True) * (1 - EASE[task])[:, None]
    wrong[np.arange(len(truth)), truth] = EASE[task]
    return (wrong.cumsum(axis=1) > generator.random(len(truth))[:, None]).argmax(axis=1)


def typical_answers(truth, task, ease=EASE, taken_for=TAKEN_FOR):
    """Return answers with the average accuracies and confusions of people."""
    answers = truth.copy()
    for shown in range(len(OBJECTS)):
        wrong = np.concatenate(
            [
                np.flatnonzero((truth == shown) & (task == number))[round(N_EACH * share) :]
                for number, share in enumerate(ease)
            ]
        )
        quota = taken_for[shown].cumsum() / taken_for[shown].sum() * len(wrong)
        answers[wrong] = (np.arange(len(wrong))[:, None] + 0.5 > quota).sum(axis=1)
    return answers


def stand_in(stand_ins):
    """Replace the data by made-up images and people; return the images that models are tested with."""
    generator = np.random.default_rng(0)
    train = draw_stimuli("Maniquet2024-train", 20, columns={"image_label": np.resize(OBJECTS, 20)}, size_px=32)
    stand_ins.stimuli("Maniquet2024-train", train)
    names = np.array(list(CONDITIONS))
    shown, condition = (each.ravel() for each in np.mgrid[: len(OBJECTS), : len(names) * N_EACH])
    columns = {
        "image_label": OBJECTS[shown],
        "manipulation": [CONDITIONS[names[number % len(names)]][0] for number in condition],
        "manipulation_details": [CONDITIONS[names[number % len(names)]][1] for number in condition],
    }
    test = draw_stimuli("Maniquet2024-test", len(shown), columns=columns, size_px=16)
    stand_ins.stimuli("Maniquet2024-test", test)
    truth, task = generator.integers(len(OBJECTS), size=N_TRIALS), generator.integers(len(names), size=N_TRIALS)
    answer = draw_answers(truth, task, generator)
    people = answers_of(
        (truth == answer).astype(float),
        stimulus_id=[f"shown{number}" for number in range(N_TRIALS)],
        image_label=OBJECTS[truth],
        prediction=OBJECTS[answer],
        task=names[task],
        subject_id=generator.integers(20, size=N_TRIALS),
    )
    stand_ins.data("Maniquet2024", people)
    return test


@pytest.fixture(scope="module")
def stimuli(module_stand_ins):
    return stand_in(module_stand_ins)


class Answering(PrecomputedFeatures):
    """A model with given answers, by number of the object, that keeps the stimuli it was shown."""

    def __init__(self, stimuli, answers, visual_degrees=8):
        probabilities = np.full((len(answers), len(OBJECTS)), 0.1)
        probabilities[np.arange(len(answers)), answers] = 0.6
        coords = {"stimulus_id": stimuli["stimulus_id"], "choice": ("choice", OBJECTS), "n": range(len(answers))}
        super().__init__(answers_of(probabilities, **coords), visual_degrees)

    def start_task(self, task, fitting_stimuli):
        self.task, self.learned_from = task, fitting_stimuli

    def look_at(self, stimuli, number_of_trials=1):
        self.shown = stimuli
        return super().look_at(stimuli, number_of_trials)


def objects_and_tasks(stimuli):
    """Return the numbers of the object and the task of each image."""
    conditions = list(CONDITIONS.values())
    both = zip(stimuli["manipulation"], stimuli["manipulation_details"], strict=True)
    return np.searchsorted(OBJECTS, stimuli["image_label"]), np.array([conditions.index(each) for each in both])


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
def test_model_that_errs_like_people_reaches_the_ceiling(stimuli, metric):
    benchmark = load_benchmark(f"Maniquet2024-{metric}")
    assert 0.9 < benchmark.ceiling <= 1
    truth, task = objects_and_tasks(stimuli)
    score = benchmark(Answering(stimuli, typical_answers(truth, task)))
    assert float(score) == pytest.approx(1, abs=2 * score.attrs["error"])
    generator = np.random.default_rng(0)
    others = []
    for _ in range(20):
        elsewhere = generator.permuted(TAKEN_FOR, axis=1)
        np.fill_diagonal(elsewhere, 0)
        answers = typical_answers(truth, task, generator.permutation(EASE), elsewhere)
        others.append(float(benchmark(Answering(stimuli, answers))))
    assert abs(np.mean(others)) < 0.3
    assert float(score) > max(others)


def test_images_have_the_size_that_people_saw(stimuli):
    model = Answering(stimuli, typical_answers(*objects_and_tasks(stimuli)), visual_degrees=4)
    score = load_benchmark("Maniquet2024-tasks_consistency")(model)
    assert model.task == "probabilities"
    for shown, name in ((model.learned_from, "Maniquet2024-train"), (model.shown, "Maniquet2024-test")):
        assert shown["degrees"].unique().tolist() == [4]
        assert shown.identifier.startswith(name)
    assert score.attrs["tasks"] == sorted(CONDITIONS)
    assert (score.attrs["n_stimuli"], score.attrs["n_trials"]) == (350, N_TRIALS)


def test_published_option_has_the_published_ceilings():
    assert float(Maniquet2024ConfusionSimilarity(published=True).ceiling) == 0.53526
    assert float(Maniquet2024TasksConsistency(published=True).ceiling) == 0.99810


# -- published numbers -------------------------------------------------------------------------------------------------


@pytest.mark.private_access
@pytest.mark.parametrize("metric", METRICS)
def test_ceiling_is_above_the_correlation_of_halves(metric):
    ceiling = float(load_benchmark(f"Maniquet2024-{metric}").ceiling)
    assert PUBLISHED_CEILINGS[metric] - 0.01 < ceiling <= 1
