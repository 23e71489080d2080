import numpy as np
import pytest

from brainscore_vision.metric_helpers.arrays.geometry.cka import cka
from brainscore_vision.metrics.cka_noise_corrected.metric import noise_corrected_cka

SHAPES = [(12, 3, 5), (12, 30, 5), (12, 4, 40), (12, 50, 60), (7, 1, 2)]


def hsic(x, u, v=None):
    """Song et al. (2012), equation 5, for two Gram matrices; the second may be a product of two halves."""
    n = len(x)
    k, other = (gram - np.diag(np.diag(gram)) for gram in (x @ x.T, u @ (u if v is None else v).T))
    one = np.ones(n)
    sums = (one @ k @ one) * (one @ other @ one) / ((n - 1) * (n - 2)) - 2 / (n - 2) * one @ k @ other @ one
    return (np.trace(k @ other) + sums) / (n * (n - 3))


def simulated(n, p, q, noise=0.5, repetitions=4, seed=0, perfect=False):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) + 3
    signal = x @ rng.normal(size=(p, q)) / np.sqrt(p) + (0 if perfect else 0.3) * rng.normal(size=(n, q))
    return (signal if perfect else x), signal + noise * rng.normal(size=(repetitions, n, q))


def halves_of(y):
    return [(y[[0, 1]].mean(0), y[[2, 3]].mean(0)), (y[[0, 2]].mean(0), y[[1, 3]].mean(0))]


def by_definition(x, y, halves, other=()):
    own = np.mean([hsic(a, b) for a, b in other]) if other else hsic(x, x)
    return hsic(x, y) / np.sqrt(own * np.mean([hsic(a, b) for a, b in halves]))


@pytest.mark.parametrize("shape", SHAPES)
def test_noise_corrected_cka_equals_the_definition(shape):
    x, y = simulated(*shape)
    halves = halves_of(y)
    found = noise_corrected_cka(x, y.mean(0), second_halves=halves)
    assert found.value == pytest.approx(by_definition(x, y.mean(0), halves), rel=1e-9)
    assert found.uncorrected == pytest.approx(cka(x, y.mean(0)), abs=1e-12)
    expected = [hsic(a, b) / hsic(y.mean(0), y.mean(0)) for a, b in halves]
    np.testing.assert_allclose(found.reliabilities[1], expected, rtol=1e-9)
    assert len(found.reliabilities[0]) == 0


def test_both_sides_can_be_noise_corrected():
    x, y = simulated(12, 6, 5)
    x = x + 0.3 * np.random.default_rng(1).normal(size=(4, *x.shape))
    found = noise_corrected_cka(x.mean(0), y.mean(0), first_halves=halves_of(x), second_halves=halves_of(y))
    assert found.value == pytest.approx(by_definition(x.mean(0), y.mean(0), halves_of(y), halves_of(x)), rel=1e-9)
    assert found.value > found.uncorrected


@pytest.mark.parametrize("shape", SHAPES)
def test_influences_equal_the_jackknife(shape):
    x, y = simulated(*shape, noise=0.2)
    n, q = shape[0], shape[2]
    found = noise_corrected_cka(x, y.mean(0), second_halves=halves_of(y)).influences
    for axis, size, influences in ((1, n, found.stimuli), (2, q, found.neuroids)):
        without = []
        for i in range(size):
            kept = np.delete(y, i, axis)
            side = np.delete(x, i, 0) if axis == 1 else x
            without.append(by_definition(side, kept.mean(0), halves_of(kept)))
        expected = np.sqrt((size - 1) / size) * (np.mean(without) - without)
        factor = np.linalg.norm(influences) / np.linalg.norm(expected)  # joint effects of two stimuli count once
        assert np.sqrt(0.49) < factor < 1 if axis == 1 else factor == pytest.approx(1)
        np.testing.assert_allclose(influences / factor, expected, rtol=1e-4, atol=1e-6)


def test_cell_influences_are_derivatives_by_single_responses():
    """The derivative is by the size of each response, which counts for both factors of the stimulus and neuroid."""
    x, y = simulated(10, 4, 6, noise=0.2)
    found = noise_corrected_cka(x, y.mean(0), second_halves=halves_of(y))
    step, centred = 1e-6, y - y.mean(axis=1, keepdims=True)
    moved = np.empty((10, 6))
    for i, j in np.ndindex(10, 6):
        scaled = centred.copy()
        scaled[:, i, j] *= 1 + step
        moved[i, j] = (by_definition(x, scaled.mean(0), halves_of(scaled)) - found.value) / step
    moved -= moved.mean(0)
    moved -= moved.mean(1, keepdims=True)
    cells = found.influences.cells - found.influences.cells.mean(0)
    cells -= cells.mean(1, keepdims=True)
    cells *= np.linalg.norm(moved) / np.linalg.norm(cells)  # joint effects of two stimuli count once
    np.testing.assert_allclose(cells, moved, atol=0.02 * np.abs(moved).max())


@pytest.mark.slow
def test_noise_does_not_lower_noise_corrected_cka():
    for noise in (0.2, 1.0, 2.0):
        found = [
            noise_corrected_cka(x, y.mean(0), second_halves=halves_of(y))
            for x, y in (simulated(60, 8, 20, noise, seed=seed, perfect=True) for seed in range(30))
        ]
        values = [each.value for each in found]
        assert np.mean(values) == pytest.approx(1, abs=3.5 * np.std(values) / np.sqrt(30) + 0.003)
    assert np.mean([each.uncorrected for each in found]) < 0.9


def test_constant_responses_are_undefined():
    x, y = simulated(8, 3, 4)
    found = noise_corrected_cka(x, np.ones((8, 4)), second_halves=halves_of(np.ones((4, 8, 4))))
    assert np.isnan(found.value)
    assert found.influences is None
    assert noise_corrected_cka(x[:4], y.mean(0)[:4], second_halves=halves_of(y[:, :4])).influences is None
