import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.metrics import r2_score

from brainscore_vision.metrics.threshold.metric import (
    cumulative_gaussian,
    fit_cumulative_gaussian,
    inverse_cumulative_gaussian,
    rising_part,
    shares_right,
)


def test_function_equals_scipy_and_its_inverse_inverts_it():
    x = np.linspace(-3, 9, 20)
    y = cumulative_gaussian(x, 0.7, 2.5, 0.04)
    np.testing.assert_allclose(y, 0.5 + 0.46 * norm.cdf(x, loc=2.5, scale=1 / 0.7))
    np.testing.assert_allclose(inverse_cumulative_gaussian(y, 0.7, 2.5, 0.04), x, atol=1e-6)
    assert np.isnan(inverse_cumulative_gaussian(0.97, 0.7, 2.5, 0.04))  # above the asymptote, so never reached
    assert np.isnan(inverse_cumulative_gaussian(0.4, 0.7, 2.5, 0.04))


def test_shares_right_counts_trials_of_each_level():
    levels, shares, n = shares_right([3, 1, 3, 1, 3], [1, 0, 1, 1, 0])
    np.testing.assert_allclose(levels, [1, 3])
    np.testing.assert_allclose(shares, [1 / 2, 2 / 3])
    assert n.tolist() == [2, 3]


@pytest.mark.parametrize(
    ("shares", "kept"),
    [
        ([0.5, 0.6, 0.9], 3),
        ([0.5, 0.7, 0.9, 0.88, 0.9], 5),
        ([0.5, 0.7, 0.9, 0.6, 0.5], 3),
        ([0.9, 0.8, 0.6, 0.5], 2),  # standard deviation 0.158: 0.8 is close enough to the maximum
        ([0.5, 0.9, 0.5, 0.9, 0.5], 4),  # it falls, but rises again
        ([0.7, 0.7, 0.7], 1),
        ([0.7], 1),
    ],
)
def test_rising_part_ends_where_shares_fall_for_good(shares, kept):
    assert rising_part(shares) == kept


# For the levels and shares of `data(seed)`, the result of the published search with 50 n starts.
PUBLISHED = {
    1: (0.09164, 29.711281685851183, 0.85405),
    2: (0.04821, 25.91838617775194, 0.94002),
    5: (0.06786, 53.38339353355673, 0.84209),
    7: (0.06456, 19.59468222201593, 0.63773),
    8: (0.04100, 55.13112229875428, 0.86945),
    10: (0.11453, 27.292413173410473, 0.89566),
}


def data(seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 100, int(rng.integers(5, 20)))).round(1)
    slope, mean, lapse = rng.uniform(0.02, 0.3), rng.uniform(10, 80), rng.uniform(0, 0.15)
    return x, rng.binomial(30, 0.5 + (0.5 - lapse) * norm.cdf(slope * (x - mean))) / 30


@pytest.mark.parametrize("seed", PUBLISHED)
def test_fit_finds_the_published_optimum(seed):
    x, y = data(seed)
    fit = fit_cumulative_gaussian(x, y)
    lapse, threshold, r2 = PUBLISHED[seed]
    assert fit.lapse == pytest.approx(lapse, abs=1e-5)
    assert inverse_cumulative_gaussian(0.75, *fit.parameters) == pytest.approx(threshold, rel=1e-6)
    assert fit.r2 == pytest.approx(r2, abs=1e-5)
    assert fit.r2 == pytest.approx(r2_score(y, cumulative_gaussian(x, *fit.parameters)))


@pytest.mark.slow
@settings(max_examples=3)
@given(seed=st.integers(0, 10_000))
@example(335)  # far below the measured range
@example(506)  # a shallow optimum next to a step
@example(1210)
@example(1408)
def test_no_start_of_a_plain_search_finds_a_better_fit(seed):
    x, y = data(seed)
    weights = np.random.default_rng(seed).integers(5, 50, size=len(x))

    def loss(parameters):
        p = cumulative_gaussian(x, *parameters)
        return -(weights @ (y * np.log(p) + (1 - y) * np.log(1 - p))) / weights.sum()

    best = loss(fit_cumulative_gaussian(x, y, weights).parameters)
    bounds = ((0, None), (x[0] - 2 * np.ptp(x), x[-1] + 2 * np.ptp(x)), (0.03, 0.5))
    for slope in (0.03, 0.2):
        for mean in np.quantile(x, [0.2, 0.5, 0.8]):
            found = minimize(loss, [slope, mean, 0.05], method="L-BFGS-B", bounds=bounds)
            assert best <= found.fun + 1e-7


@settings(max_examples=4)
@given(seed=st.integers(0, 10_000), scale=st.floats(0.01, 1000), shift=st.floats(-50, 50))
def test_fit_does_not_depend_on_the_unit_of_the_levels(seed, scale, shift):
    x, y = data(seed)
    one, two = fit_cumulative_gaussian(x, y), fit_cumulative_gaussian(scale * (x + shift), y)
    expected = cumulative_gaussian(x, *one.parameters)
    np.testing.assert_allclose(cumulative_gaussian(scale * (x + shift), *two.parameters), expected, atol=1e-4)


def test_levels_are_weighted_by_their_trials():
    x, y = np.array([1.0, 2, 3, 4, 5]), np.array([0.5, 0.55, 0.7, 0.85, 0.95])
    repeated = fit_cumulative_gaussian(np.repeat(x, [1, 1, 3, 1, 2]), np.repeat(y, [1, 1, 3, 1, 2]))
    np.testing.assert_allclose(
        fit_cumulative_gaussian(x, y, [1, 1, 3, 1, 2]).parameters, repeated.parameters, rtol=1e-5
    )


def test_a_step_is_placed_between_its_levels():
    fit = fit_cumulative_gaussian([1.0, 2, 3, 4], [0.5, 0.5, 1, 1])
    assert fit.mean == pytest.approx(2.5)
    assert inverse_cumulative_gaussian(0.75, *fit.parameters) == pytest.approx(2.5, abs=0.05)
    assert fit.lapse == pytest.approx(0.03)


def test_rejects_too_few_levels_and_nan():
    with pytest.raises(ValueError, match="two or more levels"):
        fit_cumulative_gaussian([1.0, 1.0], [0.5, 0.6])
    with pytest.raises(ValueError, match="finite"):
        fit_cumulative_gaussian([1.0, 2.0], [0.5, np.nan])
