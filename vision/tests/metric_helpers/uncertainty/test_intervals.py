import itertools

import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_metric
from brainscore_vision.metric_helpers.uncertainty.intervals import HeldOut, half_sample_interval, held_out_medians
from brainscore_vision.metrics.regression_correlation.metric import (
    CrossRegressedCorrelation,
    pearsonr_correlation,
    ridge_regression,
)


def correlation(source, target):
    return Score(np.corrcoef(source.values[:, 0], target.values[:, 0])[0, 1])


def simulated(seed, n=120, m=25):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 3))
    y = x @ rng.standard_normal((3, m)) + 2 * rng.standard_normal((n, m))
    return assembly_of(x), assembly_of(y)


@pytest.mark.slow  # 60 simulated experiments
def test_coverage_for_a_correlation():
    held = widths = 0.0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((81, 1))
        y = 0.5 * x + np.sqrt(0.75) * rng.standard_normal((81, 1))
        score = half_sample_interval(correlation, assembly_of(x), assembly_of(y), n_resamples=60)
        low, high = score.attrs["interval"]
        held += low <= 0.5 <= high
        widths += (high - low) / 60
    assert 50 <= held <= 60
    assert widths == pytest.approx(2 * 1.96 * 0.75 / 9, rel=0.15)  # the textbook width


@pytest.mark.slow  # 60 simulated experiments
def test_coverage_if_both_stimuli_and_neuroids_vary():
    held = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y = rng.standard_normal((40, 1)) + 0.7 * rng.standard_normal((1, 40)) + rng.standard_normal((40, 40))
        score = half_sample_interval(
            lambda _, target: target.values.mean(), assembly_of(y), assembly_of(y), n_resamples=60, seed=seed
        )
        held += score.attrs["interval"][0] <= 0 <= score.attrs["interval"][1]
    assert 50 <= held <= 60


def test_held_out_medians_and_their_seeded_draws():
    rng = np.random.default_rng(0)
    stimuli = np.array([f"s{index:02d}" for index in range(30)])
    parts = [
        HeldOut(rng.normal(size=(10, 7)), rng.normal(size=(10, 7)), stimuli[first : first + 10]) for first in (0, 20)
    ]
    whole, drawn = held_out_medians(parts, n_resamples=50, seed=1)
    expected = [
        np.median([np.corrcoef(part.prediction[:, i], part.measurement[:, i])[0, 1] for i in range(7)])
        for part in parts
    ]
    np.testing.assert_allclose(whole, expected)
    assert drawn.shape == (50, 2)
    np.testing.assert_array_equal(held_out_medians(parts, n_resamples=50, seed=1)[1], drawn)
    assert (held_out_medians(parts, n_resamples=50, seed=2)[1] != drawn).any()
    alone, none = held_out_medians(parts, 0)  # without draws
    np.testing.assert_array_equal(alone, whole)
    assert none.shape == (0, 2)


def test_two_models_get_the_same_draws():
    rng = np.random.default_rng(0)
    measured, stimuli = rng.normal(size=(30, 7)), np.arange(30).astype(str)
    first = [HeldOut(measured + rng.normal(size=(30, 7)), measured, stimuli)]
    second = [HeldOut(2 * first[0].prediction + 1, measured, stimuli)]
    np.testing.assert_allclose(held_out_medians(first)[1], held_out_medians(second)[1])


@pytest.mark.slow  # 10 simulated experiments for each
@pytest.mark.parametrize(("of_stimuli", "of_neuroids", "of_cells"), [(1, 0, 1), (0, 1, 1), (0, 0, 1), (1, 1, 0)])
def test_half_samples_count_the_noise_of_cells_once(of_stimuli, of_neuroids, of_cells):
    """If only independent cells vary, half samples of both vary three times as much as the mean does."""
    rng = np.random.default_rng(0)
    ratios = []
    for seed in range(10):
        y = of_stimuli * rng.standard_normal((30, 1)) + of_neuroids * rng.standard_normal(30)
        y = y + 3 * of_cells * rng.standard_normal((30, 30))
        score = half_sample_interval(
            lambda _, target: target.values.mean(), assembly_of(y), assembly_of(y), n_resamples=100, seed=seed
        )
        ratios.append(score.attrs["error"] ** 2)
    expected = (of_stimuli + of_neuroids + 9 * of_cells / 30) / 30
    assert np.sqrt(np.mean(ratios) / expected) == pytest.approx(1, abs=0.2)


