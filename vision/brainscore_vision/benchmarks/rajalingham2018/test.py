import numpy as np
import pytest

from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_benchmark, load_model
from brainscore_vision.benchmark_helpers.test_helper import NumberOfTrialsTests, VisualDegreesTests
from brainscore_vision.benchmarks.rajalingham2018 import DicarloRajalingham2018I2n
from brainscore_vision.benchmarks.rajalingham2018.benchmarks.benchmark import Rajalingham2018, load_assembly
from brainscore_vision.benchmarks.rajalingham2018.benchmarks.public_benchmark import (
    RajalinghamMatchtosamplePublicBenchmark,
)
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.testing.stand_ins import draw_stimuli

IDENTIFIERS = ["Rajalingham2018-i2n", "Rajalingham2018public-i2n"]
OBJECTS = np.array(["bear", "car", "dog", "elephant", "plane", "table"])


def beliefs(stimuli, seed):
    """Return the probability of each object for each image: higher for the truth, and different between images."""
    rng = np.random.default_rng(seed)
    evidence = rng.normal(size=(len(stimuli), len(OBJECTS))) + 1.5 * (
        stimuli["image_label"].to_numpy()[:, None] == OBJECTS
    )
    return np.exp(evidence) / np.exp(evidence).sum(axis=1, keepdims=True)


def trials_of(stimuli, probabilities, n_each=24, seed=0):
    """Return match-to-sample trials: every image with every distractor, n_each times."""
    rng = np.random.default_rng(seed)
    truth = stimuli["image_label"].to_numpy()
    rows, columns = (each.ravel() for each in np.indices(probabilities.shape))
    apart = OBJECTS[columns] != truth[rows]
    rows, columns = np.repeat(rows[apart], n_each), np.repeat(columns[apart], n_each)
    order = rng.permutation(len(rows))
    rows, columns = rows[order], columns[order]
    own, other = probabilities[rows, np.searchsorted(OBJECTS, truth[rows])], probabilities[rows, columns]
    chosen = np.where(rng.random(len(rows)) < other / (own + other), OBJECTS[columns], truth[rows])
    columns = {"stimulus_id": stimuli["stimulus_id"].to_numpy()[rows], "sample_obj": truth[rows], "truth": truth[rows],
               "dist_obj": OBJECTS[columns], "choice": chosen}  # fmt: skip
    return answers_of(chosen, **columns).assign_attrs(stimulus_set=stimuli)


class Believer(BrainModel):
    """A model that answers with known probabilities, and notes the stimuli that it learned from and was shown."""

    identifier = "believer"

    def __init__(self, probabilities):
        self.probabilities = probabilities  # stimulus_id -> probabilities
        self.learned, self.shown = [], []

    def visual_degrees(self):
        return 8

    def start_task(self, task, fitting_stimuli):
        assert task == BrainModel.Task.probabilities
        self.learned.append(set(fitting_stimuli["stimulus_id"]))

    def look_at(self, stimuli, number_of_trials=1):
        assert number_of_trials == 2
        self.shown.append(set(stimuli["stimulus_id"]))
        ids = stimuli["stimulus_id"].to_numpy()
        return answers_of([self.probabilities[each] for each in ids], stimulus_id=ids, choice=("choice", OBJECTS))


