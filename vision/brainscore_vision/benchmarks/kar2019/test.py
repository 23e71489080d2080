import numpy as np
import pytest

from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_benchmark, load_model
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.benchmark_helpers.test_helper import NumberOfTrialsTests, VisualDegreesTests
from brainscore_vision.benchmarks.kar2019.benchmark import TIME_BINS
from brainscore_vision.testing.stand_ins import draw_stimuli, shuffled

LABELS = ["apple", "bear", "car", "dog"]
N = 80


@pytest.fixture(scope="module")
def stimuli():
    return draw()


def draw():
    columns = {"image_label": LABELS * (N // len(LABELS)), "image_num": np.arange(N)}
    return draw_stimuli("Kar2019", N, size_px=32, columns=columns)


@pytest.fixture(scope="module")
def course(stimuli, module_stand_ins):
    return stand_in(module_stand_ins, stimuli)


def stand_in(stand_ins, stimuli=None):
    """Return a population whose evidence grows over time, sooner for some images, so that solution times are known."""
    stimuli = draw() if stimuli is None else stimuli
    rng = np.random.default_rng(0)
    onset = rng.uniform(80, 200, N)
    starts = np.array([start for start, _ in TIME_BINS])
    strength = np.clip((starts - onset[:, None]) / 40, 0, 1)  # (image, bin)
    prototypes = rng.normal(size=(len(LABELS), 40))
    labels = np.array([LABELS.index(label) for label in stimuli["image_label"]])
    values = strength[:, None, :] * prototypes[labels][:, :, None] + 0.05 * rng.normal(size=(N, 40, len(starts)))
    stand_ins.data("Kar2019", solution_times(stimuli, np.where(onset > 190, np.nan, onset + 20)), nans_expected=True)
    return label_recordings(stimuli, values)


def solution_times(stimuli, times):
    coords = {
        "decoder": ("decoder", ["logistic", "svm"]),
        "stimulus_id": ("presentation", stimuli["stimulus_id"]),
        "image_label": ("presentation", stimuli["image_label"]),
        "i1": ("presentation", np.full(len(times), 1.5)),
    }
    values = np.stack([np.full(len(times), 70.0), times])
    return DataAssembly(values, coords=coords, dims=["decoder", "presentation"], attrs={"stimulus_set": stimuli})


def label_recordings(stimuli, values):
    starts, ends = map(list, zip(*TIME_BINS, strict=True))
    bins = {"time_bin_start": ("time_bin", starts), "time_bin_end": ("time_bin", ends)}
    return assembly_of(values, stimulus_id=stimuli["stimulus_id"].to_numpy(), **bins)


class Watched(PrecomputedFeatures):
    """A model that notes how many images it sees, and checks the time bins."""

    def __init__(self, features):
        super().__init__(features, visual_degrees=8)
        self.shown = []

    def start_recording(self, recording_target, time_bins):
        assert recording_target == "IT"
        assert time_bins == [(70 + 10 * number, 80 + 10 * number) for number in range(18)]

    def look_at(self, stimuli, number_of_trials=1):
        assert number_of_trials == 44
        self.shown.append(len(stimuli))
        return super().look_at(stimuli, number_of_trials)


@pytest.mark.slow
def test_population_with_true_solution_times_reaches_the_ceiling(course):
    model = Watched(course)
    score = load_benchmark("Kar2019-ost")(model)
    assert float(score) > 0.95
    assert float(score) == pytest.approx(float(score.raw) / 0.79)
    assert model.shown == [1, N]
    assert (score.attrs["n_stimuli"], score.attrs["n_trials"]) == (N, 44)


def test_population_with_shuffled_solution_times_scores_low(course, stimuli):
    rng = np.random.default_rng(1)
    labels = np.array(stimuli["image_label"])
    order = np.arange(N)
    for label in LABELS:  # objects stay correct
        order[labels == label] = rng.permutation(order[labels == label])
    score = load_benchmark("Kar2019-ost")(Watched(course.copy(data=course.values[order])))
    assert abs(float(score)) < 0.35  # 10 splits of 8 images


def test_population_without_object_information_is_not_applicable(course):
    noise = course.copy(data=np.random.default_rng(2).normal(size=course.shape))
    for candidate in (shuffled(course), noise):
        score = load_benchmark("Kar2019-ost")(Watched(candidate))
        assert np.isnan(score)
        assert "solves too few images" in score.attrs["not_applicable"]
        assert score.raw.attrs["n_unsolved"] > N / 2


@pytest.mark.parametrize("squeezed", [False, True])
def test_static_models_are_not_applicable_with_a_reason(course, squeezed):
    static = course.copy(data=np.repeat(course.values[:, :, -1:], len(TIME_BINS), axis=2))
    model = Watched(static[{"time_bin": [0]}] if squeezed else static)
    score = load_benchmark("Kar2019-ost")(model)
    assert np.isnan(score)
    assert np.isnan(score.raw)
    assert float(score.ceiling) == 0.79
    assert "does not change over time" in score.attrs["not_applicable"]
    assert model.shown == [1]


def test_registered_static_model_is_not_applicable(course):
    score = load_benchmark("Kar2019-ost")(load_model("pixels"))
    assert "'pixels' does not change over time" in score.attrs["not_applicable"]


@pytest.mark.private_access
def test_published_amount_of_grey():
    for degrees, expected in ((14, 0.225021), (6, 0.001248)):
        grey = pytest.approx(expected, abs=0.0001)
        VisualDegreesTests().amount_gray_test("Kar2019-ost", degrees, "6d19b24c29832dfb28360e7731e3261c13a4287f", grey)


@pytest.mark.private_access
def test_model_trials_match_the_recordings():
    NumberOfTrialsTests().repetitions_test("Kar2019-ost")
