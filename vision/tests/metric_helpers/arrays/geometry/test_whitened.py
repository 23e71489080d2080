import numpy as np
import pytest

from brainscore_core.statistics.influence import Influence
from brainscore_vision.metric_helpers.arrays.geometry.rdm import squared_distances
from brainscore_vision.metric_helpers.arrays.geometry.whitened import (
    unbiased_distances,
    whitened_influences,
    whitened_similarity,
    whitened_stimulus_influences,
)

both = pytest.mark.parametrize("centred", [False, True])


def square(pairs, n):
    values = np.zeros((n, n))
    values[np.triu_indices(n, 1)] = pairs
    return values + values.T


def simulated(n=8, p=5, q=6, repetitions=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p))
    return x, x @ rng.normal(size=(p, q)) + rng.normal(size=(repetitions, n, q))


def by_definition(x, y, centred):
    """Diedrichsen et al. (2021): V is the squared covariance of differences between patterns with independent noise."""
    pairs = np.transpose(np.triu_indices(len(x), 1))
    contrasts = np.array([np.eye(len(x))[i] - np.eye(len(x))[j] for i, j in pairs])
    inverse = np.linalg.inv((contrasts @ contrasts.T) ** 2)
    one, two = (side[tuple(pairs.T)] for side in (x, y))
    if centred:
        one, two = one - one.mean(), two - two.mean()
    return one @ inverse @ two / np.sqrt((one @ inverse @ one) * (two @ inverse @ two))


def test_similarity_equals_rsatoolbox():
    """The values are compare(RDMs(a[None]), RDMs(b[None]), "cosine_cov" and "corr_cov") of rsatoolbox 0.3.2."""
    i = np.arange(1, 22.0)
    a, b = square(np.sin(i) + 1.5, 7), square(np.cos(i * 0.7) + 0.3 * i / 10, 7)
    assert whitened_similarity(a, b, centred=False) == pytest.approx(0.24099807353042177, abs=1e-12)
    assert whitened_similarity(a, b, centred=True) == pytest.approx(0.12226172437950762, abs=1e-12)


@both
def test_similarity_equals_the_definition(centred):
    x, y = simulated()
    for other in (squared_distances(y[0]), unbiased_distances(y)):
        found = whitened_similarity(squared_distances(x), other, centred=centred)
        assert found == pytest.approx(by_definition(squared_distances(x), other, centred), abs=1e-12)


@both
def test_stimulus_influences_equal_the_jackknife(centred):
    x, y = simulated()
    one, two = squared_distances(x), unbiased_distances(y)
    kept = [np.delete(np.arange(8), i) for i in range(8)]
    without = [by_definition(one[np.ix_(k, k)], two[np.ix_(k, k)], centred) for k in kept]
    expected = np.sqrt(7 / 8) * (np.mean(without) - without)
    found = whitened_stimulus_influences(one, two, centred=centred)
    np.testing.assert_allclose(shrunk(expected, found), expected, atol=1e-10)


@both
@pytest.mark.parametrize("kind", ["averaged", "repeated", "incomplete"])
def test_neuroid_and_cell_influences_equal_jackknife_and_derivatives(kind, centred):
    x, y = simulated(repetitions=1 if kind == "averaged" else 4)
    present = np.ones(y.shape[:2], dtype=bool)
    if kind == "incomplete":
        present[0, 2] = present[3, 5] = False
        y = np.where(present[:, :, None], y, 0)
    y = np.where(
        present[:, :, None], y - y.sum(axis=(0, 1)) / present.sum(), 0
    )  # influences of cells are relative to the mean
    model = squared_distances(x)

    def distances(values):
        return squared_distances(values[0]) if kind == "averaged" else unbiased_distances(values, present)

    value, step = by_definition(model, distances(y), centred), 1e-6
    found = whitened_influences(model, distances(y), y, None if kind == "averaged" else present, centred=centred)
    without = [by_definition(model, distances(np.delete(y, j, axis=2)), centred) for j in range(6)]
    expected = np.sqrt(5 / 6) * (np.mean(without) - without)
    tolerance = 0.1 * np.abs(expected).max() if kind == "incomplete" else 1e-10
    np.testing.assert_allclose(found.neuroids, expected, atol=tolerance)
    cells = np.empty((8, 6))
    for i, j in np.ndindex(8, 6):
        heavier, own = distances(y), distances(y[:, :, [j]]) / 6
        heavier[i] += step * own[i]
        heavier[:, i] += step * own[:, i]
        cells[i, j] = (by_definition(model, heavier, centred) - value) / step
    np.testing.assert_allclose(shrunk(cells, found.cells), cells, atol=1e-5)
    expected = whitened_stimulus_influences(model, distances(y), centred=centred)
    np.testing.assert_allclose(found.stimuli, expected, atol=1e-12)


def shrunk(whole, found):
    """Rescale influences that count joint effects of two stimuli once, which removes at most half of the squares."""
    factor = np.linalg.norm(found) / np.linalg.norm(whole)
    assert np.sqrt(0.49) < factor <= 1.01
    return found / factor


def test_errors_match_the_spread_if_pairs_of_stimuli_dominate():
    """The jackknife over stimuli would give 1.4 times the spread."""
    rng, scores, variances = np.random.default_rng(0), [], []
    for _ in range(100):
        x, y = rng.normal(size=(2, 30, 10))
        sides = squared_distances(x), squared_distances(y)
        found = whitened_influences(*sides, y[None], centred=True)
        names = np.arange(30), np.arange(10)
        variances.append(Influence.of_margins(*names, found.stimuli, found.neuroids, found.cells).variance)
        scores.append(whitened_similarity(*sides, centred=True))
    assert 0.85 < np.sqrt(np.mean(variances)) / np.std(scores, ddof=1) < 1.25


@both
def test_constant_or_too_few_distances_are_undefined(centred):
    x, y = simulated()
    one = squared_distances(x)
    assert np.isnan(whitened_similarity(one, np.zeros((8, 8)), centred=centred))
    assert np.isnan(whitened_similarity(one, 1.0 - np.eye(8), centred=centred)) == centred
    assert whitened_stimulus_influences(one[:3, :3], one[:3, :3], centred=centred) is None
    assert whitened_influences(one, np.zeros((8, 8)), 0 * y, centred=centred) is None
