import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from brainscore_vision.metric_helpers.arrays import correlation_distances, rdm_similarity, upper_triangle


def test_distances_equal_scipy():
    responses = np.random.default_rng(0).normal(size=(15, 7)) + 4
    distances = correlation_distances(responses)
    np.testing.assert_allclose(upper_triangle(distances), pdist(responses, "correlation"), atol=1e-12)
    np.testing.assert_array_equal(np.diag(distances), 0)
    np.testing.assert_array_equal(distances, distances.T)


def test_similarity_equals_scipy():
    rng = np.random.default_rng(0)
    one, two = rng.normal(size=(15, 7)), rng.normal(size=(15, 9))
    expected = scipy.stats.spearmanr(pdist(one, "correlation"), pdist(two, "correlation"))[0]
    assert rdm_similarity(correlation_distances(one), correlation_distances(two)) == pytest.approx(expected, abs=1e-12)


def test_upper_triangle_by_hand():
    assert upper_triangle([[0, 1, 2], [9, 0, 3], [9, 9, 0]]).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="square"):
        upper_triangle(np.zeros((2, 3)))


def test_constant_patterns_are_undefined():
    responses = np.random.default_rng(0).normal(size=(4, 5))
    responses[2] = 0.3
    undefined = np.isnan(correlation_distances(responses))
    assert undefined[2].all()
    assert undefined[:, 2].all()
    assert undefined.sum() == 7


def test_different_numbers_of_stimuli_are_refused():
    with pytest.raises(ValueError, match="4 and 3"):
        rdm_similarity(np.zeros((4, 4)), np.zeros((3, 3)))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_invariances(seed):
    rng = np.random.default_rng(seed)
    responses = rng.normal(size=(10, 6))
    distances = correlation_distances(responses)
    assert ((distances >= 0) & (distances <= 2)).all()
    patterns_scaled = responses * rng.uniform(0.1, 10, size=(10, 1)) + rng.normal(size=(10, 1))
    np.testing.assert_allclose(correlation_distances(patterns_scaled), distances, atol=1e-10)
    np.testing.assert_allclose(correlation_distances(responses[:, rng.permutation(6)]), distances, atol=1e-10)
    np.testing.assert_allclose(correlation_distances(np.hstack([responses, responses])), distances, atol=1e-10)
    order = rng.permutation(10)
    np.testing.assert_allclose(correlation_distances(responses[order]), distances[np.ix_(order, order)], atol=1e-10)
    other = correlation_distances(rng.normal(size=(10, 6)))
    permuted = rdm_similarity(distances[np.ix_(order, order)], other[np.ix_(order, order)])
    assert permuted == pytest.approx(rdm_similarity(distances, other), abs=1e-12)
    assert rdm_similarity(distances, distances) == pytest.approx(1.0)
