import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.model_selection import ShuffleSplit

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_core.statistics.influence import t_quantile
from brainscore_core.testing.synthetic import assembly_of, trials_of
from brainscore_vision import load_ceiling
from brainscore_vision.metrics.internal_consistency.ceiling import (
    InternalConsistency,
    PearsonCorrelation,
    PearsonReliability,
    SpearmanBrownCorrection,
)


def recording(n=50, repetitions=6, q=4, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, q)) + noise * rng.normal(size=(repetitions, n, q))


def assembly(trials, **extra):
    n_repetitions, n = trials.shape[:2]
    return trials_of(trials, object_name=[f"o{number % 3}" for number in range(n)] * n_repetitions, **extra)


def test_score_equals_scipy_for_each_split():
    trials = recording()
    ceiling = load_ceiling("internal_consistency")(assembly(trials))
    raw = []
    for first, second in ShuffleSplit(10, train_size=0.5, random_state=1).split(np.zeros(6)):
        assert sorted([*first, *second]) == list(range(6))
        one, two = trials[first].mean(axis=0), trials[second].mean(axis=0)
        r = np.array([pearsonr(one[:, i], two[:, i])[0] for i in range(4)])
        raw.append(2 * r / (1 + r))
    np.testing.assert_allclose(ceiling.attrs["raw"].values, raw, atol=1e-12)
    medians = np.median(raw, axis=1)
    assert float(ceiling) == pytest.approx(medians.mean())
    assert ceiling.attrs["split_error"] == pytest.approx(medians.std(ddof=1) / np.sqrt(10))
    expected = {"n_stimuli": 50, "n_neuroids": 4, "n_repetitions": 6, "seed": 1}
    assert {name: ceiling.attrs[name] for name in expected} == expected
    assert ceiling.attrs["error"] > 0
    assert "error_nan_reason" not in ceiling.attrs
    assert isinstance(ceiling, Score)
    assert ceiling.attrs["raw"].dims == ("split", "neuroid")


@pytest.mark.parametrize("repetitions", [2, 3, 7])
def test_score_estimates_the_true_reliability(repetitions):
    ceiling = load_ceiling("internal_consistency")(assembly(recording(400, repetitions, 60, noise=2.0)))
    assert float(ceiling) == pytest.approx(1 / (1 + 4 / repetitions), abs=0.02)


def test_splits_are_seeded_and_their_number_can_be_set():
    trials = assembly(recording(repetitions=8, noise=3))
    other = load_ceiling("internal_consistency", splits=30, random_state=5)(trials)
    assert other.attrs["raw"].sizes["split"] == 30
    assert other.attrs["seed"] == 5
    assert float(other) != float(load_ceiling("internal_consistency")(trials))
    assert float(other) == float(load_ceiling("internal_consistency", splits=30, random_state=5)(trials))


def test_accepts_missing_presentations_and_a_single_time_bin():
    trials = recording()
    full = assembly(trials)
    partial = load_ceiling("internal_consistency")(full.isel(presentation=np.arange(2, 300)))
    assert float(partial) == pytest.approx(float(load_ceiling("internal_consistency")(full)), abs=0.05)
    ceiling = load_ceiling("internal_consistency")
    assert float(ceiling(timed([trials], starts=[70]))) == float(ceiling(full))


def test_nan_marks_missing_repetitions_of_a_neuroid():
    # Neuroid 0 has 6 repetitions; 1 lacks the last two; 2 has two or six of each stimulus; 3 has one of each.
    trials = recording(n=4000)
    trials[4:, :, 1] = np.nan
    trials[2:, ::2, 2] = np.nan
    trials[1:, :, 3] = np.nan
    raw = load_ceiling("internal_consistency", n_bootstrap=0)(assembly(trials)).attrs["raw"].mean("split").values
    # Signal and noise of a repetition have variance 1, so the mean over n has the reliability n / (n + 1); the harmonic
    # mean of 2 and 6 is 3.
    np.testing.assert_allclose(raw[:3], [6 / 7, 4 / 5, 3 / 4], atol=0.02)
    assert np.isnan(raw[3])
    alone = load_ceiling("internal_consistency", n_bootstrap=0)(assembly(trials[:, :, [0, 0]]))
    assert alone.attrs["raw"].mean("split").values[0] == pytest.approx(raw[0], abs=1e-12)


def test_missing_repetitions_match_hand_computed_values():
    trials = recording(n=8, repetitions=2, q=2)
    trials[1, 5, 0] = np.nan
    ceiling = load_ceiling("internal_consistency", compat=True, n_bootstrap=0)(assembly(trials))
    both = [0, 1, 2, 3, 4, 6, 7]
    r = pearsonr(trials[0, both, 0], trials[1, both, 0])[0]
    np.testing.assert_allclose(ceiling.attrs["raw"].values[:, 0], 2 * r / (1 + r), atol=1e-12)


