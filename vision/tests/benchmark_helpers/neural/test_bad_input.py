import numpy as np
import pytest

from brainscore_core.errors import AssemblyError, CeilingError, StimulusError
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_metric
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.benchmark_helpers.neural.repeated import benchmark_of_repetitions
from brainscore_vision.benchmark_helpers.neural_common import NeuralBenchmark, RSABenchmark, TrainTestNeuralBenchmark
from brainscore_vision.testing.stand_ins import draw_stimuli, recordings

METRICS = ["pls", "ridge", "rdm", "cka"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Repetitions and the true responses behind them."""
    columns = {"object_name": ["cat", "car"] * 20}
    stimuli = draw_stimuli("Made2026", 40, size_px=16, columns=columns, folder=tmp_path_factory.mktemp("pictures"))
    return recordings(stimuli, n_neuroids=30, neuroid_coords={"region": "IT"}, presentation_coords=["object_name"])


class Answering(PrecomputedFeatures):
    """Gives a fixed answer, whatever the task and the stimuli."""

    def __init__(self, answer, visual_degrees=8):
        super().__init__({}, visual_degrees)
        self.answer = answer

    identifier = "answering"

    def look_at(self, stimuli, number_of_trials=1):
        return self.answer


def benchmark(repetitions, metric="pls", **kwargs):
    given = {"version": 1, "visual_degrees": 8, "number_of_trials": 10, "parent": "IT", "bibtex": "", **kwargs}
    return benchmark_of_repetitions("Made2026.IT-x", lambda: repetitions, metric, **given)


@pytest.mark.parametrize("metric", METRICS)
def test_rejects_answers_to_other_stimuli(recorded, metric):
    repetitions, truth = recorded
    ids = truth["stimulus_id"].values.tolist()
    other = assembly_of(truth.transpose("presentation", ...).values, stimulus_id=["another", "stranger", *ids[2:]])
    with pytest.raises(AssemblyError) as raised:
        benchmark(repetitions, metric)(Answering(other))
    for part in ("2 only in the target", ids[0], ids[1], "2 only in the source", "another", "stranger"):
        assert part in str(raised.value)
    with pytest.raises(AssemblyError, match=r"Source \(30\) and target \(40\).*10 only in the target"):
        benchmark(repetitions, metric)(Answering(truth[:30]))


@pytest.mark.parametrize("metric", METRICS)
def test_rejects_activations_that_are_nan(recorded, metric):
    repetitions, truth = recorded
    broken = truth.copy(data=np.where(np.arange(30) == 3, np.nan, truth.values))
    broken.values[1:, 3] = 0
    with pytest.raises(AssemblyError, match=r"1 of 30 neuroids"):
        benchmark(repetitions, metric)(Answering(broken))


@pytest.mark.parametrize(("model", "experiment"), [(0, 8), (-8, 8), (8, 0), (8, -1), (np.nan, 8)])
def test_rejects_degrees_that_are_not_positive(recorded, model, experiment):
    repetitions, truth = recorded
    with pytest.raises(StimulusError, match="expected positive numbers of degrees"):
        benchmark(repetitions, visual_degrees=experiment)(Answering(truth, visual_degrees=model))


def test_rejects_stimuli_of_unknown_size(recorded):
    with pytest.raises(StimulusError, match="not known how large the stimuli were shown"):
        benchmark(recorded[0], visual_degrees=None)(Answering(recorded[1]))


@pytest.mark.parametrize("value", [0, -0.1, np.nan, None, "high"])
def test_rejects_unusable_ceilings(recorded, value):
    unusable = benchmark(recorded[0], ceiler=lambda repetitions: value)
    with pytest.raises(CeilingError, match=r"The ceiling of benchmark 'Made2026.IT-x' is"):
        unusable(Answering(recorded[1]))


def test_a_ceiling_may_be_an_int(recorded):
    score = benchmark(recorded[0], ceiler=lambda repetitions: 1)(Answering(recorded[1]))
    assert float(score) == pytest.approx(float(score.raw) ** 2)


def test_rejects_repetitions_that_were_already_averaged(recorded):
    repetitions, truth = recorded
    once = repetitions[repetitions["repetition"].values == 0]
    once.attrs["stimulus_set"] = repetitions.attrs["stimulus_set"]
    with pytest.raises(AssemblyError, match="at least two values of 'repetition', found 1"):
        benchmark(once)(Answering(truth))


def test_rejects_recordings_of_two_regions(recorded):
    repetitions, truth = recorded
    both = repetitions.copy()
    both["region"] = "neuroid", ["IT", "V4"] * 15
    with pytest.raises(AssemblyError, match=r"holds the regions \['IT', 'V4'\]; expected exactly one"):
        benchmark(both)(Answering(truth))


@pytest.fixture(scope="module")
def over_time(recorded):
    """Repetitions in two time bins and the true responses behind them."""
    options = {"neuroid_coords": {"region": "IT"}, "presentation_coords": ["object_name"]}
    return recordings(recorded[0].stimulus_set, n_neuroids=30, time_bins=[(0, 50), (50, 100)], **options)


def test_a_model_without_time_has_no_score_over_time(recorded, over_time):
    score = benchmark(over_time[0], "spantime_pls")(Answering(recorded[1]))
    assert np.isnan(score)
    assert "'answering' does not change over time" in score.attrs["not_applicable"]
    assert "2 time bins from 0 to 100 ms" in score.attrs["not_applicable"]


@pytest.mark.parametrize("static_models", [True, False])
def test_a_static_model_scores_over_time_only_if_allowed(over_time, static_models):
    course, truth = over_time
    of_course = benchmark(course, "spantime_pls", static_models=static_models)
    assert float(of_course(Answering(truth))) > 0.9
    static = of_course(Answering(truth.copy(data=np.repeat(truth.values[..., :1], 2, axis=2))))
    assert np.isnan(static) == (not static_models)
    assert ("not_applicable" in static.attrs) == (not static_models)


def _neural(recorded, degrees):
    return NeuralBenchmark("Made2026.IT-x", recorded[1], load_metric("pls"), degrees, 1, ceiling=1, version=1)


def _train_test(recorded, degrees):
    both = recorded[1], recorded[1]
    return TrainTestNeuralBenchmark("Made2026.IT-x", lambda: 1, 1, *both, load_metric("ridge_split"), degrees, 1, "IT")


def _geometry(recorded, degrees):
    return RSABenchmark("Made2026.IT-x", 1, recorded[1], "IT", degrees, 1, "")


@pytest.mark.parametrize("make", [_neural, _train_test, _geometry])
def test_degrees_are_checked_on_construction(recorded, make):
    for degrees in (0, -8, np.nan, np.inf):
        with pytest.raises(StimulusError, match=rf"'Made2026.IT-x' shows its stimuli at {degrees} degrees; expected"):
            make(recorded, degrees)
    assert make(recorded, None).identifier == "Made2026.IT-x"  # then the stimuli's column `degrees` applies


def test_each_stimulus_may_have_its_own_size(recorded):
    repetitions, truth = recorded
    shown = repetitions.copy()
    shown.attrs["stimulus_set"] = repetitions.attrs["stimulus_set"].assign(degrees=8)
    shown.attrs["stimulus_set"].identifier = "Made2026"
    shown.attrs["stimulus_set"].stimulus_paths = repetitions.attrs["stimulus_set"].stimulus_paths
    assert float(benchmark(shown, visual_degrees=None)(Answering(truth))) > 0.9
