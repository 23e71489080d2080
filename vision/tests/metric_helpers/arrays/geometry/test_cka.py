import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

from brainscore_vision.metric_helpers.arrays.geometry import cka as module
from brainscore_vision.metric_helpers.arrays.geometry.cka import cka, cka_parts, linear_hsic

SHAPES = [(12, 3, 5), (12, 30, 5), (12, 4, 40), (12, 50, 60), (12, 11, 12), (5, 1, 1), (4, 2, 9)]


def textbook(x, y, *, unbiased):
    """Kornblith et al. (2019), equation 3, and Song et al. (2012), equation 5, exactly as printed."""
    n = len(x)
    k, other = x @ x.T, y @ y.T
    if not unbiased:
        centring = np.eye(n) - 1 / n
        return np.trace(k @ centring @ other @ centring)
    k, other = (gram - np.diag(np.diag(gram)) for gram in (k, other))
    one = np.ones(n)
    sums = (one @ k @ one) * (one @ other @ one) / ((n - 1) * (n - 2)) - 2 / (n - 2) * one @ k @ other @ one
    return (np.trace(k @ other) + sums) / (n * (n - 3))


def pair(n, p, q, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) + 3
    return x, rng.normal(size=(n, q)) + x @ rng.normal(size=(p, q)) / p


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_hsic_and_cka_equal_the_textbook(shape, unbiased):
    x, y = pair(*shape)
    expected = [textbook(*each, unbiased=unbiased) for each in ((x, y), (x, x), (y, y))]
    np.testing.assert_allclose(linear_hsic(x, y, unbiased=unbiased), expected, rtol=1e-9, atol=1e-9)
    ratio = expected[0] / np.sqrt(expected[1] * expected[2])
    assert cka(x, y, unbiased=unbiased) == pytest.approx(ratio, abs=1e-9)


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("shape", SHAPES[:5])
def test_cka_parts_equal_hsic_of_the_selected_stimuli(shape, unbiased):
    x, y = pair(*shape)
    parts = [[1, 3, 5, 6, 7, 9], np.arange(12)[::-1]]
    for part, found in zip(parts, cka_parts(x, y, parts, unbiased=unbiased), strict=True):
        np.testing.assert_allclose(found, linear_hsic(x[part], y[part], unbiased=unbiased), rtol=1e-8, atol=1e-9)


def test_wide_responses_give_equal_results_in_blocks(monkeypatch):
    x, y = pair(8, 50, 3)
    expected = cka(x, y)
    monkeypatch.setattr(module, "_COLUMNS", 7)
    assert cka(x, y) == pytest.approx(expected, abs=1e-12)


def test_only_unbiased_cka_is_zero_for_unrelated_responses():
    rng = np.random.default_rng(0)
    values = [
        [cka(*(rng.normal(size=(40, 200)) for _ in range(2)), unbiased=unbiased) for _ in range(50)]
        for unbiased in (True, False)
    ]
    assert abs(np.mean(values[0])) < 3 * np.std(values[0]) / np.sqrt(50)
    assert np.mean(values[1]) > 0.7


@pytest.mark.parametrize("unbiased", [True, False])
def test_cka_of_constant_responses_is_undefined(unbiased):
    x, y = pair(8, 5, 5)
    assert np.isnan(cka(np.full((8, 5), 0.1), y, unbiased=unbiased))
    assert np.isnan(cka(x, np.ones((8, 1)), unbiased=unbiased))


def test_equally_distant_patterns_have_no_unbiased_alignment():
    y = pair(8, 5, 5)[1]
    assert np.isnan(cka(np.eye(8), y))
    assert np.isfinite(cka(np.eye(8), y, unbiased=False))


@pytest.mark.parametrize(("n", "unbiased"), [(1, True), (3, True)])
def test_unbiased_cka_rejects_too_few_stimuli(n, unbiased):
    x, y = pair(n, 3, 3)
    with pytest.raises(ValueError, match=f"four stimuli, got {n}"):
        cka(x, y, unbiased=unbiased)


def test_biased_cka_of_one_to_three_stimuli():
    assert np.isnan(cka(*pair(1, 3, 3), unbiased=False))
    assert cka(*pair(2, 3, 3), unbiased=False) == pytest.approx(1)
    assert 0 <= cka(*pair(3, 3, 1), unbiased=False) <= 1


def test_rejects_different_numbers_of_stimuli():
    with pytest.raises(ValueError, match="same stimuli"):
        cka(np.zeros((5, 2)), np.zeros((6, 2)))


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), p=st.sampled_from([2, 5, 14]), unbiased=st.booleans())
def test_cka_invariances(seed, p, unbiased):
    rng = np.random.default_rng(seed)
    x, y = pair(9, p, 4, seed)
    before = x.copy()
    value = cka(x, y, unbiased=unbiased)
    assert -1 <= value <= 1
    rotated = x @ ortho_group.rvs(p, random_state=seed) * rng.uniform(1e-4, 1e4) + rng.normal(size=p)
    order = rng.permutation(9)
    for other in (
        cka(rotated, y, unbiased=unbiased),
        cka(y, x, unbiased=unbiased),
        cka(x[order], y[order], unbiased=unbiased),
        cka(np.hstack([x, x]), y, unbiased=unbiased),
        cka(x[:, rng.permutation(p)], y, unbiased=unbiased),
    ):
        assert other == pytest.approx(value, abs=1e-8)
    assert cka(x, rotated, unbiased=unbiased) == pytest.approx(1, abs=1e-8)
    np.testing.assert_array_equal(x, before)
