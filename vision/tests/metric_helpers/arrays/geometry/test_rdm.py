import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

from brainscore_vision.metric_helpers.arrays.geometry import rdm


def test_distances_equal_scipy():
    responses = np.random.default_rng(0).normal(size=(15, 7)) + 4
    distances = rdm.correlation_distances(responses)
    np.testing.assert_allclose(rdm.upper_triangle(distances), pdist(responses, "correlation"), atol=1e-12)
    np.testing.assert_array_equal(np.diag(distances), 0)
    np.testing.assert_array_equal(distances, distances.T)


def test_upper_triangle_is_row_by_row():
    assert rdm.upper_triangle([[0, 1, 2], [9, 0, 3], [9, 9, 0]]).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="square"):
        rdm.upper_triangle(np.zeros((2, 3)))


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), factor=st.sampled_from([1.0, 3.7, 0.1]), shift=st.sampled_from([0.0, 0.3]))
def test_ties_do_not_depend_on_rounding(seed, factor, shift):
    """Distances of binary features are often tied; another order or scale of neuroids rounds them differently."""
    rng = np.random.default_rng(seed)
    one, two = (rng.random((30, n)) < 0.5 for n in (8, 12))
    varies = (one.std(axis=1) > 0) & (two.std(axis=1) > 0)
    one, two = one[varies].astype(float), two[varies].astype(float)
    others = one[:, rng.permutation(8)] * factor + shift, two[:, rng.permutation(12)]
    for distances in (rdm.correlation_distances, rdm.squared_distances):
        first, second = ([distances(side) for side in sides] for sides in ((one, two), others))
        assert rdm.rdm_similarity(*first) == pytest.approx(rdm.rdm_similarity(*second), abs=1e-12)
        draws = [rng.integers(len(one), size=len(one))]
        of_draws = [rdm.rdm_similarity_draws(*each, draws)[0] for each in (first, second)]
        assert of_draws[0] == pytest.approx(of_draws[1], abs=1e-12)
        bounds = [rdm.rsa_bounds([rdm.upper_triangle(each) for each in some]) for some in (first, second)]
        np.testing.assert_allclose(bounds[0], bounds[1], atol=1e-12)


def test_constant_patterns_are_undefined():
    responses = np.random.default_rng(0).normal(size=(4, 5))
    responses[2] = 0.3
    undefined = np.isnan(rdm.correlation_distances(responses))
    assert undefined[2].all()
    assert undefined[:, 2].all()
    assert undefined.sum() == 7


def test_rejects_different_numbers_of_stimuli():
    with pytest.raises(ValueError, match="4 and 3"):
        rdm.rdm_similarity(np.zeros((4, 4)), np.zeros((3, 3)))


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_distances_and_similarity_invariances(seed):
    rng = np.random.default_rng(seed)
    responses = rng.normal(size=(10, 6))
    distances = rdm.correlation_distances(responses)
    assert ((distances >= 0) & (distances <= 2)).all()
    patterns_scaled = responses * rng.uniform(0.1, 10, size=(10, 1)) + rng.normal(size=(10, 1))
    np.testing.assert_allclose(rdm.correlation_distances(patterns_scaled), distances, atol=1e-10)
    np.testing.assert_allclose(rdm.correlation_distances(responses[:, rng.permutation(6)]), distances, atol=1e-10)
    np.testing.assert_allclose(rdm.correlation_distances(np.hstack([responses, responses])), distances, atol=1e-10)
    order = rng.permutation(10)
    np.testing.assert_allclose(rdm.correlation_distances(responses[order]), distances[np.ix_(order, order)], atol=1e-10)
    other = rdm.correlation_distances(rng.normal(size=(10, 6)))
    permuted = rdm.rdm_similarity(distances[np.ix_(order, order)], other[np.ix_(order, order)])
    assert permuted == pytest.approx(rdm.rdm_similarity(distances, other), abs=1e-12)
    assert rdm.rdm_similarity(distances, distances) == pytest.approx(1.0)


