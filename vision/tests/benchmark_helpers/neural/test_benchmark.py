from functools import partial

import numpy as np
import pytest
import xarray as xr
from PIL import Image

from brainscore_core.benchmarks import LazyCeiling, ceil_score
from brainscore_core.errors import AssemblyError, CeilingError
from brainscore_core.metrics import Metric, Score
from brainscore_core.supported_data_standards.brainio.assemblies import walk_coords
from brainscore_vision import load_ceiling, load_metric
from brainscore_vision.benchmark_helpers import PrecomputedFeatures, neural_common
from brainscore_vision.benchmark_helpers.recordings import RecordingConditions, describe
from brainscore_vision.benchmark_helpers.scores.ceilings import geometry_ceiling
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.testing.random_model import RandomModel
from brainscore_vision.utils import LazyLoad

N_STIMULI, N_NEUROIDS, N_REPETITIONS = 12, 5, 4
SUBJECTS = ["one", "one", "two", "two", "two"]
SETTINGS = {"version": 1, "visual_degrees": 8, "parent": "IT", "bibtex": ""}


@pytest.fixture
def stimulus_set(tmp_path, make_stimuli):
    return make_stimuli(tmp_path, N_STIMULI)


@pytest.fixture
def repeated(make_recordings):
    """Recordings of the stimuli with noise in each of several repetitions."""

    def make(stimulus_set, *, timebins=(), region="IT", seed=0, subjects=None):
        rng = np.random.default_rng(seed)
        n = len(stimulus_set)
        signal = np.tile(rng.random((n, N_NEUROIDS)), (N_REPETITIONS, 1))
        return make_recordings(
            signal + 0.1 * rng.random((n * N_REPETITIONS, N_NEUROIDS)),
            time_bins=timebins,
            stimulus_set=stimulus_set,
            repetition=("presentation", np.repeat(np.arange(N_REPETITIONS), n)),
            region=("neuroid", [region] * N_NEUROIDS),
            subject=("neuroid", subjects or ["one"] * N_NEUROIDS),
        )

    return make


class Witness(BrainModel):
    """Returns fixed features and records each call."""

    identifier = "witness"

    def __init__(self, features):
        self.features = features
        self.events = []

    def visual_degrees(self):
        return 8

    def start_recording(self, recording_target, time_bins):
        self.events.append(("record", recording_target, time_bins))

    def look_at(self, stimuli, number_of_trials=1):
        self.events.append(("look", stimuli.identifier, number_of_trials))
        return PrecomputedFeatures(self.features, 8).look_at(stimuli)


class Fixed(Metric):
    """Records the assemblies it compares and returns a fixed score."""

    def __init__(self, value=0.6):
        self.value = value
        self.compared = None

    def __call__(self, assembly1, assembly2):
        self.compared = assembly1, assembly2
        score = Score(self.value)
        score.attrs["error"] = 0.05
        return score


def make_benchmark(assembly, metric=None, ceiling=0.9, **kwargs):
    kwargs = {"number_of_trials": 50, "ceiling_func": lambda: Score(ceiling), **SETTINGS, **kwargs}
    return neural_common.NeuralBenchmark("Test2026.IT-fixed", assembly, metric or Fixed(), **kwargs)


def test_call_records_presents_compares_and_normalises(stimulus_set, repeated):
    assembly = neural_common.average_repetition(repeated(stimulus_set, timebins=[(70, 170)]))
    model, metric = Witness(assembly), Fixed()
    score = make_benchmark(assembly, metric)(model)
    assert model.events == [("record", "IT", [(70, 170)]), ("look", "test-s", 50)]
    assert [each.dims for each in metric.compared] == [("presentation", "neuroid")] * 2
    assert score == pytest.approx(0.6**2 / 0.9)
    assert float(score.raw) == 0.6
    assert float(score.ceiling) == 0.9
    assert score.attrs["error"] == pytest.approx(2 * 0.6 / 0.9 * 0.05)
    described = {name: score.attrs[name] for name in ("n_stimuli", "n_neuroids", "n_trials", "simulated")}
    assert described == {"n_stimuli": N_STIMULI, "n_neuroids": N_NEUROIDS, "n_trials": 50, "simulated": False}
    assert "layers" not in score.attrs


