import numpy as np
import pytest

from brainscore_core.benchmarks import LazyCeiling, ceil_score, explained_variance
from brainscore_core.metrics import Score
from brainscore_core.records.record import ScoreRecord
from brainscore_core.statistics.influence import Influence
from brainscore_core.supported_data_standards.brainio.transform import average_repetition
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_ceiling, load_metric
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.benchmark_helpers.neural.benchmark import NeuralBenchmark
from brainscore_vision.benchmark_helpers.scores.ceilings import ceiling_over_time, geometry_ceiling, over_time
from brainscore_vision.testing.stand_ins import draw_stimuli, recordings, shuffled

BINS = [(0, 50), (50, 100), (100, 150)]


@pytest.fixture(scope="module")
def stimuli(tmp_path_factory):
    return draw_stimuli("Made2026", 64, size_px=16, folder=tmp_path_factory.mktemp("pictures"))


@pytest.mark.parametrize("name", ["rdm", "rdm_rho_a", "rdm_whitened", "cka"])
@pytest.mark.parametrize(("noise", "tolerance"), [(0.5, 0.002), (2, 0.01), (3, 0.02)])
def test_the_true_geometry_reaches_its_ceiling(stimuli, name, noise, tolerance):
    repeated, truth = recordings(stimuli, n_neuroids=30, n_repetitions=20, noise=noise)
    metric = load_metric(name)
    ceiling = geometry_ceiling(metric, repeated)
    measured = average_repetition(repeated)
    assert float(ceil_score(metric(truth, measured), ceiling)) == pytest.approx(1, abs=tolerance)
    assert abs(float(ceil_score(metric(shuffled(truth), measured), ceiling))) < 0.1
    assert float(ceiling) ** 2 == pytest.approx(float(ceiling.attrs["reliability"]))
    assert 0 < ceiling.attrs["reliability"].attrs["split_error"] < 0.01
    assert ceiling.attrs["quantity"] == metric.quantity


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rdm", "cka"])
def test_errors_of_geometry_match_the_spread_of_simulations(name):
    """The spread is over new stimuli, neuroids and noise. The ceiling's error is conservative because the same neuroids
    affect both halves."""
    metric, found = load_metric(name), []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        factors = rng.normal(size=(40, 8))
        signal = factors @ rng.normal(size=(8, 12))
        repeated = repetitions_of(signal + 4 * rng.normal(size=(4, 40, 12)))
        ceiling = geometry_ceiling(metric, repeated)
        score = ceil_score(metric(single(factors[:, :4]), average_repetition(repeated)), ceiling)
        found.append([float(ceiling), ceiling.attrs["error"], float(score), score.attrs["error"]])
        low, high = ceiling.attrs["interval"]
        assert low < float(ceiling) < high
    ceilings, errors, scores, errors_of_scores = np.array(found).T
    assert 0.75 < np.sqrt(np.mean(errors**2)) / np.std(ceilings) < 2.5
    assert 0.75 < np.sqrt(np.mean(errors_of_scores**2)) / np.std(scores) < 2.5


def single(values):
    return assembly_of(values)


def repetitions_of(values):
    n, stimuli, neuroids = values.shape
    ids = np.tile([f"s{i:02d}" for i in range(stimuli)], n)
    return assembly_of(values.reshape(-1, neuroids), stimulus_id=ids, repetition=np.repeat(np.arange(n), stimuli))


def test_ceiling_of_a_metric_without_influence_has_no_error():
    repeated = repetitions_of(np.random.default_rng(0).normal(size=(4, 20, 5)) + np.arange(20.0)[:, None])
    ceiling = geometry_ceiling(lambda one, two: Score(0.5), repeated)
    assert float(ceiling) == pytest.approx(np.sqrt(2 / 3))
    assert np.isnan(ceiling.attrs["error"])
    assert "neuroids of both halves" in ceiling.attrs["error_nan_reason"]


