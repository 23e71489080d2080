import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brainscore_vision.metrics.distribution_similarity.metric import bin_shares, drawn_histograms, ks_similarity

BINS = np.linspace(0, 1, 6)


def test_similarity_matches_a_hand_computed_value():
    # cumulative .5 1 versus .25 .75 1: the distance is .25 and the largest possible one is .75
    assert ks_similarity([0.5, 0.5, 0.0], [0.25, 0.5, 0.25]) == pytest.approx(1 - 0.25 / 0.75)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 9))
def test_similarity_range_and_extremes(seed, n):
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(n), size=2)
    assert 0 <= ks_similarity(p, q) <= 1
    assert ks_similarity(p, p) == pytest.approx(1)
    ends = [ks_similarity(np.eye(n)[place], q) for place in (0, -1)]
    assert min(ends) == pytest.approx(0, abs=1e-12)
    assert ks_similarity(np.stack([p, q]), q).shape == (2,)


def test_similarity_needs_two_equal_bins():
    assert np.isnan(ks_similarity([1.0], [1.0]))
    with pytest.raises(ValueError, match="same number of bins"):
        ks_similarity([1.0, 0.0], [1.0])


def test_shares_include_values_beyond_the_edges_and_nan():
    values = np.array([-3.0, 0.0, 0.2, 0.99, 1.0, 8.0, np.nan, np.nan])
    before = values.copy()
    shares, undefined = bin_shares(values, BINS)
    np.testing.assert_allclose(shares, np.array([2, 1, 0, 0, 3]) / 8)
    assert undefined == 0.25
    np.testing.assert_array_equal(values, before)
    assert np.isnan(bin_shares([], BINS)[0]).all()


def test_draws_have_the_distribution_of_single_draws():
    rng = np.random.default_rng(0)
    values = np.append(rng.random(15), [np.nan] * 5)
    found = drawn_histograms(values, BINS, 12, 20000, np.random.default_rng(1))
    single = []
    for _ in range(5000):
        counts = np.histogram(rng.choice(values, 12), bins=BINS)[0]
        single.append(counts / counts.sum())
    np.testing.assert_allclose(found.mean(axis=0), np.mean(single, axis=0), atol=0.01)
    np.testing.assert_allclose(np.cov(found.T), np.cov(np.array(single).T), atol=0.003)


def test_draws_are_seeded_and_undefined_without_values():
    one, two = (drawn_histograms([0.1, 0.7], BINS, 5, 10, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert np.isnan(drawn_histograms([], BINS, 5, 10, np.random.default_rng(3))).all()
    assert np.isnan(drawn_histograms([np.nan], BINS, 5, 10, np.random.default_rng(3))).all()
