import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_benchmark, load_model
from brainscore_vision.testing.coarse_pixels import coarse_pixels
from brainscore_vision.testing.people import KnownAnswers
from brainscore_vision.testing.stand_ins import draw_stimuli

from .benchmark import ConditionWiseAccuracySimilarity, accuracies

pytestmark = pytest.mark.usefixtures("kept_homes")

IDENTIFIER = "tong.Coggan2024_behavior-ConditionWiseAccuracySimilarity"
CLASSES = ["bear", "bison", "elephant", "hare"]
TYPES, COLORS = ["bars", "blobs", "noise"], ["black", "white"]
SHARES = {("bars", "black"): 0.9, ("bars", "white"): 0.35, ("blobs", "black"): 0.6}
SHARES |= {("blobs", "white"): 0.95, ("noise", "black"): 0.45, ("noise", "white"): 0.7}
N_SUBJECTS, N_EACH = 5, 12


def stand_in(stand_ins):
    """Replace the data by made-up images, different for each subject, and people who find the same occluders hard."""
    generator = np.random.default_rng(0)
    rows = []
    for subject in range(N_SUBJECTS):
        for (kind, color), share in [*SHARES.items(), (("none", "none"), 1.0)]:
            for number in range(N_EACH if kind != "none" else 4):
                visibility = 1.0 if kind == "none" else [0.2, 0.4, 0.6][number % 3]
                right = generator.random() < share
                rows.append((subject, kind, color, visibility, CLASSES[number % 4], int(right)))
    names = ("subject", "occluder_type", "occluder_color", "visibility", "object_class", "human_accuracy")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    stimuli = draw_stimuli("Coggan2024_behavior", len(rows), columns=columns, size_px=8)
    named = np.where(
        stimuli["human_accuracy"] == 1, stimuli["object_class"], np.roll(CLASSES, 1)[stimuli.index % 4]
    ).astype(str)
    people = answers_of(named, stimulus_id=stimuli["stimulus_id"], trial=stimuli.index)
    stand_ins.data("Coggan2024_behavior", people, stimuli)
    labels = {"image_label": CLASSES * 5, "object_class": CLASSES * 5}
    fitting = draw_stimuli("Coggan2024_behavior_fitting", 20, columns=labels, size_px=8, seed=1)
    stand_ins.stimuli("Coggan2024_behavior_fitting", fitting)
    return stimuli


@pytest.fixture(scope="module")
def images(module_stand_ins):
    return stand_in(module_stand_ins)


def model_with(stimuli, shares):
    """Return a model that is right about a given share of the images of each subject and condition."""
    answers = {}
    for (_, kind, color), group in stimuli.groupby(["subject", "occluder_type", "occluder_color"]):
        n_right = round(shares.get((kind, color), 1) * len(group))
        for row, (name, right) in enumerate(zip(group["stimulus_id"], group["object_class"], strict=True)):
            answers[name] = right if row < n_right else CLASSES[CLASSES.index(right) - 1]
    return KnownAnswers(answers, visual_degrees=10)


@pytest.mark.slow
def test_brain_reaches_the_ceiling_and_shuffled_conditions_do_not(images):
    benchmark = load_benchmark(IDENTIFIER)
    assert 0.5 < float(benchmark.ceiling) < 1
    score = benchmark(model_with(images, SHARES))
    # A model lacks the noise of single people, so it exceeds the lower bound: each person against the others' mean.
    assert 1 - 2 * score.attrs["error"] < float(score) < 1.5
    assert score.raw.raw.sizes == {"subject": N_SUBJECTS}
    assert (score.attrs["n_stimuli"], score.attrs["n_subjects"]) == (len(images), N_SUBJECTS)
    shuffled = []
    for seed in range(4):
        moved = np.random.default_rng(seed).permutation(list(SHARES.values())).tolist()
        for sign in (1, -1):  # a pattern and its opposite: the mean over shuffles is about 0
            shares = {key: 0.65 + sign * (share - 0.65) for key, share in zip(SHARES, moved, strict=True)}
            shuffled.append(float(benchmark(model_with(images, shares))))
    assert np.mean(shuffled) == pytest.approx(0, abs=0.15)
    assert max(shuffled) < float(score)


def test_model_with_opposite_difficulties_scores_below_0(images):
    opposite = model_with(images, {key: 1.3 - share for key, share in SHARES.items()})
    here, published = (ConditionWiseAccuracySimilarity(published=flag)(opposite) for flag in (False, True))
    assert float(here) < -0.5
    assert float(published) == -float(here)


def test_model_with_equal_accuracies_scores_0(images):
    assert float(load_benchmark(IDENTIFIER)(model_with(images, dict.fromkeys(SHARES, 1.0)))) == 0


def test_network_learns_and_is_scored(images):
    score = load_benchmark(IDENTIFIER)(coarse_pixels())
    assert np.isfinite(float(score))
    assert abs(float(score)) < 0.8  # the pictures are unrelated to the occluders


def test_accuracies_match_a_count_and_need_every_cell():
    rows = [
        ("a", "x", "k", 0.5, 1), ("a", "x", "k", 0.2, 0), ("a", "y", "k", 0.5, 1), ("a", "y", "k", 1.0, 0),
        ("b", "x", "k", 0.5, 0), ("b", "y", "k", 0.5, 1),
    ]  # fmt: skip
    names = ("subject", "occluder_type", "occluder_color", "visibility", "right")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    assembly = answers_of(np.zeros(6), **columns)
    subjects, shares = accuracies(assembly, assembly["right"].values)
    assert subjects.tolist() == ["a", "b"]
    assert shares.tolist() == [[0.5, 1], [0, 1]]
    with pytest.raises(AssemblyError, match="subject 'b' and 'y k'"):
        accuracies(assembly[:-1], assembly["right"].values[:-1])


@pytest.mark.private_access
def test_published_score():
    assert float(load_benchmark(IDENTIFIER)(load_model("alexnet"))) == pytest.approx(0.1318, abs=0.001)