def test_no_score_in_a_ceiling_contains_itself():
    repeated = repetitions_of(np.random.default_rng(0).normal(size=(4, 20, 5)) + np.arange(20.0)[:, None])
    pending, above = [(geometry_ceiling(load_metric("rdm"), repeated), ())], 0
    while pending:
        score, holders = pending.pop()
        assert not any(score is holder for holder in holders)
        above = max(above, len(holders))
        pending += [(each, (*holders, score)) for each in score.attrs.values() if isinstance(each, Score)]
    assert above == 2  # the reliability, and the score of each split below it


def test_an_unreliable_geometry_has_no_ceiling():
    from brainscore_core.benchmarks import BenchmarkBase
    from brainscore_core.errors import CeilingError

    stimuli = draw_stimuli("Made2026", 12, size_px=16)
    for seed in range(10):
        noisy, _ = recordings(stimuli, n_neuroids=3, n_repetitions=2, noise=1000, seed=seed)
        ceiling = geometry_ceiling(load_metric("rdm"), noisy)
        if float(ceiling) == 0:
            break
    with pytest.raises(CeilingError, match="above 0"):
        _ = BenchmarkBase("Made2026", version=1, ceiling_func=lambda: ceiling).ceiling


def test_score_over_time_is_the_root_of_the_mean_signed_square():
    per_bin = Score([0.6, -0.2, np.nan, 0.9], coords={"time_bin_start": ("time_bin", [0, 1, 2, 3])}, dims=["time_bin"])
    target = recordings(
        draw_stimuli("Made2026", 8, size_px=16), n_neuroids=2, time_bins=[(3, 4), (0, 1), (1, 2), (2, 3)]
    )[1]
    target.values[:, :, 0] = 5.0  # constant: the bin that begins at 3 is excluded
    score = over_time(lambda source, target: per_bin)(None, target)
    assert float(score) == pytest.approx(np.sqrt((0.36 - 0.04 + 0) / 3))
    assert score.attrs["per_time_bin"] is per_bin
    assert np.isnan(score.attrs["error"])
    assert "do not say" in score.attrs["error_nan_reason"]


def test_ceiling_over_time_skips_undefined_bins():
    per_bin = Score([0.5, np.nan, -0.1], coords={"time_bin_start": ("time_bin", [0, 1, 2])}, dims=["time_bin"])
    assert float(ceiling_over_time(per_bin)) == pytest.approx(0.2)


@pytest.fixture(scope="module")
def course(stimuli):
    """Recordings whose first time bin is pure noise, as before the response begins."""
    repeated, truth = recordings(stimuli, n_neuroids=26, n_repetitions=10, noise=0.5, time_bins=BINS)
    repeated, truth = repeated.copy(), truth.copy()
    rng = np.random.default_rng(0)
    repeated.values[:, :, 0] = rng.normal(size=repeated.shape[:2])
    truth.values[:, :, 0] = 0
    return repeated, truth


def test_the_true_time_course_reaches_its_ceiling_despite_noise(course):
    repeated, truth = course
    metric = over_time(
        load_metric("spantime_pls", crossvalidation_kwargs={"stratification_coord": None, "compat": True})
    )
    ceiling = ceiling_over_time(load_ceiling("internal_consistency_temporal")(repeated))
    measured = average_repetition(repeated)
    raw = metric(truth, measured)
    assert float(explained_variance(raw, ceiling)) == pytest.approx(1, abs=0.02)
    assert abs(float(explained_variance(metric(shuffled(truth), measured), ceiling))) < 0.1
    assert 0 < raw.attrs["split_error"] < 0.05
    assert 0 < ceiling.attrs["split_error"] < ceiling.attrs["error"] < 0.1
    assert raw.attrs["per_time_bin"].sizes == {"time_bin": 3}
    assert abs(float(ceiling.attrs["per_time_bin"][0])) < 0.4 < float(ceiling) < float(ceiling.attrs["per_time_bin"][1])


