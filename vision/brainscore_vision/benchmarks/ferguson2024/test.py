import numpy as np
import pytest

from brainscore_core.errors import AssemblyError, UnknownIdentifierError
from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_benchmark
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.testing.coarse_pixels import coarse_pixels
from brainscore_vision.testing.people import KnownAnswers
from brainscore_vision.testing.stand_ins import draw_stimuli

from .benchmark import DISTRACTORS, EXPERIMENTS, ValueDelta, accuracies, asymmetry, means_of_halves, n_distractors

pytestmark = pytest.mark.usefixtures("kept_homes")

SHARES = {"first": (7 / 8, 6 / 8, 4 / 8), "second": (8 / 8, 8 / 8, 7 / 8)}  # right with 1, 5 and 11 distractors
AREA = 4 * (1 / 8 + 2 / 8) / 2 + 6 * (2 / 8 + 3 / 8) / 2
N_SUBJECTS, N_ROUNDS = 16, 3


def trials():
    """Return block, distractors, subject and correctness of trials: 20 people, 16 trials of each kind."""
    subject, block = np.repeat(np.arange(20), 96), np.tile(np.repeat(["first", "second"], 48), 20)
    distractors = np.tile(np.repeat([1.0, 5.0, 11.0], 16), 40)
    chance = np.where(block == "first", 0.7, np.where(distractors == 11, 0.95, 0.8))
    return block, distractors, subject, np.random.default_rng(0).random(len(subject)) < chance


@pytest.mark.parametrize(("experiment", "expected"), [("color", 1.7214), ("juncture", 2.5805)])
def test_asymmetry_matches_the_published_area(experiment, expected):
    """Expected areas are those of `get_integral_data` of brainscore_vision 2.4.2 for the same trials."""
    shares = accuracies(*trials(), EXPERIMENTS[experiment].lapse_rate)
    assert float(asymmetry(shares.mean(axis=2))) == pytest.approx(expected, abs=1e-4)


def test_published_ceiling_method_is_too_low():
    """The page of differences quotes both numbers."""
    given, lapse_rate = trials(), EXPERIMENTS["color"].lapse_rate
    one, two = (asymmetry(half) for half in means_of_halves(accuracies(*given, lapse_rate)))
    assert np.exp(-0.75 * np.abs(one - two) / 2).mean() == pytest.approx(0.891, abs=5e-4)
    published = []
    for seed in range(500):
        order = np.random.RandomState(seed).permutation(len(given[0]))
        halves = (accuracies(*(column[half] for column in given), lapse_rate) for half in np.array_split(order, 2))
        first, second = (asymmetry(np.nanmean(half, axis=2)) for half in halves)
        published.append(np.exp(-0.75 * abs(first - second)))
    assert np.mean(published) == pytest.approx(0.780, abs=5e-4)


def test_displays_have_1_5_or_11_distractors():
    assert n_distractors(np.arange(12)).tolist() == [1, 1, 5, 5, 11, 11] * 2


def test_cells_without_trials_are_nan_or_refused():
    given = (np.array(["first", "second"] * 6), np.repeat(DISTRACTORS, 4), np.array(["a", "a", "b", "b"] * 3))
    shares = accuracies(*given, np.ones(12), 0.0)
    assert shares.shape == (2, 3, 2)
    assert (shares == 1).all()
    one_lacks = accuracies(*(column[:-1] for column in given), np.ones(11), 0.0)
    assert np.isnan(one_lacks[1, 2, 1])
    assert np.isnan(one_lacks).sum() == 1
    with pytest.raises(AssemblyError, match="first block has no trials with 11 distractors"):
        accuracies(*(column[:8] for column in given), np.ones(8), 0.0)
    with pytest.raises(UnknownIdentifierError, match="Did you mean 'color'"):
        ValueDelta("colour")


@pytest.fixture(scope="module")
def displays(module_stand_ins):
    return stand_in(module_stand_ins, "color")