def without_copies(one, two, draw):
    """Correlate the pairs of stimuli in a draw, without pairs of a stimulus and its copy."""
    pairs = [(i, j) for place, i in enumerate(draw) for j in draw[place + 1 :] if i != j]
    return scipy.stats.spearmanr([one[pair] for pair in pairs], [two[pair] for pair in pairs])[0]


@pytest.mark.parametrize("ties", [False, True])
def test_draws_equal_pairwise_correlations_without_copies(ties):
    rng = np.random.default_rng(2)
    one, two = (squareform(rng.integers(0, 9, size=66) if ties else rng.random(66)) for _ in range(2))
    draws = [*rng.integers(0, 12, size=(20, 12)), np.arange(7), [3, 1, 2]]
    expected = [without_copies(one, two, draw) for draw in draws]
    np.testing.assert_allclose(rdm.rdm_similarity_draws(one, two, draws), expected, atol=1e-12)


def test_copies_would_inflate_the_similarity():
    """This is why copies are excluded: the zeros between copies agree in all matrices."""
    rng = np.random.default_rng(3)
    one, two = (squareform(rng.random(435)) for _ in range(2))
    draws = rng.integers(0, 30, size=(200, 30))
    naive = [rdm.rdm_similarity(one[np.ix_(d, d)], two[np.ix_(d, d)]) for d in draws]
    whole = rdm.rdm_similarity(one, two)
    assert np.mean(naive) - whole > 0.05
    assert abs(rdm.rdm_similarity_draws(one, two, draws).mean() - whole) < 0.02


def test_draws_of_undefined_or_too_few_stimuli_are_nan():
    rng = np.random.default_rng(4)
    one, two = (squareform(rng.random(10)) for _ in range(2))
    one[2] = one[:, 2] = np.nan
    values = rdm.rdm_similarity_draws(one, two, [[0, 1, 3, 4], [0, 1, 2, 3], [1, 1, 1], [0, 1], [0, 0, 1, 1]])
    assert np.isfinite(values).tolist() == [True, False, False, False, False]


@pytest.mark.parametrize("n", [1, 2])
def test_too_few_stimuli_are_nan(n):
    square = squareform(np.arange(1, n)) if n > 1 else np.zeros((1, 1))
    assert np.isnan(rdm.rdm_similarity(square, square))


def test_squared_distances_equal_scipy_even_far_from_zero():
    responses = np.random.default_rng(0).normal(size=(9, 4))
    expected = squareform(pdist(responses, "sqeuclidean")) / 4
    np.testing.assert_allclose(rdm.squared_distances(responses), expected, atol=1e-12)
    np.testing.assert_allclose(rdm.squared_distances(responses + 1e6), expected, atol=1e-8)


def test_bounds_match_hand_computed_values():
    """Two subjects rank three pairs 1 2 3 and 1 3 2; the mean ranks are 1 2.5 2.5."""
    upper, lower = rdm.rsa_bounds([[1.0, 2.0, 3.0], [10.0, 30.0, 20.0]])
    np.testing.assert_allclose(upper, np.sqrt(3) / 2)
    np.testing.assert_allclose(lower, 0.5)


@settings(max_examples=6)
@given(seed=st.integers(0, 10**6))
def test_no_model_exceeds_the_upper_bound(seed):
    rng = np.random.default_rng(seed)
    subjects = rng.random((3, 5)) ** rng.integers(1, 6)
    best = max(
        np.mean([scipy.stats.spearmanr(order, subject)[0] for subject in subjects])
        for order in itertools.permutations(range(5))
    )
    assert rdm.rsa_bounds(subjects)[0].mean() >= best - 1e-12


def test_published_bound_can_be_exceeded():
    """One subject with large dissimilarities dominates their mean; the order of the other two is a better model."""
    subjects = np.array([[9.0, 3.0, 2.0, 0.0], [0.0, 0.1, 0.2, 0.3], [0.0, 0.1, 0.2, 0.3]])
    np.testing.assert_allclose(rdm.rsa_bounds(subjects, compat=True)[0], [1, -1, -1])
    np.testing.assert_allclose(rdm.rsa_bounds(subjects)[0], [-1, 1, 1])
    with pytest.raises(ValueError, match="two subjects"):
        rdm.rsa_bounds(subjects[:1])