def test_rejects_unusable_repetitions_and_stimuli():
    ceiling = load_ceiling("internal_consistency")
    with pytest.raises(AssemblyError, match="two values of 'repetition'"):
        ceiling(assembly(recording(repetitions=1)))
    with pytest.raises(AssemblyError, match="at least three stimuli"):  # with two stimuli, halves correlate at 1 or -1
        ceiling(assembly(recording(n=2)))
    broken = recording()
    broken[0, 3, 1] = np.inf
    with pytest.raises(AssemblyError, match="'n1'"):
        ceiling(assembly(broken))
    doubled = assembly(recording())
    with pytest.raises(AssemblyError, match="more than once"):
        ceiling(doubled.isel(presentation=[0, *range(300)]))


def test_consistency_metric_and_aggregate_can_be_replaced():
    def agreement(half1, half2):
        assert half1["stimulus_id"].values.tolist() == half2["stimulus_id"].values.tolist()
        assert half1.sizes["presentation"] == 50
        r = [pearsonr(half1.values[:, i], half2.values[:, i])[0] for i in range(half1.sizes["neuroid"])]
        return Score(r, coords={"neuroid_id": ("neuroid", half1["neuroid_id"].values)}, dims=["neuroid"])

    trials = assembly(recording())
    default = load_ceiling("internal_consistency")(trials)
    custom = load_ceiling("internal_consistency", agreement)(trials)
    np.testing.assert_allclose(custom.attrs["raw"].values, default.attrs["raw"].values, atol=1e-12)
    largest = load_ceiling("internal_consistency", aggregate=lambda scores: scores.max("neuroid"))(trials)
    assert float(largest) == pytest.approx(default.attrs["raw"].values.max(axis=1).mean())


def test_spearman_brown_accepts_numbers_arrays_and_scores():
    correct = SpearmanBrownCorrection()
    assert correct(0.5, n=2) == pytest.approx(2 / 3)
    assert isinstance(correct.correct(0.5, 2), float)
    np.testing.assert_allclose(correct(np.array([0.5, 0.0]), n=3), [0.75, 0])
    scores = Score([0.5, 1.0], coords={"neuroid_id": ("neuroid", ["a", "b"])}, dims=["neuroid"])
    corrected = correct(scores, n=2)
    assert type(corrected) is Score
    assert corrected.sel(neuroid_id="a").values.tolist() == [pytest.approx(2 / 3)]
    assert scores.values.tolist() == [0.5, 1.0]


def test_correlation_and_reliability_of_two_halves():
    first, second = recording(repetitions=2)
    one, two = (assembly(half[np.newaxis]) for half in (first, second))
    r = [pearsonr(first[:, i], second[:, i])[0] for i in range(4)]
    shuffled = two.isel(presentation=np.random.default_rng(0).permutation(50), neuroid=[2, 0, 3, 1])
    scores = PearsonCorrelation()(one, shuffled)
    assert scores.dims == ("neuroid",)
    np.testing.assert_allclose(scores.sortby("neuroid_id").values, r)
    assert float(PearsonCorrelation().aggregate(scores)) == pytest.approx(np.median(r))
    stepped = PearsonReliability()(one, shuffled)
    np.testing.assert_allclose(stepped.sortby("neuroid_id").values, 2 * np.array(r) / (1 + np.array(r)))
    # Stimuli may occur several times.
    np.testing.assert_allclose(PearsonCorrelation()(*[assembly(recording(repetitions=3))] * 2).values, 1)


def test_passing_the_default_metric_changes_nothing():
    given_trials = assembly(recording(repetitions=4))
    metric = PearsonCorrelation()
    ceiling = InternalConsistency(consistency_metric=metric, aggregate=metric.aggregate)(given_trials)
    assert float(ceiling) == pytest.approx(float(InternalConsistency()(given_trials)), abs=1e-12)


def timed(trials, starts=(70, 80, 90)):
    """Make an assembly of trials of shape (bins, repetitions, stimuli, neuroids)."""
    bins = [assembly(part) for part in trials]
    coords = {name: bins[0][name].values for name in ("stimulus_id", "repetition")}
    coords |= {"time_bin_start": ("time_bin", list(starts)), "time_bin_end": ("time_bin", [s + 10 for s in starts])}
    return assembly_of(np.stack([part.values for part in bins], axis=2), **coords)