def test_a_score_names_its_stimuli_and_assembly():
    """Averages use these names to match benchmarks that share stimuli or neuroids."""
    assembly = xr.DataArray(
        np.zeros((2, 1)),
        coords={"stimulus_id": ("presentation", ["a", "b"])},
        dims=["presentation", "neuroid"],
        attrs={"identifier": "Recordings", "stimulus_set_identifier": "Objects"},
    )
    unnamed, named = Score(0.5), Score(0.5)
    conditions = RecordingConditions("IT", [(70, 170)], 8, 1)
    describe(named, RandomModel(), [assembly], conditions)
    describe(unnamed, RandomModel(), [assembly.assign_attrs(identifier=None, stimulus_set_identifier=None)], conditions)
    assert (named.attrs["stimulus_set"], named.attrs["assembly"]) == ("Objects", "Recordings")
    assert not {"stimulus_set", "assembly"} & set(unnamed.attrs)


def test_score_names_the_layer_of_the_region(stimulus_set, repeated):
    assembly = neural_common.average_repetition(repeated(stimulus_set))
    model = Witness(assembly)
    model.layer_model = type("LayerModel", (), {"region_layer_map": {"V1": "conv1", "IT": "conv5"}})()
    assert make_benchmark(assembly)(model).attrs["layers"] == {"IT": "conv5"}


def test_tutorial_template_without_timebins(stimulus_set, repeated):
    assembly = repeated(stimulus_set).mean(dim="repetition")
    model = Witness(assembly)
    score = make_benchmark(assembly)(model)
    assert model.events[0] == ("record", "IT", [(70, 170)])
    assert score.attrs["n_stimuli"] == N_STIMULI


def test_explicit_timebins_take_precedence(stimulus_set, repeated):
    assembly = neural_common.average_repetition(repeated(stimulus_set, timebins=[(70, 170)]))
    assert make_benchmark(assembly, timebins=[(0, 50)]).timebins == [(0, 50)]


def test_several_time_bins_reach_the_metric(stimulus_set, repeated):
    assembly = neural_common.average_repetition(repeated(stimulus_set, timebins=[(70, 120), (120, 170)]))
    metric = Fixed()
    make_benchmark(assembly, metric)(Witness(assembly))
    assert [each.sizes["time_bin"] for each in metric.compared] == [2, 2]


def test_images_are_padded_to_the_models_field_of_view(stimulus_set, repeated):
    assembly = neural_common.average_repetition(repeated(stimulus_set))
    benchmark = make_benchmark(assembly)
    benchmark._visual_degrees = 4
    seen = {}

    class Looker(Witness):
        def look_at(self, stimuli, number_of_trials=1):
            with Image.open(stimuli.get_stimulus("s0")) as image:
                seen["size"] = image.size
            return super().look_at(stimuli, number_of_trials)

    benchmark(Looker(assembly))
    assert seen["size"] == (16, 16)


def test_data_are_loaded_only_when_needed(stimulus_set, repeated):
    loads = []

    def load():
        loads.append(1)
        return neural_common.average_repetition(repeated(stimulus_set))

    benchmark = make_benchmark(LazyLoad(load))
    assert not loads
    assert benchmark.region == "IT"
    benchmark(Witness(load()))
    assert len(loads) == 2  # once for the benchmark, once for the witness


def test_error_for_a_lost_stimulus_set_names_the_loader(stimulus_set, repeated):
    assembly = neural_common.average_repetition(repeated(stimulus_set))
    assembly.attrs.pop("stimulus_set")
    with pytest.raises(AssemblyError, match="stimulus_set_loader"):
        make_benchmark(assembly)(Witness(assembly))


class CorrelateTest(Metric):
    """Correlates each neuroid of the test parts and records its calls; the training parts do not affect the score."""

    def __init__(self, per_neuroid):
        self.calls = []
        self.per_neuroid = per_neuroid

    def __call__(self, source_train, source_test, target_train, target_test):
        self.calls.append((source_train, source_test, target_train, target_test))
        ids = target_test["neuroid_id"].values.tolist()
        source = {each: i for i, each in enumerate(source_test["neuroid_id"].values)}
        r = [
            np.corrcoef(source_test.values[:, source[each]], target_test.values[:, i])[0, 1]
            for i, each in enumerate(ids)
        ]
        return self.per_neuroid(r, ids)


