import numpy as np
import pytest

from brainscore_core.supported_data_standards.brainio.transform import average_repetition
from brainscore_vision import load_benchmark, load_metric, load_model
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.testing.stand_ins import draw_stimuli, recordings, shuffled

from .benchmark import SESSIONS, predict_session, reliability

N_STIMULI, N_NEURONS = 60, 26
pytestmark = pytest.mark.usefixtures("kept_homes")


@pytest.fixture(scope="module")
def truths(module_stand_ins):
    return stand_in(module_stand_ins)


def record_session(place, session):
    """Return repetitions and signal of a session: the same names for different images, each shown 8 to 14 times."""
    columns = {"stimulus_id": [f"image{number:04}" for number in range(1, N_STIMULI + 1)]}
    columns["object_name"] = [name.removeprefix("image") for name in columns["stimulus_id"]]
    stimuli = draw_stimuli(f"Cowley2026.{session}", N_STIMULI, columns=columns, size_px=16, seed=place)
    repetitions, truth = recordings(
        stimuli,
        n_neuroids=N_NEURONS,
        n_repetitions=14,
        noise=1.0 + place / 2,
        seed=place,
        neuroid_coords={"region": "V4"},
        time_bins=[(50, 150)] if place == 0 else None,
        presentation_coords=["object_name"],
    )
    n_shown = np.random.default_rng(place).permutation(np.resize([8, 12, 13, 14, 14, 14], N_STIMULI))
    shown = repetitions["repetition"].values < np.tile(n_shown, 14)
    return repetitions[np.flatnonzero(shown)], truth


def stand_in(stand_ins):
    """Only the first session states its time bin, as in the published files."""
    truths = {}
    for place, session in enumerate(SESSIONS):
        repetitions, truth = record_session(place, session)
        stand_ins.data(f"Cowley2026.{session}", repetitions)
        truths[session] = truth.squeeze("time_bin", drop=True) if "time_bin" in truth.dims else truth
    return truths


class Brain(PrecomputedFeatures):
    """A model with the signal of each session, by the name of its stimuli; keeps a list of requests."""

    def __init__(self, truths):
        super().__init__(next(iter(truths.values())), visual_degrees=11.2)
        self.truths, self.asked = truths, []

    def start_recording(self, recording_target, time_bins):
        self.target = recording_target, [tuple(map(int, edges)) for edges in time_bins]

    def look_at(self, stimuli, number_of_trials=1):
        session = stimuli.identifier.removeprefix("Cowley2026.")
        self.asked.append((session, *self.target, number_of_trials))
        return PrecomputedFeatures(self.truths[session], visual_degrees=11.2).look_at(stimuli)


def test_sessions_are_averaged_and_predicted_up_to_reliability(truths):
    benchmark, model = load_benchmark("Cowley2026.V4-pls"), Brain(truths)
    assert (benchmark.version, benchmark.parent, benchmark.region) == (1, "V4", "V4")
    score = benchmark(model)
    low, high = score.attrs["interval"]
    assert low <= 1 <= high
    assert high - low < 0.4
    assert model.asked == [(session, "V4", [(50, 150)], 14) for session in SESSIONS]
    assert float(score) == pytest.approx(np.mean([float(score.attrs[session]) for session in SESSIONS]))
    assert score.attrs["raw_sessions"]["session"].values.tolist() == [*SESSIONS]
    assert score.attrs["n_sessions"] == 4
    for place, session in enumerate(SESSIONS):
        noise = (1.0 + place / 2) ** 2 * np.mean(1 / np.array([8, 12, 13, 14, 14, 14]))
        assert float(score.attrs[session].ceiling) == pytest.approx(1 / (1 + noise), abs=0.05)


@pytest.mark.slow
def test_shuffled_images_score_about_0(truths):
    model = Brain({name: shuffled(truth) for name, truth in truths.items()})
    assert abs(float(load_benchmark("Cowley2026.V4-pls")(model))) < 0.15


def test_session_score_combines_metric_and_ceiling(truths):
    session = SESSIONS[1]
    score = predict_session(session)(Brain(truths))
    repetitions, _ = record_session(1, session)
    metric = load_metric("pls", crossvalidation_kwargs={"stratification_coord": None, "compat": True})
    raw, ceiling = metric(truths[session], average_repetition(repetitions)), reliability(repetitions)
    assert float(score) == pytest.approx(float(raw) ** 2 / float(ceiling), abs=1e-6)


def test_reliability_uses_all_repetitions_of_rarely_shown_images():
    """Halves by the number of the repetition would lack images that were shown less often."""
    repetitions, truth = record_session(2, "made")
    ceiling = float(reliability(repetitions))
    means = average_repetition(repetitions)
    signal = truth.values[np.argsort(truth["stimulus_id"].values)]
    explained = [np.corrcoef(mean, own)[0, 1] ** 2 for mean, own in zip(means.values.T, signal.T, strict=True)]
    assert ceiling == pytest.approx(np.median(explained), abs=0.1)


@pytest.mark.private_access
@pytest.mark.slow
def test_published_number():
    assert float(load_benchmark("Cowley2026.V4-pls")(load_model("alexnet"))) == pytest.approx(0.33189280, abs=0.005)