def stand_in(stand_ins, experiment):
    """Replace the data by made-up displays and people, who lapse as often as in the experiment."""
    generator = np.random.default_rng(2)
    columns = {"image_number": list(range(24)) * 2, "block": ["first"] * 24 + ["second"] * 24}
    stimuli = draw_stimuli(f"Ferguson2024_{experiment}", 48, columns=columns, size_px=12)
    training = draw_stimuli(f"Ferguson2024_{experiment}_training_stimuli", 48, columns=columns, size_px=12, seed=1)
    stand_ins.stimuli(f"Ferguson2024_{experiment}_training_stimuli", training)
    rows = np.tile(np.arange(48), N_SUBJECTS * N_ROUNDS)
    share, lapse_rate = shares_of(stimuli)[rows], EXPERIMENTS[experiment].lapse_rate
    right = generator.random(len(rows)) < (1 - lapse_rate) * share + lapse_rate / 2
    is_odd = stimuli["image_number"].to_numpy()[rows] % 2 == 0
    people = answers_of(
        right.astype(int),
        stimulus_id=stimuli["stimulus_id"].to_numpy()[rows],
        participant_id=np.repeat([f"p{number:02d}" for number in range(N_SUBJECTS)], 48 * N_ROUNDS),
        distractor_nums=n_distractors(stimuli["image_number"])[rows].astype(str),
        trial_type=np.full(len(rows), "normal"),
        keypress_response=np.where(is_odd == right, "f", "j"),
        target_present=is_odd,
        correct=right,
    )
    stand_ins.data(f"Ferguson2024_{experiment}", people, stimuli)
    return stimuli


def shares_of(stimuli):
    places = [DISTRACTORS.index(number) for number in n_distractors(stimuli["image_number"])]
    return np.array([SHARES[block][place] for block, place in zip(stimuli["block"], places, strict=True)])


def model_with(stimuli, shares):
    """Return a model that is right about a share of the eight displays of each block and number of distractors."""
    answers = {}
    for (block, number), group in stimuli.groupby([stimuli["block"], n_distractors(stimuli["image_number"])]):
        n_right = round(shares[block][DISTRACTORS.index(number)] * len(group))
        for row, (name, image) in enumerate(zip(group["stimulus_id"], group["image_number"], strict=True)):
            answers[name] = "oddball" if (image % 2 == 0) == (row < n_right) else "same"
    return KnownAnswers(answers)


def test_brain_reaches_the_ceiling_and_no_asymmetry_scores_low(displays):
    benchmark = load_benchmark("Ferguson2024color-value_delta")
    assert 0.8 < float(benchmark.ceiling) < 1
    brain = benchmark(model_with(displays, SHARES))
    assert float(brain) == pytest.approx(1, abs=2 * brain.attrs["error"])
    assert brain.attrs["model_asymmetry"] == pytest.approx(AREA)
    assert brain.attrs["human_asymmetry"] == pytest.approx(AREA, abs=0.6)
    none = benchmark(model_with(displays, dict.fromkeys(SHARES, (1, 1, 1))))
    assert none.attrs["model_asymmetry"] == 0
    assert float(none.raw) == pytest.approx(np.exp(-0.75 * brain.attrs["human_asymmetry"]))
    opposite = benchmark(model_with(displays, {"first": SHARES["second"], "second": SHARES["first"]}))
    assert float(opposite) < 0.05
    network = benchmark(coarse_pixels())  # its displays show nothing odd
    assert float(opposite) < float(network) < float(brain)
    assert (brain.attrs["n_stimuli"], brain.attrs["n_subjects"]) == (48, N_SUBJECTS)
    assert brain.attrs["n_trials"] == 48 * N_SUBJECTS * N_ROUNDS


QUICK = ("juncture", "tilted_line")  # the most and one of the fewest lapses
OTHERS = [name for name in EXPERIMENTS if name not in ("color", *QUICK)]