def in_bins(values, tables):
    """Make a score of several time bins that are the means of tables of shape (bins, stimuli, neuroids)."""
    score = Score(values, coords={"time_bin_start": ("time_bin", range(len(values)))}, dims=["time_bin"])
    stimuli, neuroids = (np.arange(size) for size in np.shape(tables)[1:])
    score.attrs["influence"] = tuple(Influence.of_mean(table, stimuli, neuroids) for table in tables)
    return score


def test_errors_of_time_bins_follow_the_chain_rule(stimuli):
    target = recordings(stimuli, n_neuroids=2, time_bins=[(0, 1), (1, 2), (2, 3)])[1]
    tables = np.random.default_rng(0).normal(size=(3, 30, 12))
    values, step = np.array([0.6, -0.3, 0.5]), 1e-6

    def score(values):
        return over_time(lambda source, target: in_bins(values, tables))(None, target)

    found = score(values)
    slopes = [(float(score(values + step * of_bin)) - float(found)) / step for of_bin in np.eye(3)]
    one, two, three = (
        slope * each for slope, each in zip(slopes, in_bins(values, tables).attrs["influence"], strict=True)
    )
    expected = one + two + three
    assert found.attrs["error"] == pytest.approx(expected.error, rel=1e-5)
    low, high = found.attrs["interval"]
    assert low < float(found) < high
    ceiling = ceiling_over_time(in_bins(np.array([0.5, np.nan, 0.3]), tables))
    mean = Influence.of_mean((tables[0] + tables[2]) / 2, np.arange(30), np.arange(12))
    assert ceiling.attrs["error"] == pytest.approx(mean.error)
    assert np.isfinite(explained_variance(found, ceiling).attrs["error"])
    assert "no slope" in score(np.zeros(3)).attrs["error_nan_reason"]


def test_benchmark_applies_the_given_normalization(stimuli):
    repeated, truth = recordings(stimuli, n_neuroids=10, neuroid_coords={"region": "IT"})
    metric = load_metric("rdm")
    benchmark = NeuralBenchmark(
        identifier="Made2026.IT-rdm",
        assembly=average_repetition(repeated),
        similarity_metric=metric,
        visual_degrees=8,
        number_of_trials=10,
        normalization=ceil_score,
        ceiling_func=lambda: geometry_ceiling(metric, repeated),
        version=1,
    )
    score = benchmark(PrecomputedFeatures(truth, 8))
    assert float(score) == pytest.approx(float(score.raw) / float(benchmark.ceiling))
    low, high = score.attrs["interval"]
    assert low < float(score) < high


def test_a_ceiling_compatible_with_zero_leaves_no_interval(stimuli):
    measurement = {"n_neuroids": 6, "n_repetitions": 2, "neuroid_coords": {"region": "IT"}}
    records = []
    for noise in (6, 0.5):
        repeated, truth = recordings(stimuli, noise=noise, **measurement)
        benchmark = NeuralBenchmark(
            identifier="Made2026.IT-ridge",
            assembly=average_repetition(repeated),
            similarity_metric=load_metric("ridge", crossvalidation_kwargs={"stratification_coord": None}),
            visual_degrees=8,
            number_of_trials=2,
            ceiling_func=LazyCeiling(load_ceiling("noise_ceiling"), lambda repeated=repeated: repeated),
            version=1,
        )
        score = benchmark(PrecomputedFeatures(truth, 8))
        low, _ = benchmark.ceiling.attrs["interval"]
        assert (low < 0) == (noise == 6)
        assert float(benchmark.ceiling) > 0
        records.append(ScoreRecord.of_score(score, model="truth", benchmark=benchmark.identifier))
    uncertain, certain = records
    assert uncertain.score is not None
    assert uncertain.interval is None
    assert "does not differ from 0" in uncertain.interval_nan_reason
    assert certain.interval[0] < certain.score < certain.interval[1] < 2
    assert certain.interval_nan_reason is None
