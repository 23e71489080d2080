import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import f_oneway

from brainscore_vision.metric_helpers.arrays.reliability.noise_ceiling import (
    leave_one_out_correlations,
    ncsnr,
    reliability_influence,
    repeated_responses,
    single_reliability,
    variance_components,
)
from brainscore_vision.metric_helpers.arrays.reliability.split_half import spearman_brown


def measured(counts, n_neuroids=3, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    stimulus = np.repeat(np.arange(len(counts)), counts)
    repetition = np.concatenate([np.arange(count) for count in counts])
    signal = rng.standard_normal((len(counts), n_neuroids))
    return signal[stimulus] + noise * rng.standard_normal((len(stimulus), n_neuroids)), stimulus, repetition


def test_nested_reliability_follows_from_the_f_statistic():
    values, stimulus, _ = measured([5] * 12)
    expected = 1 - 1 / f_oneway(*(values[stimulus == number] for number in range(12))).statistic
    np.testing.assert_allclose(variance_components(repeated_responses(values, stimulus)).reliability, expected)


def test_crossed_reliability_equals_cronbachs_alpha():
    values, stimulus, repetition = measured([4] * 15)
    table = values.reshape(15, 4, 3)
    alpha = 4 / 3 * (1 - table.var(axis=0, ddof=1).sum(axis=0) / table.sum(axis=1).var(axis=0, ddof=1))
    responses = repeated_responses(values, stimulus, repetition)
    assert responses.design == "crossed"
    np.testing.assert_allclose(variance_components(responses).reliability, alpha)


def test_crossed_signal_equals_that_of_sahani_and_linden():
    values, stimulus, repetition = measured([4] * 15)
    table = values.reshape(15, 4, 3)
    power_of_mean = table.mean(axis=1).var(axis=0, ddof=1)
    power_of_each = table.var(axis=0, ddof=1).mean(axis=0)
    expected = (4 * power_of_mean - power_of_each) / 3
    np.testing.assert_allclose(variance_components(repeated_responses(values, stimulus, repetition)).signal, expected)


def test_unequal_repetitions_match_hand_computed_values():
    # Means 1, 4, 6; variances within stimuli are 2, 0 and, for the one shown once, the pooled (2 + 0) / 2.
    values = np.array([[0.0], [2.0], [4.0], [4.0], [6.0]])
    parts = variance_components(repeated_responses(values, [0, 0, 1, 1, 2]))
    total = np.var([1, 4, 6], ddof=1)
    np.testing.assert_allclose(parts.total, total)
    np.testing.assert_allclose(parts.signal, total - (2 / 2 + 0 / 2 + 1 / 1) / 3)
    np.testing.assert_allclose(parts.noise, 1.0)


@pytest.mark.slow
def test_estimates_are_unbiased_for_unequal_poisson_noise():
    rng = np.random.default_rng(1)
    counts = rng.integers(2, 8, size=30)
    stimulus = np.repeat(np.arange(30), counts)
    rates = rng.gamma(2.0, 3.0, size=(30, 1))
    signal, reliability = [], []
    for _ in range(2000):
        parts = variance_components(repeated_responses(rng.poisson(rates[stimulus]).astype(float), stimulus))
        signal.append(parts.signal[0])
        reliability.append(parts.reliability[0])
    true = rates.var(ddof=1)
    assert np.mean(signal) == pytest.approx(true, abs=4 * np.std(signal) / np.sqrt(2000))
    assert np.mean(reliability) == pytest.approx(true / (true + np.mean(rates[:, 0] / counts)), abs=0.01)


@settings(max_examples=25)
@given(st.lists(st.integers(1, 5), min_size=2, max_size=8).filter(lambda counts: max(counts) > 1), st.integers(0, 99))
def test_reliability_does_not_depend_on_order_or_units(counts, seed):
    values, stimulus, repetition = measured(counts, seed=seed)
    expected = variance_components(repeated_responses(values, stimulus, repetition)).reliability
    order = np.random.default_rng(seed).permutation(len(values))
    changed = 1000 - 30 * values[order]
    found = variance_components(repeated_responses(changed, stimulus[order], repetition[order])).reliability
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


def test_drift_of_whole_repetitions_is_not_noise():
    values, stimulus, repetition = measured([4] * 10)
    expected = variance_components(repeated_responses(values, stimulus, repetition)).reliability
    drifted = values + 5.0 * repetition[:, None]
    found = variance_components(repeated_responses(drifted, stimulus, repetition)).reliability
    np.testing.assert_allclose(found, expected)
    assert (variance_components(repeated_responses(drifted, stimulus)).reliability < found).all()


def test_ncsnr_gives_the_reliability_of_the_mean():
    parts = variance_components(repeated_responses(*measured([6] * 40)))
    ratio = ncsnr(parts)
    np.testing.assert_allclose(ratio**2 / (ratio**2 + 1 / 6), parts.reliability)


def test_weights_equal_repeating_stimuli():
    values, stimulus, _ = measured([3, 2, 4, 3, 5, 2])
    weights = np.array([[2, 0, 1, 1, 0, 2]])
    responses = repeated_responses(values, stimulus)
    rows = np.repeat(np.arange(6), weights[0])
    expected = responses.means[rows].var(axis=0, ddof=1) - responses.noise_of_means[rows].mean(axis=0)
    np.testing.assert_allclose(variance_components(responses, weights).signal[0], expected)


def test_constant_or_single_responses_have_no_reliability():
    parts = variance_components(repeated_responses(np.full((4, 1), 0.1), [0, 0, 1, 1]))
    assert np.isnan(parts.reliability).all()
    with pytest.raises(ValueError, match="at least twice"):
        repeated_responses(np.ones((3, 1)), [0, 1, 2])


def test_leave_one_out_if_subjects_lack_stimuli():
    rng = np.random.default_rng(0)
    table = rng.standard_normal((3, 12, 1)) + rng.standard_normal((12, 1))
    present = np.ones((3, 12), dtype=bool)
    present[0, :3] = present[1:, 3] = False  # only the first subject saw the fourth stimulus
    lower, _ = leave_one_out_correlations(np.where(present[:, :, None], table, np.nan), present)
    assert lower[0, 0] == pytest.approx(np.corrcoef(table[0, 4:, 0], table[1:, 4:, 0].mean(axis=0))[0, 1])
    others = np.where(present[0], (table[0, :, 0] + table[2, :, 0]) / 2, table[2, :, 0])
    shown = present[1]
    assert lower[1, 0] == pytest.approx(np.corrcoef(table[1, shown, 0], others[shown])[0, 1])


@given(st.floats(0.01, 0.99), st.integers(1, 9), st.integers(1, 9))
def test_single_reliability_inverts_the_correlation_of_two_means(single, first, second):
    r = np.sqrt(spearman_brown(single, first) * spearman_brown(single, second))
    assert float(single_reliability(r, first, second)) == pytest.approx(single, rel=1e-6)


@pytest.mark.parametrize("n_averaged", [None, 1, 7])
def test_reliability_influences_are_derivatives_by_weight(n_averaged):
    responses = repeated_responses(*measured([2, 3, 4, 5] * 10)[:2])
    n, step = 40, 1e-6

    def reliability(found):
        if n_averaged is None:
            return found.reliability
        return found.signal / (found.signal + found.noise / n_averaged)

    # Rows have equal sums: what one stimulus gains, all lose equally.
    weights = (1 + step * np.eye(n)) * n / (n + step)
    numeric = (
        reliability(variance_components(responses, weights)) - reliability(variance_components(responses))
    ) / step
    influence = reliability_influence(responses, n_averaged)
    np.testing.assert_allclose(influence * np.sqrt(n * (n - 1)), numeric * n, atol=1e-4)
    np.testing.assert_allclose(influence.sum(axis=0), 0, atol=1e-12)


def test_a_missing_cell_matches_hand_computed_values():
    # The second repetition is higher by the mean of 2 and 0. Four residuals of 1/2 have one degree of freedom.
    values = np.array([[0.0], [2.0], [4.0], [4.0], [6.0]])
    responses = repeated_responses(values, [0, 0, 1, 1, 2], [0, 1, 0, 1, 0])
    assert responses.design == "incomplete"
    np.testing.assert_allclose(responses.means[:, 0], [1, 4, 6])
    np.testing.assert_allclose(responses.noise, 1.0)
    np.testing.assert_allclose(responses.shifts[:, 0], [1 / 6, 1 / 6, -1 / 3])
    # The least-squares means are 1, 4 and 6.5, less their mean shift; the last one lacks a repetition.
    means, noise = responses.without_drift()
    np.testing.assert_allclose(means[:, 0], [5 / 6, 23 / 6, 19 / 3])
    np.testing.assert_allclose(noise[:, 0], [1 / 2 + 1 / 36, 1 / 2 + 1 / 36, 1 + 1 / 9])


@pytest.mark.parametrize("missing", [0, 1, 24])
def test_estimates_equal_least_squares_with_indicators(missing):
    values, stimulus, repetition = measured([5] * 12)
    kept = np.random.default_rng(0).permutation(60)[missing:]
    values, stimulus, repetition = values[kept] + repetition[kept, None] ** 2, stimulus[kept], repetition[kept]
    assert np.bincount(stimulus).min() == {0: 5, 1: 4, 24: 1}[missing]
    responses = repeated_responses(values, stimulus, repetition)
    assert responses.design == ("incomplete" if missing else "crossed")
    design = np.hstack([stimulus[:, None] == np.arange(12), repetition[:, None] == np.arange(5)]).astype(float)
    effects, _, rank, _ = np.linalg.lstsq(design, values, rcond=None)
    squares = ((values - design @ effects) ** 2).sum(axis=0)
    freedom = len(values) - 12 - 4
    assert len(values) - rank == freedom
    pooled = squares / freedom
    several = responses.counts > 1
    once = responses.noise[~several]
    np.testing.assert_allclose(once, np.broadcast_to(pooled, once.shape))
    shifts = np.array([effects[12:][repetition[stimulus == number]].mean(axis=0) for number in range(12)])
    np.testing.assert_allclose(responses.shifts, shifts - shifts.mean(axis=0), atol=1e-12)
    if not missing:
        np.testing.assert_array_equal(responses.noise_of_means, responses.noise / 5)


def test_noise_without_drift_is_unbiased_for_each_stimulus():
    """Stimuli have one to four cells; the mean over many columns is the noise variance of 1, whatever the drift."""
    rng = np.random.default_rng(0)
    stimulus, repetition = np.nonzero(np.tri(4, dtype=bool)[rng.integers(0, 4, 15)])
    values = rng.standard_normal((len(stimulus), 20_000)) + 3.0 * repetition[:, None] + stimulus[:, None]
    responses = repeated_responses(values, stimulus, repetition)
    np.testing.assert_allclose(responses.noise.mean(axis=1), 1.0, atol=0.05)
    drift = 3.0 * np.array([repetition[stimulus == number].mean() for number in range(15)])
    expected = 1 / responses.counts + (drift - drift.mean()) ** 2 * 15 / 14
    np.testing.assert_allclose(responses.noise_of_means.mean(axis=1), expected, atol=0.05)


@pytest.mark.parametrize(
    "repetition",
    [[0, 1, 0, 1, 2, 3, 2, 3], np.arange(8), [0, 1, 0, 2, 0, 3, 0, 4], [0] * 8],
    ids=["two sessions of other stimuli", "numbered throughout", "few degrees of freedom", "one repetition"],
)
def test_drift_counts_as_noise_if_the_design_cannot_separate_it(repetition):
    values, stimulus, _ = measured([2] * 4)
    responses, nested = repeated_responses(values, stimulus, repetition), repeated_responses(values, stimulus)
    assert responses.design == "nested"
    np.testing.assert_array_equal(responses.noise_of_means, nested.noise_of_means)


@pytest.mark.slow
@pytest.mark.parametrize("n", [12, 60])
def test_squared_influences_sum_to_the_reliabilitys_variance(n):
    responses = [repeated_responses(*measured([4] * n, 200, seed=seed)) for seed in range(20)]
    found = np.concatenate([variance_components(each).reliability for each in responses])
    stated = np.concatenate([(reliability_influence(each) ** 2).sum(axis=0) for each in responses])
    assert np.sqrt(stated.mean()) == pytest.approx(found.std(), rel=0.15)


def test_constant_responses_have_undefined_influences():
    values, stimulus, _ = measured([3] * 10)
    values[:, 1] = 2.0
    influence = reliability_influence(repeated_responses(values, stimulus))
    assert np.isnan(influence).all(axis=0).tolist() == [False, True, False]