@pytest.mark.parametrize("experiment", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def test_brain_reaches_the_ceiling_of_the_other_experiments(module_stand_ins, experiment):
    displays = stand_in(module_stand_ins, experiment)
    benchmark = load_benchmark(f"Ferguson2024{experiment}-value_delta")
    brain = benchmark(model_with(displays, SHARES))
    assert 0.7 < float(benchmark.ceiling) < 1
    assert float(brain) == pytest.approx(1, abs=3 * brain.attrs["error"])
    assert brain.attrs["model_asymmetry"] == pytest.approx(AREA)
    none = benchmark(model_with(displays, dict.fromkeys(SHARES, (1, 1, 1))))
    assert float(none) < 0.5 * float(brain)
    assert (brain.attrs["n_stimuli"], brain.attrs["n_subjects"]) == (48, N_SUBJECTS)


def test_ceiling_is_the_mean_score_of_the_truth(displays):
    """The truth is compared with many samples of as many people as here."""
    generator = np.random.default_rng(0)
    lapse_rate = EXPERIMENTS["color"].lapse_rate
    chance = (1 - lapse_rate) * np.array([SHARES["first"], SHARES["second"]]) + lapse_rate / 2
    hits = generator.binomial(8 * N_ROUNDS * N_SUBJECTS, chance, size=(4000, 2, 3)) / (8 * N_ROUNDS * N_SUBJECTS)
    areas = asymmetry(np.moveaxis((hits - lapse_rate / 2) / (1 - lapse_rate), 0, -1))
    expected = np.exp(-0.75 * np.abs(areas - AREA)).mean()
    assert float(load_benchmark("Ferguson2024color-value_delta").ceiling) == pytest.approx(expected, abs=0.03)


def test_published_option_changes_ceiling_and_score(displays):
    published, here = ValueDelta("color", published=True), ValueDelta("color")
    assert (float(published.ceiling), published.ceiling.attrs["error"]) == (0.897, 0.072)
    assert float(here.ceiling) != float(published.ceiling)
    score = published(model_with(displays, SHARES))
    corrected = AREA / (1 - EXPERIMENTS["color"].lapse_rate)
    assert score.attrs["model_asymmetry"] == pytest.approx(corrected)
    assert float(score.raw) == pytest.approx(np.exp(-0.75 * abs(corrected - score.attrs["human_asymmetry"])))


ALEXNET = {  # raw and ceiled, for features in s3://brainscore-vision/benchmarks/Ferguson2024
    "circle_line": (0.143, 0.162), "color": (0.645, 0.719), "convergence": (0.024, 0.028), "eighth": (0.093, 0.109),
    "gray_easy": (0.799, 0.882), "gray_hard": (0.609, 0.706), "half": (0.379, 0.423), "juncture": (0.191, 0.248),
    "lle": (0.208, 0.250), "llh": (0.654, 0.805), "quarter": (0.223, 0.255), "round_f": (0.455, 0.520),
    "round_v": (0.212, 0.249), "tilted_line": (0.445, 0.489),
}  # fmt: skip


@pytest.mark.private_access
@pytest.mark.parametrize(("experiment", "expected"), ALEXNET.items())
def test_published_scores(experiment, expected):
    from brainscore_core.supported_data_standards.brainio.fetch import get_local_data_path
    from brainscore_core.supported_data_standards.brainio.s3 import download_file_if_not_exists

    name = f"alexnet_Ferguson2024{experiment}-value_delta.nc"
    file = get_local_data_path() / "brainscore-vision" / name
    download_file_if_not_exists(file, "brainscore-vision", f"benchmarks/Ferguson2024/{name}")
    features = BehavioralAssembly.from_files(file_path=file)
    score = ValueDelta(experiment, published=True)(PrecomputedFeatures(features, visual_degrees=8))
    assert (float(score.raw), float(score)) == pytest.approx(expected, abs=0.001)