@pytest.fixture
def train_test(tmp_path, repeated, make_stimuli, per_neuroid):
    def averaged(prefix, n, seed=0):
        (tmp_path / prefix).mkdir()
        stimuli = make_stimuli(tmp_path / prefix, n, prefix)
        repetitions = repeated(stimuli, timebins=[(70, 170)], subjects=SUBJECTS, seed=seed)
        return neural_common.average_repetition(repetitions)

    def make(**kwargs):
        train, test, metric = averaged("t", 10), averaged("u", 6, seed=1), CorrelateTest(per_neuroid)
        ceiling = per_neuroid([0.5, 0.6, 0.7, 0.8, 0.9], subjects=SUBJECTS)
        benchmark = neural_common.TrainTestNeuralBenchmark(
            identifier="Test2026.IT-split",
            train_assembly=LazyLoad(lambda: train),
            test_assembly=test,
            similarity_metric=metric,
            ceiling_func=lambda: ceiling,
            number_of_trials=1,
            **SETTINGS,
            **kwargs,
        )
        return benchmark, PrecomputedFeatures({"test-t": train, "test-u": test}, 8), metric

    return make


def test_train_test_benchmark_presents_both_sets_and_normalises(train_test):
    benchmark, model, metric = train_test()
    score = benchmark(model)
    source_train, _, _, target_test = metric.calls[0]
    assert [each.sizes["presentation"] for each in metric.calls[0]] == [10, 6, 10, 6]
    assert source_train["stimulus_id"].values[0].startswith("t")
    assert target_test.dims == ("presentation", "neuroid")
    assert score == pytest.approx(1 / 0.7)
    assert score.attrs["n_stimuli"] == 16


def test_each_neuroid_is_divided_by_its_own_ceiling(train_test):
    benchmark, model, _ = train_test(per_voxel_ceilings=True)
    score, ratios = benchmark(model), 1 / np.array([0.5, 0.6, 0.7, 0.8, 0.9])
    assert float(score) == pytest.approx(np.mean(ratios))
    assert score.attrs["error"] == pytest.approx(np.std(ratios, ddof=1) / np.sqrt(5))


def test_each_subject_is_scored_separately(train_test):
    benchmark, model, metric = train_test(alpha_coord="subject")
    score = benchmark(model)
    assert [call[2].sizes["neuroid"] for call in metric.calls] == [2, 3]
    assert float(score.attrs["one"]) == pytest.approx(1 / 0.55)
    assert float(score.attrs["two"]) == pytest.approx(1 / 0.8)
    assert float(score) == pytest.approx((1 / 0.55 + 1 / 0.8) / 2)
    assert float(score.raw) == pytest.approx(1)
    assert score.raw.raw.sizes["neuroid"] == 5
    assert score.attrs["error"] == pytest.approx(abs(1 / 0.55 - 1 / 0.8) / 2)  # standard error of a mean of two
    assert score.attrs["error_over"] == score.raw.attrs["error_over"] == ["subject"]
    assert score.raw.attrs["error"] == 0  # both are 1


def numbered_within_subjects(assembly):
    """Number the neuroids of each subject from 0, as many data sets do."""
    ids = np.concatenate([np.arange(n) for n in (2, 3)]).astype(str)
    coords = {name: (dims, values) for name, dims, values in walk_coords(assembly)}
    coords["neuroid_id"] = ("neuroid", ids)
    return type(assembly)(assembly.values, coords=coords, dims=assembly.dims, attrs=dict(assembly.attrs))


def test_subjects_may_share_neuroid_ids(train_test, per_neuroid):
    benchmark, model, _ = train_test(alpha_coord="subject")
    for name in ("_train_assembly", "_test_assembly"):
        setattr(benchmark, name, numbered_within_subjects(getattr(benchmark, name)[:]))
    benchmark._similarity_metric = lambda **parts: per_neuroid(np.ones(parts["target_test"].sizes["neuroid"]))
    benchmark._ceiling_func = lambda: per_neuroid([0.5, 0.6, 0.7, 0.8, 0.9], list("01012"), SUBJECTS)
    score = benchmark(model)
    assert float(score.attrs["one"]) == pytest.approx(1 / 0.55)
    assert float(score.attrs["two"]) == pytest.approx(1 / 0.8)