@pytest.mark.slow  # 300 scores
def test_half_samples_agree_with_influences():
    """Both estimate the same error if nothing is fitted."""
    source, target = simulated(0)
    metric = load_metric("cka")
    slow = half_sample_interval(metric, source, target, n_resamples=100)
    assert slow.attrs["interval_method"] == "half samples"
    assert "influence" not in slow.attrs
    assert slow.attrs["error"] == pytest.approx(metric(source, target).attrs["error"], rel=0.35)


def test_halves_have_distinct_stimuli_and_all_model_neuroids():
    seen = []

    def look(source, target, repetitions):
        ids = target["stimulus_id"].values
        assert len(set(ids)) == len(ids) == 10
        assert list(source["stimulus_id"].values) == list(ids)
        assert set(repetitions["stimulus_id"].values) == set(ids)
        assert repetitions.sizes["presentation"] == 20
        assert source.sizes["neuroid"] == 6
        assert list(target["neuroid_id"].values) == list(repetitions["neuroid_id"].values)
        seen.append(target.sizes["neuroid"])
        return 0.0

    values = np.random.default_rng(0).normal(size=(20, 6))
    repetitions = assembly_of(np.tile(values, (2, 1))).copy()
    ids = [f"s{i:02d}" for i in range(20)] * 2
    repetitions = assembly_of(np.tile(values, (2, 1)), stimulus_id=("presentation", ids))

    def first_whole(*parts):
        return 0.0 if parts[1].sizes["presentation"] == 20 else look(*parts)

    half_sample_interval(first_whole, assembly_of(values), assembly_of(values), repetitions, n_resamples=5)
    assert seen == [6, 3] * 5  # halves of stimuli, of neuroids (with all stimuli), of both


@pytest.mark.parametrize("n_neuroids", [3, 4])
def test_errors_of_a_mean_match_hand_computed_values(n_neuroids):
    """Four values have six halves, which occur about equally often; three neuroids are not sampled."""
    y = np.random.default_rng(0).normal(size=(4, n_neuroids))
    score = half_sample_interval(
        lambda _, target: target.values.mean(), assembly_of(y), assembly_of(y), n_resamples=600
    )
    halves = [list(half) for half in itertools.combinations(range(4), 2)]
    expected = np.var([y[half].mean() for half in halves])
    if n_neuroids == 4:
        both = [y[np.ix_(one, two)].mean() - y[one].mean() - y[:, two].mean() for one in halves for two in halves]
        columns = np.var([y[:, half].mean() for half in halves])
        expected = max(expected + columns - np.var(both), expected, columns)
    assert score.attrs["error"] ** 2 == pytest.approx(expected, rel=0.1)
    assert score.attrs["error_over"] == ["presentation", "neuroid"][: n_neuroids - 2]


def test_intervals_are_seeded_and_do_not_change_the_score():
    source, target = simulated(1)
    first, again, other = (
        half_sample_interval(correlation, source, target, n_resamples=20, seed=seed) for seed in (0, 0, 1)
    )
    assert first.attrs == again.attrs
    assert first.attrs["interval"] != other.attrs["interval"]
    assert float(first) == float(correlation(source, target))


@pytest.mark.parametrize("target", [assembly_of(np.eye(3, 8)), assembly_of(np.eye(9)).drop_vars("stimulus_id")])
def test_rejects_too_few_or_unnamed_stimuli(target):
    with pytest.raises(AssemblyError, match=r"the target has only [30] "):
        half_sample_interval(correlation, target, target)


def test_a_metric_with_a_custom_step_gets_an_error_on_request():
    class Own(CrossRegressedCorrelation):
        def apply(self, *parts):
            return super().apply(*parts)

    source, target = simulated(1, n=100, m=8)
    metric = Own(ridge_regression(), pearsonr_correlation(), crossvalidation_kwargs={"splits": 2})
    assert "half_sample_interval" in metric(source, target).attrs["error_nan_reason"]
    score = half_sample_interval(metric, source, target, n_resamples=6)
    assert "error_nan_reason" not in score.attrs
    known = load_metric("ridge", crossvalidation_kwargs={"splits": 2})(
        source, target
    )  # the same score, with influences
    assert float(score) == pytest.approx(float(known))
    assert 0.5 < score.attrs["error"] / known.attrs["error"] < 2