def stand_in(stand_ins):
    """Replace the data by made-up images and people; return people's beliefs about each image, by part."""
    found = {}
    for seed, (access, n) in enumerate({"public": 60, "private": 48}.items()):
        labels = np.tile(OBJECTS, n // len(OBJECTS))
        stimuli = draw_stimuli(f"objectome.{access}", n, size_px=32, seed=seed, columns={"image_label": labels})
        probabilities = beliefs(stimuli, seed)
        stand_ins.data(f"Rajalingham2018.{access}", trials_of(stimuli, probabilities))
        found[access] = dict(zip(stimuli["stimulus_id"], probabilities, strict=True))
    return found


@pytest.fixture(scope="module")
def beliefs_by_part(module_stand_ins):
    return stand_in(module_stand_ins)


@pytest.mark.parametrize(
    ("identifier", "access"),
    [pytest.param(IDENTIFIERS[0], "private", marks=pytest.mark.slow), (IDENTIFIERS[1], "public")],
)
def test_people_reach_their_ceiling_and_shuffled_beliefs_do_not(beliefs_by_part, identifier, access):
    benchmark = load_benchmark(identifier)
    known = beliefs_by_part[access]
    score = benchmark(Believer(known))
    assert float(score) == pytest.approx(1, abs=0.05)
    assert 0.3 < float(benchmark.ceiling) < 1
    assert score.attrs["n_stimuli"] == len(known)
    rng = np.random.default_rng(0)
    ids = np.array(list(known))
    shuffled = [
        float(benchmark(Believer(dict(zip(rng.permutation(ids), known.values(), strict=True))))) for _ in range(3)
    ]
    assert abs(np.mean(shuffled)) < 0.15


def test_private_images_are_tested_after_training_on_public_ones(beliefs_by_part):
    model = Believer(beliefs_by_part["private"])
    load_benchmark("Rajalingham2018-i2n")(model)
    assert model.learned == [set(beliefs_by_part["public"])]
    assert model.shown == [set(beliefs_by_part["private"])]


def test_public_images_are_halved_into_training_and_test(beliefs_by_part):
    model = Believer(beliefs_by_part["public"])
    load_benchmark("Rajalingham2018public-i2n")(model)
    assert model.shown == model.learned[::-1]
    assert not model.shown[0] & model.learned[0]
    assert model.shown[0] | model.shown[1] == set(beliefs_by_part["public"])
    assert len(model.shown[0]) == len(model.shown[1])


def test_published_option_trains_and_tests_on_the_same_images(beliefs_by_part):
    model = Believer(beliefs_by_part["public"])
    Rajalingham2018(access="public", published=True)(model)
    assert model.shown == model.learned == [set(beliefs_by_part["public"])]
    assert RajalinghamMatchtosamplePublicBenchmark().identifier == "Rajalingham2018public-i2n"
    assert DicarloRajalingham2018I2n().identifier == "Rajalingham2018-i2n"


def test_trials_have_a_column_of_correctness(beliefs_by_part):
    trials = load_assembly("public")
    np.testing.assert_array_equal(trials["correct"].values, trials.values == trials["sample_obj"].values)
    assert 0.5 < trials["correct"].values.mean() < 1


@pytest.mark.private_access
def test_published_ceiling():
    assert float(load_benchmark("Rajalingham2018-i2n").ceiling) == pytest.approx(0.479, abs=0.0064)


@pytest.mark.private_access
@pytest.mark.slow
@pytest.mark.parametrize(("model", "raw"), [("alexnet", 0.253), ("resnet50_tutorial", 0.348), ("pixels", 0.0139)])
def test_published_scores(model, raw):
    assert float(load_benchmark("Rajalingham2018-i2n")(load_model(model)).raw) == pytest.approx(raw, abs=0.005)


@pytest.mark.parametrize(
    ("identifier", "stimulus_id", "at_14", "at_6"),
    [
        pytest.param(
            IDENTIFIERS[0],
            "0223bf9e5db0edad21976b16494fe9396a5ef145",
            0.225023,
            0.002244,
            marks=pytest.mark.private_access,
        ),
        pytest.param(
            IDENTIFIERS[1], "0020cef91bd626e9fbbabd853494ee444e5c9ecb", 0.22486, 0.00097, marks=pytest.mark.network
        ),
    ],
)
def test_published_amount_of_grey(identifier, stimulus_id, at_14, at_6):
    for degrees, expected in ((14, at_14), (6, at_6)):
        VisualDegreesTests().amount_gray_test(identifier, degrees, stimulus_id, pytest.approx(expected, abs=0.0001))


@pytest.mark.private_access
def test_model_trials_match_the_recordings():
    NumberOfTrialsTests().repetitions_test("Rajalingham2018-i2n")
