import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brainscore_vision.metric_helpers.arrays.geometry.rdm import squared_distances, upper_triangle
from brainscore_vision.metric_helpers.arrays.geometry.whitened import (
    distance_product,
    noise_covariance,
    unbiased_distances,
    whiten,
)


def by_pairs(responses, present):
    """Walther et al. (2016): the mean over pairs of repetitions, term by term."""
    n_repetitions, n, p = responses.shape
    moments = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            terms = [
                responses[a, i] @ responses[b, j]
                for a in range(n_repetitions)
                for b in range(n_repetitions)
                if a != b and present[a, i] and present[b, j]
            ]
            moments[i, j] = np.mean(terms)
    own = np.diag(moments)
    return (own[:, None] + own - moments - moments.T) / p


def test_distances_equal_the_mean_over_pairs_of_repetitions():
    responses = np.random.default_rng(0).normal(size=(4, 6, 5))
    expected = by_pairs(responses, np.ones((4, 6), dtype=bool))
    np.testing.assert_allclose(unbiased_distances(responses), expected, atol=1e-12)
    np.testing.assert_allclose(unbiased_distances(responses + 1e4), expected, atol=1e-6)


def test_missing_presentations_are_ignored():
    rng = np.random.default_rng(1)
    responses = rng.normal(size=(5, 6, 3))
    present = rng.random((5, 6)) < 0.8
    spoiled = np.where(present[:, :, None], responses, np.nan)
    # Moments of uncentred data differ between unequal sets of repetitions, so centre the data as the kernel does.
    centred = responses - responses[present].mean(axis=0)
    np.testing.assert_allclose(unbiased_distances(spoiled, present), by_pairs(centred, present), atol=1e-12)


def test_distances_without_two_repetitions_are_nan():
    present = np.array([[True, True, True], [True, True, False]])
    distances = unbiased_distances(np.ones((2, 3, 2)), present)
    assert np.isnan(distances[2, :2]).all()
    assert np.isfinite(distances[:2, :2]).all()


@pytest.mark.slow
def test_distances_are_not_biased_by_noise():
    rng = np.random.default_rng(2)
    truth = rng.normal(size=(5, 4))
    noisy = truth + 2 * rng.normal(size=(3000, 3, 5, 4))
    found = np.mean([unbiased_distances(each) for each in noisy], axis=0)
    plain = np.mean([squared_distances(each.mean(axis=0)) for each in noisy], axis=0)
    expected = squared_distances(truth)
    np.testing.assert_allclose(upper_triangle(found), upper_triangle(expected), atol=0.15)
    np.testing.assert_allclose(upper_triangle(plain), upper_triangle(expected) + 2 * 4 / 3, atol=0.15)


def test_noise_covariance_equals_the_definition():
    """Schaefer & Strimmer (2005), table 1 and appendix A: correlations are shrunk, but not variances."""
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(25, 4)) @ rng.normal(size=(4, 4)) * [1, 10, 0.1, 3]
    covariance, shrinkage = noise_covariance(noise[:, None])  # 25 repetitions of one stimulus
    sample, n = np.cov(noise.T), len(noise)
    standardized = (noise - noise.mean(axis=0)) / noise.std(axis=0, ddof=1)
    products = standardized[:, :, None] * standardized[:, None, :]
    variance = n / (n - 1) ** 3 * ((products - products.mean(axis=0)) ** 2).sum(axis=0)
    off = ~np.eye(4, dtype=bool)
    assert shrinkage == pytest.approx(variance[off].sum() / (np.corrcoef(noise.T)[off] ** 2).sum())
    np.testing.assert_allclose(covariance, np.where(off, sample * (1 - shrinkage), sample))
    diagonal, full = noise_covariance(noise[:, None], kind="diagonal")
    np.testing.assert_allclose(diagonal, np.diag(np.diag(sample)))
    assert full == 1