def test_rejects_a_ceiling_of_other_neuroids(train_test, per_neuroid):
    benchmark, model, _ = train_test(alpha_coord="subject")
    benchmark._ceiling_func = lambda: per_neuroid([0.5, 0.6])
    with pytest.raises(AssemblyError, match="none of the 3 neuroids"):
        benchmark(model)


def test_subjects_may_have_seen_different_stimuli(train_test):
    benchmark, model, metric = train_test(alpha_coord="subject")
    train = benchmark._train_assembly[:]
    values = train.values.copy()
    values[:4, :2] = np.nan  # subject one did not see the first four, subject two not the last
    values[9:, 2:] = np.nan
    benchmark._train_assembly = train.copy(data=values)
    assert np.isfinite(float(benchmark(model)))
    shown = [(call[0]["stimulus_id"].values.tolist(), call[2]["stimulus_id"].values.tolist()) for call in metric.calls]
    assert [len(source) for source, _ in shown] == [6, 9]
    assert all(source == target for source, target in shown)
    assert not any(np.isnan(call[2].values).any() for call in metric.calls)


def test_rejects_different_training_and_test_subjects(train_test):
    benchmark, model, _ = train_test(alpha_coord="subject")
    benchmark._test_assembly = benchmark._test_assembly[:, 2:]
    with pytest.raises(AssemblyError, match=r"different subjects: \['one'\] only train and \[\] only test"):
        benchmark(model)


def test_rejects_different_training_and_test_regions(tmp_path, train_test, repeated, make_stimuli):
    benchmark, _, _ = train_test()
    benchmark._test_assembly = neural_common.average_repetition(
        repeated(make_stimuli(tmp_path, 6, "v"), region="V4", timebins=[(70, 170)])
    )
    with pytest.raises(AssemblyError, match=r"'IT'.*'V4'"):
        _ = benchmark.region


def fails_to_load():
    raise AssertionError("nothing is loaded")


@pytest.mark.parametrize("metric", ["rdm", "rdm_cv", "cka", "accuracy", "error_consistency"])
@pytest.mark.parametrize("says", [True, False], ids=["a ceiling that says what it is", "any function"])
def test_rejects_mismatched_metric_and_ceiling_on_construction(metric, says):
    reliability = load_ceiling("internal_consistency")
    ceiling = LazyCeiling(reliability, fails_to_load) if says else lambda: reliability(fails_to_load())
    settings = {**SETTINGS, "number_of_trials": 1, "ceiling_func": ceiling}
    with pytest.raises(CeilingError, match=r"'A2024\.IT-x' combines a metric with a ceiling that does not fit it"):
        neural_common.NeuralBenchmark("A2024.IT-x", LazyLoad(fails_to_load), load_metric(metric), **settings)
    with pytest.raises(CeilingError, match=r"'A2024\.IT-x' combines a metric with a ceiling that does not fit it"):
        neural_common.TrainTestNeuralBenchmark(
            "A2024.IT-x",
            train_assembly=LazyLoad(fails_to_load),
            test_assembly=LazyLoad(fails_to_load),
            similarity_metric=load_metric(metric),
            **settings,
        )


def test_accepts_matching_metrics_and_ceilings():
    rdm = load_metric("rdm")
    for metric, ceiler, normalization in (
        (load_metric("pls"), load_ceiling("internal_consistency"), neural_common.explained_variance),
        (rdm, partial(geometry_ceiling, rdm), ceil_score),
        (rdm, load_ceiling("rsa_ceiling"), ceil_score),
        (rdm, load_ceiling("internal_consistency", consistency_metric=rdm), neural_common.explained_variance),
    ):
        settings = {**SETTINGS, "number_of_trials": 1, "ceiling_func": LazyCeiling(ceiler, fails_to_load)}
        assembly = LazyLoad(fails_to_load)
        neural_common.NeuralBenchmark("A2024.IT-x", assembly, metric, normalization=normalization, **settings)
