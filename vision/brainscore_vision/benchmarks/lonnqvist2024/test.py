import numpy as np
import pytest

from brainscore_vision import load_benchmark, load_model
from brainscore_vision.testing.coarse_pixels import coarse_pixels
from brainscore_vision.testing.people import KnownAnswers, draw_choices
from brainscore_vision.testing.stand_ins import draw_stimuli

pytestmark = pytest.mark.usefixtures("kept_homes")

EXPERIMENTS = {
    "InlabInstructions": "inlab-instructions",
    "InlabNoInstructions": "inlab-no-instructions",
    "OnlineNoInstructions": "online-no-instructions",
}
N, ACCURACY = 60, 0.85


def stand_in(stand_ins):
    """Replace the data by made-up curves and people; return the test curves."""

    def draw(name, n, seed):
        labels = ["different", "same"] * (n // 2)
        columns = {"truth": labels, "image_label": labels, "curve_length": [50, 100, 150] * (n // 3)}
        columns |= {"n_cross": range(n), "image_path": [f"{number}.png" for number in range(n)]}
        return draw_stimuli(name, n, columns=columns, size_px=12, seed=seed)

    stand_ins.stimuli("Lonnqvist2024_train", draw("Lonnqvist2024_train", 30, 1))
    stimuli = draw("Lonnqvist2024_test", N, 2)
    for number, dataset in enumerate(EXPERIMENTS.values()):
        people = draw_choices(stimuli, accuracy=ACCURACY, n_subjects=8, presentation_coords=["truth"], seed=number)
        stand_ins.data(f"Lonnqvist2024_{dataset}", people)
    return stimuli


@pytest.fixture(scope="module")
def curves(module_stand_ins):
    return stand_in(module_stand_ins)


def model_right_about(stimuli, n_right):
    truth = stimuli["truth"].to_numpy()
    answers = np.where(np.arange(N) < n_right, truth, np.where(truth == "same", "different", "same"))
    return KnownAnswers(dict(zip(stimuli["stimulus_id"], answers, strict=True)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", EXPERIMENTS)
def test_models_as_accurate_as_people_reach_the_ceiling(curves, kind):
    benchmark = load_benchmark(f"Lonnqvist2024_{kind}BehavioralAccuracyDistance")
    assert 0.8 < float(benchmark.ceiling) < 1
    brain = benchmark(model_right_about(curves, round(ACCURACY * N)))
    assert float(brain) > 1 - 2 * brain.attrs["error"]
    guesser = benchmark(model_right_about(curves, N // 2))
    assert float(guesser.raw) == pytest.approx(1 - (ACCURACY - 0.5) / ACCURACY, abs=0.1)
    assert float(benchmark(model_right_about(curves, 0))) < 0.05 < float(guesser) < float(brain)
    assert (brain.attrs["n_stimuli"], brain.attrs["n_subjects"]) == (N, 8)


def test_accuracy_is_the_share_of_right_answers(curves):
    benchmark = load_benchmark("Lonnqvist2024_EngineeringAccuracy")
    assert float(benchmark(model_right_about(curves, 45))) == 0.75
    network = benchmark(coarse_pixels())  # pictures are unrelated to their labels
    assert float(network) == pytest.approx(0.5, abs=3 * 0.5 / np.sqrt(N))
    assert float(network.ceiling) == 1


@pytest.mark.private_access
@pytest.mark.parametrize(
    ("kind", "ceiling", "alexnet"),
    [
        ("InlabInstructions", 0.95646366, 0.58568247),
        ("InlabNoInstructions", 0.84258475, 0.62883828),
        ("OnlineNoInstructions", 0.79752907, 0.78192183),
    ],
)
def test_published_ceilings_and_scores(kind, ceiling, alexnet):
    benchmark = load_benchmark(f"Lonnqvist2024_{kind}BehavioralAccuracyDistance")
    assert float(benchmark.ceiling) == pytest.approx(ceiling, abs=0.001)
    assert float(benchmark(load_model("alexnet")).raw) == pytest.approx(alexnet, abs=0.001)


@pytest.mark.network
def test_published_accuracy():
    score = load_benchmark("Lonnqvist2024_EngineeringAccuracy")(load_model("alexnet"))
    assert float(score.raw) == pytest.approx(0.45, abs=0.001)