@pytest.mark.slow
@pytest.mark.parametrize("n_repetitions", [2, 3, 6])
def test_shrinkage_is_correct_for_any_number_of_repetitions(n_repetitions):
    """For jointly normal noise, the variance of a correlation is (1 + r^2) / degrees of freedom."""
    rng = np.random.default_rng(n_repetitions)
    true = np.array([[1, 0.5, 0.3], [0.5, 1, -0.4], [0.3, -0.4, 1]])
    off = ~np.eye(3, dtype=bool)
    found = []
    for _ in range(400):
        covariance, shrinkage = noise_covariance(
            rng.multivariate_normal(np.zeros(3), true, size=(n_repetitions, 60)) + rng.normal(size=(60, 3))
        )
        assert shrinkage < 1
        scale = np.sqrt(np.diag(covariance))
        correlations = covariance / np.outer(scale, scale) / (1 - shrinkage)
        found.append(shrinkage * (correlations[off] ** 2).sum())
    expected = ((1 + true[off] ** 2) / (60 * (n_repetitions - 1))).sum()
    assert np.mean(found) == pytest.approx(expected, rel=0.07)


def test_shrinkage_does_not_depend_on_the_scale_of_neuroids():
    rng = np.random.default_rng(7)
    responses = rng.normal(size=(20, 4)) + rng.normal(size=(3, 20, 4)) @ rng.normal(size=(4, 4))
    scale = np.array([1, 1e3, 1e-2, 7])
    covariance, shrinkage = noise_covariance(responses)
    scaled, same = noise_covariance(responses * scale)
    assert same == pytest.approx(shrinkage, rel=1e-12)
    np.testing.assert_allclose(scaled, covariance * np.outer(scale, scale), rtol=1e-10)


def test_noise_ignores_single_repetitions_and_constant_neuroids():
    rng = np.random.default_rng(8)
    responses = rng.normal(size=(3, 9, 4))
    present = np.ones((3, 9), dtype=bool)
    present[1:, 4] = False
    covariance, shrinkage = noise_covariance(responses, present)
    others, same = noise_covariance(np.delete(responses, 4, axis=1))
    np.testing.assert_allclose(covariance, others)
    assert same == shrinkage
    responses[:, :, 2] = 2
    covariance, _ = noise_covariance(responses)
    assert not covariance[2].any()
    assert np.isfinite(covariance).all()


def test_covariance_converges_and_whitens_the_noise():
    rng = np.random.default_rng(4)
    root = rng.normal(size=(6, 6))
    noise = rng.normal(size=(4, 4000, 6)) @ root
    covariance, shrinkage = noise_covariance(noise)
    assert shrinkage < 0.01
    np.testing.assert_allclose(covariance, root.T @ root, atol=0.4)
    white = whiten(noise, covariance)
    np.testing.assert_allclose(np.cov(white.reshape(-1, 6).T), np.eye(6), atol=0.06)


def test_rejects_noise_without_repetitions_or_variance():
    with pytest.raises(ValueError, match="at least twice"):
        noise_covariance(np.ones((1, 4, 2)))
    with pytest.raises(ValueError, match="singular"):
        whiten(np.ones((2, 3, 2)), np.zeros((2, 2)))


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("whitened", [False, True])
def test_distance_products_equal_those_with_the_full_covariance(whitened, centred):
    """Diedrichsen et al. (2021), equation 13: V is the squared covariance of differences."""
    rng = np.random.default_rng(5)
    one, two = (unbiased_distances(rng.normal(size=(3, 7, 4))) for _ in range(2))
    contrasts = np.array([np.eye(7)[i] - np.eye(7)[j] for i in range(7) for j in range(i + 1, 7)])
    covariance = (contrasts @ contrasts.T) ** 2
    x, y = upper_triangle(one), upper_triangle(two)
    if centred:
        x, y = x - x.mean(), y - y.mean()
    expected = x @ np.linalg.solve(covariance, y) if whitened else x @ y
    assert distance_product(one, two, whitened=whitened, centred=centred) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), p=st.sampled_from([1, 3, 9]))
def test_distance_invariances(seed, p):
    rng = np.random.default_rng(seed)
    responses = rng.normal(size=(3, 5, p))
    before = responses.copy()
    distances = unbiased_distances(responses)
    np.testing.assert_array_equal(responses, before)
    rotation = np.linalg.qr(rng.normal(size=(p, p)))[0]
    np.testing.assert_allclose(unbiased_distances(responses @ rotation + rng.normal(size=p)), distances, atol=1e-10)
    np.testing.assert_allclose(unbiased_distances(np.dstack([responses] * 2)), distances, atol=1e-10)
    order = rng.permutation(5)
    np.testing.assert_allclose(unbiased_distances(responses[:, order]), distances[np.ix_(order, order)], atol=1e-10)
    np.testing.assert_allclose(unbiased_distances(responses[rng.permutation(3)]), distances, atol=1e-10)