def trials_over_time(**kwargs):
    return np.stack([recording(noise=noise, seed=seed, **kwargs) for seed, noise in enumerate((0.5, 1.0, 2.0))])


@pytest.mark.parametrize("repetitions", [2, 5])
@pytest.mark.parametrize("kwargs", [{}, {"compat": True, "splits": 4, "random_state": 3}])
def test_temporal_ceiling_equals_separate_ceilings_of_time_bins(repetitions, kwargs):
    trials = trials_over_time(repetitions=repetitions)
    ceiling = load_ceiling("internal_consistency_temporal", **kwargs)(timed(trials))
    assert ceiling.dims == ("time_bin",)
    assert ceiling.attrs["raw"].dims == ("time_bin", "split", "neuroid")
    assert ceiling["time_bin_start"].values.tolist() == [70, 80, 90]
    for index, part in enumerate(trials):
        alone = load_ceiling("internal_consistency", **kwargs)(assembly(part))
        assert ceiling.values[index] == pytest.approx(float(alone), abs=1e-12)
        assert ceiling.attrs["error"].values[index] == pytest.approx(alone.attrs["error"])
        np.testing.assert_allclose(ceiling.attrs["raw"].values[index], alone.attrs["raw"].values, atol=1e-12)
        np.testing.assert_allclose(ceiling.attrs["interval"].values[index], alone.attrs["interval"], atol=1e-12)
    expected = {"n_stimuli": 50, "n_neuroids": 4, "n_repetitions": repetitions, "quantity": "reliability"}
    expected["estimator"] = "split halves of the repetitions, Spearman-Brown corrected"
    assert {name: ceiling.attrs[name] for name in expected} == expected


def test_temporal_ceiling_with_constant_neuroids_and_bins():
    trials = trials_over_time()
    trials[0, :, :, 1] = 0.0
    trials[2] = 3.0
    trials[:, :, :, 3] = np.nan
    ceiling = load_ceiling("internal_consistency_temporal")(timed(trials))
    assert np.isnan(ceiling.values).tolist() == [False, False, True]
    assert np.isnan(ceiling.attrs["raw"].values[0, 0]).tolist() == [False, True, False, True]
    assert np.isnan(ceiling.attrs["interval"].values[2]).all()
    assert ceiling.attrs["neuroids_left_out"] == ["n3"]
    with pytest.raises(AssemblyError, match="No neuroid"):
        load_ceiling("internal_consistency_temporal")(timed(np.ones_like(trials)))


def test_temporal_ceiling_of_one_bin_and_with_custom_aggregate():
    trials = trials_over_time()
    one = load_ceiling("internal_consistency_temporal")(timed(trials[:1], starts=[70]))
    plain = load_ceiling("internal_consistency")(assembly(trials[0]))
    assert one.ndim == 0
    assert float(one) == float(plain)
    largest = load_ceiling("internal_consistency_temporal", aggregate=lambda scores: scores.max("neuroid"))
    ceiling = largest(timed(trials))
    raw = load_ceiling("internal_consistency_temporal")(timed(trials)).attrs["raw"].values
    np.testing.assert_allclose(ceiling.values, raw.max(axis=2).mean(axis=1), atol=1e-12)
    assert ceiling.attrs["error"].dims == ("time_bin",)


def test_interval_matches_bootstrapped_medians():
    trials = recording(n=200, repetitions=4, q=60, noise=2.0)
    ceiling = load_ceiling("internal_consistency")(assembly(trials))
    low, high = ceiling.attrs["interval"]
    assert low < float(ceiling) < high
    # Medians of resampled neuroids, the same in all splits; stimuli add no noise that neuroids share.
    raw = ceiling.attrs["raw"].values
    draws = np.random.default_rng(0).integers(60, size=(4000, 60))
    spread = np.median(raw[:, draws], axis=2).mean(axis=0).std()
    t = t_quantile(ceiling.attrs["influence"].freedoms[1])  # few neuroids are near a median
    assert high - low == pytest.approx(2 * t * spread, rel=0.25)
    own = load_ceiling("internal_consistency", aggregate=lambda scores: scores.max("neuroid"))
    assert "interval" not in own(assembly(trials)).attrs


def test_nearly_constant_neuroids_with_a_large_mean_are_used():
    trials = recording()
    shifted = trials.copy()
    shifted[..., 2] = 1e-6 * shifted[..., 2] + 100.0
    base = load_ceiling("internal_consistency")(assembly(trials))
    ceiling = load_ceiling("internal_consistency")(assembly(shifted))
    assert ceiling.attrs["n_neuroids"] == 4
    np.testing.assert_allclose(ceiling.attrs["raw"].values, base.attrs["raw"].values, atol=1e-6)
