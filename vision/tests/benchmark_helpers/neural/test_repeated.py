import numpy as np
import pytest

from brainscore_core.benchmarks import ceil_score, explained_variance
from brainscore_core.errors import CeilingError
from brainscore_core.metrics import Metric, Score
from brainscore_vision import load_ceiling, load_metric, metric_registry
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.benchmark_helpers.neural import repeated
from brainscore_vision.benchmark_helpers.neural.repeated import benchmark_of_repetitions
from brainscore_vision.testing.stand_ins import draw_stimuli, recordings


def test_repetitions_are_loaded_once_and_only_when_needed(make_recordings):
    loaded = []

    def load():
        loaded.append("now")
        values = np.arange(8.0).reshape(4, 2)
        return make_recordings(values, stimulus_ids=["a", "b"], repetition=("presentation", [0, 0, 1, 1]))

    benchmark = benchmark_of_repetitions(
        "made-up", load, load_metric("ridge"), ceiler=lambda repetitions: Score(repetitions.sizes["presentation"] / 8),
        version=1, visual_degrees=8, number_of_trials=2, parent="IT",
    )  # fmt: skip
    assert not loaded
    assert benchmark._assembly.values.tolist() == [[2, 3], [4, 5]]
    assert float(benchmark.ceiling) == 0.5
    assert loaded == ["now"]


def test_ceiling_is_internal_consistency_even_with_a_custom_average(make_recordings):
    rng = np.random.default_rng(0)
    values = np.tile(rng.normal(size=(20, 3)), (4, 1)) + 0.1 * rng.normal(size=(80, 3))
    ids = [f"s{i}" for i in range(20)]
    benchmark = benchmark_of_repetitions(
        "made-up",
        lambda: make_recordings(values, stimulus_ids=ids, repetition=("presentation", np.repeat(range(4), 20))),
        load_metric("ridge"),
        average=lambda repetitions: repetitions[:20],
        version=1,
        visual_degrees=8,
        number_of_trials=4,
    )
    assert benchmark._assembly.sizes["presentation"] == 20
    assert benchmark.ceiling.attrs["n_repetitions"] == 4
    assert 0.99 < float(benchmark.ceiling) < 1


KWARGS = {"version": 1, "visual_degrees": 8, "number_of_trials": 10, "parent": "IT", "bibtex": ""}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    stimuli = draw_stimuli("Made2026", 40, size_px=16, folder=tmp_path_factory.mktemp("pictures"))
    return recordings(stimuli, n_neuroids=30, neuroid_coords={"region": "IT"})


def test_a_regression_by_name_scores_explained_variance(recorded):
    unstratified = {"stratification_coord": None}
    benchmark = benchmark_of_repetitions(
        "Made2026.IT-pls", lambda: recorded[0], "pls", crossvalidation_kwargs=unstratified, **KWARGS
    )
    score = benchmark(PrecomputedFeatures(recorded[1], visual_degrees=8))
    assert float(benchmark.ceiling) == float(load_ceiling("internal_consistency")(recorded[0]))
    assert float(score) == pytest.approx(float(explained_variance(score.raw, benchmark.ceiling)))
    assert benchmark.identifier == "Made2026.IT-pls"


@pytest.mark.parametrize("metric", ["ridge_signal", "ridgecv_r2er"])
def test_metrics_on_repetitions_need_no_ceiling(recorded, metric):
    unstratified = {"crossvalidation_kwargs": {"stratification_coord": None}}
    benchmark = benchmark_of_repetitions("Made2026.IT-x", lambda: recorded[0], metric, **unstratified, **KWARGS)
    score = benchmark(PrecomputedFeatures(recorded[1], visual_degrees=8))
    assert float(benchmark.ceiling) == 1
    assert score.attrs["n_stimuli"] == 40
    whole = load_metric(metric, **unstratified)(recorded[1], recorded[0])
    assert float(score) == float(score.raw) == pytest.approx(float(whole))
    assert score.attrs["interval"] == pytest.approx(whole.attrs["interval"])
    assert score.attrs["error"] == pytest.approx(whole.attrs["error"])


@pytest.mark.parametrize("metric", ["rdm", "cka"])
def test_ceiling_of_geometry_is_the_root_of_its_reliability(recorded, metric):
    benchmark = benchmark_of_repetitions("Made2026.IT-x", lambda: recorded[0], metric, **KWARGS)
    score = benchmark(PrecomputedFeatures(recorded[1], visual_degrees=8))
    assert float(score) == pytest.approx(float(ceil_score(score.raw, benchmark.ceiling)))
    assert float(benchmark.ceiling) ** 2 == pytest.approx(float(benchmark.ceiling.attrs["reliability"]))


@pytest.mark.parametrize("metric", ["accuracy", "error_consistency", "value_delta"])
def test_rejects_metrics_without_a_ceiling_from_repetitions(metric):
    with pytest.raises(CeilingError, match=r"'Made2026\.IT-x' has a metric whose scores are of the quantity"):
        benchmark_of_repetitions("Made2026.IT-x", lambda: None, metric, **KWARGS)


@pytest.mark.parametrize("metric", ["procrustes", "cka_biased"])
def test_a_metric_of_shares_needs_an_explicit_ceiling(recorded, metric):
    with pytest.raises(CeilingError, match="Pass ceiler="):
        benchmark_of_repetitions("Made2026.IT-x", lambda: recorded[0], metric, **KWARGS)
    ceiling = Score(0.8)
    ceiling.attrs["quantity"] = "share"
    given = {"ceiler": lambda repetitions: ceiling, **KWARGS}
    benchmark = benchmark_of_repetitions("Made2026.IT-x", lambda: recorded[0], metric, **given)
    score = benchmark(PrecomputedFeatures(recorded[1], visual_degrees=8))
    assert float(benchmark.ceiling) == 0.8
    assert float(score) == pytest.approx(float(score.raw) / 0.8)


class Own(Metric):
    quantity = "share"
    is_of_geometry = True
    takes_all_stimuli = True

    def __call__(self, source, target):
        return load_metric("cka")(source, target)


def test_ceiling_depends_on_the_metrics_properties_not_its_name(recorded, monkeypatch):
    monkeypatch.setitem(metric_registry, "my_own_alignment", Own)
    of_splits = {"crossvalidation_kwargs": {"stratification_coord": None}}
    mine, known, made = (
        benchmark_of_repetitions("Made2026.IT-x", lambda: recorded[0], metric, **of_splits, **KWARGS)
        for metric in ("my_own_alignment", "cka", load_metric("cka"))
    )
    assert float(mine.ceiling) == float(known.ceiling) == float(made.ceiling)
    assert 0 < float(known.ceiling) < 1
    assert load_metric("cka_cv").is_of_geometry
    assert not load_metric("cka_biased").is_of_geometry


@pytest.mark.parametrize("metric", ["spantime_ridge", "ridge_pertime", "instance"])
def test_a_metric_over_time_gets_a_ceiling_per_time_bin(metric):
    metric = load_metric("spantime_pls") if metric == "instance" else metric
    benchmark = benchmark_of_repetitions("Made2026.IT-x", lambda: None, metric, **KWARGS)
    assert benchmark._ceiling_func.ceiler.func is repeated._ceiling_of_bins


def test_a_metric_instance_gets_the_ceiling_of_its_quantity(recorded):
    benchmark = benchmark_of_repetitions("Made2026.IT-x", lambda: recorded[0], load_metric("rdm"), **KWARGS)
    assert benchmark.ceiling.attrs["quantity"] == "dissimilarity_correlation"
