from itertools import combinations

import numpy as np
import pytest

from brainscore_vision.metric_helpers.arrays.geometry.cka import cka
from brainscore_vision.metric_helpers.arrays.influence import cka_influences, spread_neuroids

SHAPES = [(14, 3, 5), (14, 30, 5), (14, 4, 40), (14, 50, 60), (14, 13, 1)]
BOTH = pytest.mark.parametrize("unbiased", [True, False])


def pair(n, p, q, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) + 3
    return x, rng.normal(size=(n, q)) + 2 * x @ rng.normal(size=(p, q)) / p


def centred(x, *, unbiased):
    """Return the Gram matrix centred as in Szekely & Rizzo (2014), definition 2."""
    n, gram = len(x), (x - x.mean(0)) @ (x - x.mean(0)).T
    if not unbiased:
        return gram
    np.fill_diagonal(gram, 0)
    rows = gram.sum(0) / (n - 2)
    gram += gram.sum() / ((n - 1) * (n - 2)) - rows - rows[:, None]
    np.fill_diagonal(gram, 0)
    return gram


def of_pairs(x, y, *, unbiased):
    """Return the joint effect of pairs of stimuli beyond that of either, from the definition of the ratio."""
    k, other = (centred(side, unbiased=unbiased) for side in (x, y))
    sizes = [np.vdot(*each) for each in ((k, other), (k, k), (other, other))]
    ratio = sizes[0] / np.sqrt(sizes[1] * sizes[2])
    moved = 2 * k * other / np.sqrt(sizes[1] * sizes[2]) - ratio * (k**2 / sizes[1] + other**2 / sizes[2])
    n = len(x)
    np.fill_diagonal(moved, 0)
    rows = moved.sum(0) / (n - 1)
    return sum((moved[i, j] - rows[i] - rows[j] + rows.mean()) ** 2 for i, j in combinations(range(n), 2))


@BOTH
@pytest.mark.parametrize("shape", SHAPES)
def test_stimulus_influences_equal_the_jackknife_less_pair_effects(shape, unbiased):
    x, y = pair(*shape)
    n = len(x)
    value, found = cka_influences(x, y, unbiased=unbiased)
    assert value == pytest.approx(cka(x, y, unbiased=unbiased), abs=1e-12)
    without = [cka(np.delete(x, i, 0), np.delete(y, i, 0), unbiased=unbiased) for i in range(n)]
    jackknife = np.sqrt((n - 1) / n) * (np.mean(without) - without)
    part = min(of_pairs(x, y, unbiased=unbiased) / (jackknife @ jackknife), 0.5)
    np.testing.assert_allclose(found.stimuli, jackknife * np.sqrt(1 - part), rtol=1e-4, atol=1e-6)


@BOTH
@pytest.mark.parametrize("shape", SHAPES[:4])
def test_neuroid_influences_equal_reducing_weights_to_a_quarter(shape, unbiased):
    x, y = pair(*shape)
    q = y.shape[1]
    _, found = cka_influences(x, y, unbiased=unbiased)
    # A neuroid of weight w contributes w times its part of the Gram matrix.
    moved = np.array([cka(x, y * np.sqrt(1 - 0.75 * (np.arange(q) == j)), unbiased=unbiased) for j in range(q)])
    expected = (q - 0.75) / 0.75 / np.sqrt(q * (q - 1)) * (moved.mean() - moved)
    np.testing.assert_allclose(found.neuroids, expected, rtol=1e-6, atol=1e-9)


@BOTH
@pytest.mark.parametrize("shape", SHAPES[:2])
def test_cell_influences_are_derivatives_by_single_responses(shape, unbiased):
    """The derivative is by the size of each response, which enters each term as two factors."""
    x, y = pair(*shape)
    y = y - y.mean(0)
    _, found = cka_influences(x, y, unbiased=unbiased)
    step, value, moved = 1e-6, cka(x, y, unbiased=unbiased), np.empty(y.shape)
    for i, j in np.ndindex(*y.shape):
        scaled = y.copy()
        scaled[i, j] *= 1 + step
        moved[i, j] = (cka(x, scaled, unbiased=unbiased) - value) / step
    part = np.vdot(found.cells, found.cells) / np.vdot(moved, moved)
    np.testing.assert_allclose(found.cells, moved * np.sqrt(part), atol=1e-6)
    assert 0.5 <= part <= 1


def test_many_neuroids_are_represented_by_a_sample():
    x, y = pair(40, 20, 2000)
    _, found = cka_influences(x, y)
    np.testing.assert_array_equal(found.chosen, spread_neuroids(2000))
    assert len(found.neuroids) == found.cells.shape[1] == 512
    assert found.chosen[[0, -1]].tolist() == [0, 1999]
    moved = np.array([cka(x, y * np.sqrt(1 - 0.75 * (np.arange(2000) == j))) for j in range(0, 2000, 3)])
    expected = (2000 - 0.75) / 0.75 / np.sqrt(1999 * 667) * (moved.mean() - moved)
    assert found.neuroids @ found.neuroids == pytest.approx(expected @ expected, rel=0.15)


@BOTH
def test_no_influences_for_constant_or_too_few_responses(unbiased):
    x, y = pair(8, 5, 5)
    assert cka_influences(np.ones((8, 2)), y, unbiased=unbiased)[1] is None
    value, found = cka_influences(x[: 4 if unbiased else 2], y[: 4 if unbiased else 2], unbiased=unbiased)
    assert np.isfinite(value)
    assert found is None
    assert cka_influences(x, y[:, :1], unbiased=unbiased)[1].neuroids.tolist() == [0]
    only = np.zeros((8, 3))
    only[0] = 1  # a single stimulus carries all of the structure
    assert cka_influences(x, only, unbiased=False)[1] is None
