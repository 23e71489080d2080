"""Correlations over models have SciPy's values and Fisher's interval, or NaN where they are undefined."""

import math

import numpy as np
import pytest
from scipy import stats

from brainscore_core.errors import ContractError
from brainscore_core.statistics.correlations import correlation_over_models, rank_correlations


def test_correlation_and_interval_match_scipy():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(40).round(1)  # with ties
    y = (x + rng.standard_normal(40)).round(1)
    expected = stats.pearsonr(x, y)
    found = correlation_over_models([*x, 1.0, np.nan], [*y, np.nan, 2.0])
    assert found.n == 40
    assert found.r == pytest.approx(expected.statistic, rel=1e-12)
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval()), rel=1e-9)
    ranked = correlation_over_models(x, y, ranked=True)
    assert ranked.r == pytest.approx(stats.spearmanr(x, y).statistic, rel=1e-12)
    sigma = math.sqrt((1 + ranked.r**2 / 2) / 37)
    assert math.atanh(ranked.high) - math.atanh(ranked.r) == pytest.approx(stats.norm.ppf(0.975) * sigma, rel=1e-9)


@pytest.mark.parametrize(("x", "y"), [([], []), ([1, 2], [1, 2]), ([1, 1, 1, 1], [1, 2, 3, 4])])
def test_correlation_is_nan_without_spread_or_enough_models(x, y):
    found = correlation_over_models(x, y)
    assert found.n == len(x)
    assert np.isnan(found[1:]).all()


def test_interval_of_three_models_and_of_perfect_correlation():
    three = correlation_over_models([1, 2, 3], [1, 2, 4])
    assert np.isnan([three.low, three.high]).all()
    assert 0.9 < three.r < 1
    assert correlation_over_models([1, 2, 3, 4], [1, 2, 4, 8], ranked=True) == (4, 1.0, 1.0, 1.0)


def test_rejects_unequal_lengths():
    with pytest.raises(ContractError, match=r"\(2,\) and \(3,\)"):
        correlation_over_models([1, 2], [1, 2, 3])


def test_correlation_matrix_matches_single_correlations():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((8, 40))
    scores[:3] = np.round(scores[:3], 1)  # with ties
    scores[rng.random(scores.shape) < 0.2] = np.nan
    scores[6, 2:] = np.nan
    scores[7] = 1.0
    r, n = rank_correlations(scores)
    for a in range(6):
        for b in range(6):
            both = np.isfinite(scores[a]) & np.isfinite(scores[b])
            assert n[a, b] == both.sum()
            assert r[a, b] == pytest.approx(stats.spearmanr(scores[a, both], scores[b, both]).statistic, abs=1e-12)
            assert r[a, b] == pytest.approx(correlation_over_models(scores[a], scores[b], ranked=True).r, abs=1e-12)
    assert np.isnan(r[6]).all()  # fewer than three models
    assert np.isnan(r[7]).all()  # no spread
