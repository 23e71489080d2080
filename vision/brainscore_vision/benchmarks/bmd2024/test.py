import numpy as np
import pytest

from brainscore_vision import load_benchmark
from brainscore_vision.testing.people import KnownAnswers, draw_choices
from brainscore_vision.testing.random_model import RandomModel
from brainscore_vision.testing.stand_ins import draw_stimuli

CEILINGS = {"texture_1": 0.98283, "texture_2": 0.97337, "dotted_1": 0.97837, "dotted_2": 0.93071}
LABELS = ["bird", "boat", "car", "chair", "dog"]
N, ACCURACY = 50, 0.8


def stand_in(stand_ins, dataset):
    """Replace the data by made-up images and people; return the images."""
    columns = {"truth": LABELS * (N // 5), "condition": [dataset] * N}
    stimuli = draw_stimuli(f"BMD2024.{dataset}", N, columns=columns, size_px=8)
    people = draw_choices(stimuli, accuracy=ACCURACY, n_subjects=10, presentation_coords=["truth", "condition"])
    stand_ins.data(f"BMD2024.{dataset}", people)
    return stimuli


@pytest.mark.slow
@pytest.mark.parametrize("dataset", CEILINGS)
def test_models_as_accurate_as_people_reach_the_ceiling(stand_ins, dataset):
    stimuli = stand_in(stand_ins, dataset)
    benchmark = load_benchmark(f"BMD2024.{dataset}Behavioral-accuracy_distance")
    truth = stimuli["truth"].to_numpy()

    def score_of(n_right):
        wrong = np.array([LABELS[LABELS.index(label) - 1] for label in truth])
        answers = np.where(np.arange(N) < n_right, truth, wrong)
        return benchmark(KnownAnswers(dict(zip(stimuli["stimulus_id"], answers, strict=True))))

    assert 0.8 < float(benchmark.ceiling) < 1
    brain = score_of(40)
    assert float(brain) > 1 - 2 * brain.attrs["error"]
    assert float(score_of(20)) < float(score_of(30)) < float(brain)
    assert float(score_of(0)) < 0.1  # as far from people as possible
    chance = 1 - (ACCURACY - 1 / len(LABELS)) / ACCURACY
    assert float(benchmark(RandomModel()).raw) == pytest.approx(chance, abs=3 * np.sqrt(0.2 * 0.8 / N) / ACCURACY)
    assert (brain.attrs["n_stimuli"], brain.attrs["n_trials"], brain.attrs["n_subjects"]) == (N, 10 * N, 10)


@pytest.mark.private_access
@pytest.mark.parametrize(("dataset", "ceiling"), CEILINGS.items())
def test_published_ceilings(dataset, ceiling):
    benchmark = load_benchmark(f"BMD2024.{dataset}Behavioral-accuracy_distance")
    assert float(benchmark.ceiling) == pytest.approx(ceiling, abs=0.001)
