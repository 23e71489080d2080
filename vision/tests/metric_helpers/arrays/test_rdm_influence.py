import numpy as np
import pytest

from brainscore_vision.metric_helpers.arrays.geometry.rdm import correlation_distances, rdm_similarity
from brainscore_vision.metric_helpers.arrays.influence import rdm_influences


def pair(n=60, p=40, q=15, seed=0, *, tied=False):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p))
    y = x[:, :10] @ rng.normal(size=(10, q)) + 2 * rng.normal(size=(n, q))
    return (np.eye(6)[rng.integers(6, size=n)] if tied else x), y


def jackknife(without):
    n = len(without)
    return np.sqrt((n - 1) / n) * (np.mean(without) - without)


def near(found, expected, least, part=1.0):
    assert np.corrcoef(found, expected)[0, 1] > least
    assert np.linalg.norm(found) == pytest.approx(part * np.linalg.norm(expected), rel=0.15)
    assert abs(found.sum()) < 1e-6 * np.abs(found).sum()


@pytest.mark.parametrize("random_ties", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_stimulus_influences_approximate_the_jackknife(random_ties, tied):
    x, y = pair(tied=tied)
    one, two = correlation_distances(x), correlation_distances(y)
    value, found = rdm_influences(one, two, y, random_ties=random_ties)
    assert value == rdm_similarity(one, two, random_ties=random_ties)
    kept = [np.ix_(k, k) for k in (np.delete(np.arange(60), i) for i in range(60))]
    part = 0.72 if tied else 0.85  # the squared jackknife counts joint effects of two stimuli twice
    near(found.stimuli, jackknife([rdm_similarity(one[k], two[k], random_ties=random_ties) for k in kept]), 0.999, part)


@pytest.mark.slow
def test_stimulus_influences_match_the_spread_of_unrelated_sides():
    """Here all variance is due to pairs, and the squared jackknife over stimuli is twice as large."""
    values, errors = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(30, 20)), rng.normal(size=(30, 20))
        value, found = rdm_influences(correlation_distances(x), correlation_distances(y), y)
        values.append(value)
        errors.append(np.linalg.norm(found.stimuli))
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(values), rel=0.2)


@pytest.mark.parametrize("random_ties", [False, True])
def test_influences_of_few_neuroids_equal_the_jackknife(random_ties):
    x, y = pair(q=4, tied=True)
    one = correlation_distances(x)
    found = rdm_influences(one, correlation_distances(y), y, random_ties=random_ties)[1].neuroids
    without = [
        rdm_similarity(one, correlation_distances(np.delete(y, j, 1)), random_ties=random_ties) for j in range(4)
    ]
    np.testing.assert_allclose(found, jackknife(without), atol=1e-12)
    y[7, :3] = 1  # without the fourth its pattern is constant, so derivatives are used
    assert np.isfinite(rdm_influences(one, correlation_distances(y), y)[1].neuroids).all()


def test_neuroid_influences_of_many_stimuli_use_a_sample():
    x, y = pair(n=400, q=4)
    one = correlation_distances(x)
    found = rdm_influences(one, correlation_distances(y), y)[1].neuroids
    expected = jackknife([rdm_similarity(one, correlation_distances(np.delete(y, j, 1))) for j in range(4)])
    assert np.corrcoef(found, expected)[0, 1] > 0.8
    assert np.linalg.norm(found) == pytest.approx(np.linalg.norm(expected), rel=0.4)


def test_influences_of_many_neuroids_are_derivatives_by_weight():
    """Derivatives of the correlations of patterns; ranks change in steps, so the steps in weight are large."""
    x, y = pair(n=120, p=10, q=70)
    one = correlation_distances(x)
    found = rdm_influences(one, correlation_distances(y), y)[1].neuroids

    def similarity(weights):
        patterns = np.sqrt(weights) * (y - (y @ weights / weights.sum())[:, None])
        patterns /= np.linalg.norm(patterns, axis=1, keepdims=True)
        return rdm_similarity(one, 1 - patterns @ patterns.T)

    steps = 0.2 * np.eye(70)
    moved = np.array([similarity(1 + step) - similarity(1 - step) for step in steps]) / 0.4
    near(found, np.sqrt(70 / 69) * (moved - moved.mean()), 0.97)


def test_cell_influences_approximate_derivatives_by_responses():
    """The derivative is by the response's distance from the mean of its pattern."""
    x, y = pair(n=80, q=6)
    y -= y.mean(axis=1, keepdims=True)
    one = correlation_distances(x)
    found = rdm_influences(one, correlation_distances(y), y)[1].cells
    chosen = np.random.default_rng(0).permutation(80)[:20], np.arange(20) % 6
    moved = np.empty(20)
    for place, (i, j) in enumerate(zip(*chosen, strict=True)):
        values = []
        for step in (-0.15, 0.15):
            grown = y.copy()
            grown[i, j] *= 1 + step
            values.append(rdm_similarity(one, correlation_distances(grown)))
        moved[place] = (values[1] - values[0]) / 0.3
    assert np.corrcoef(found[chosen], moved)[0, 1] > 0.9
    # Joint effects of two stimuli count once.
    assert 0.6 < np.linalg.norm(found[chosen]) / np.linalg.norm(moved) < 1


def test_undefined_similarities_have_no_influences():
    x, y = pair(n=5)
    one, two = correlation_distances(x), correlation_distances(y)
    assert rdm_influences(one[:3, :3], two[:3, :3], y[:3])[1] is None
    value, found = rdm_influences(1 - np.eye(5), two, y)
    assert np.isnan(value)
    assert found is None
    assert rdm_influences(1 - np.eye(5), two, y, random_ties=True) == (0, None)
    assert rdm_influences(one * np.nan, two, y)[1] is None
    assert rdm_influences(one, correlation_distances(y[:, :2]), y[:, :2])[1] is not None
