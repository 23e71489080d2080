import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brainscore_vision.metrics.dimensionality import metric as dimensionality
from brainscore_vision.metrics.dimensionality.metric import factor_dimensions, factor_scores


def by_neuroid(a, b, members):
    """Esser et al. (2020), computed neuroid by neuroid for one factor at a time."""
    result = []
    for chosen in members:
        total = 0.0
        for j in range(a.shape[1]):
            x, y = a[chosen, j], b[chosen, j]
            middle = np.mean(np.concatenate([x, y]))
            total += np.mean((x - middle) * (y - middle))
        result.append(total / np.concatenate([a, b]).var(axis=0).sum())
    return result


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 9), p=st.sampled_from([1, 2, 20]))
def test_factor_scores_equal_the_definition_and_are_invariant(seed, n, p):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n, p)) + 5
    members = np.zeros((2, n), dtype=bool)
    members[0, : n // 2] = True
    members[1] = ~members[0]
    scores = factor_scores(a, b, members)
    np.testing.assert_allclose(scores, by_neuroid(a, b, members), atol=1e-12)
    rotation = np.linalg.qr(rng.normal(size=(p, p)))[0] * 3
    np.testing.assert_allclose(factor_scores(a @ rotation - 7, b @ rotation - 7, members), scores, atol=1e-9)
    np.testing.assert_allclose(factor_scores(b, a, members), scores, atol=1e-12)


def test_shared_factor_scores_its_share_of_the_variance():
    rng = np.random.default_rng(0)
    shape, texture = rng.normal(size=(2, 20000, 1))
    a = np.hstack([shape, texture])
    b = np.hstack(
        [shape, rng.normal(size=(20000, 1))]
    )  # pairs agree in shape, which one of the two neuroids represents
    assert factor_scores(a, b, np.ones((1, 20000))) == pytest.approx(0.5, abs=0.02)


def test_neuroids_are_summed_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 50, 4000)).astype(np.float32)
    members = rng.random((1, 50)) < 0.5
    whole = factor_scores(a, b, members)
    monkeypatch.setattr(dimensionality, "_BLOCK_VALUES", 50 * 300)  # the last block is smaller
    tracemalloc.start()
    try:
        scores = factor_scores(a, b, members)
        assert tracemalloc.get_traced_memory()[1] < a.nbytes
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(scores, whole, rtol=1e-12)
    np.testing.assert_allclose(scores, by_neuroid(a.astype(float), b.astype(float), members), rtol=1e-6)


def test_constant_responses_are_undefined():
    assert np.isnan(factor_scores(np.full((3, 2), 0.1), np.full((3, 2), 0.1), np.ones((1, 3)))).all()


def test_rejects_arguments_that_do_not_fit():
    with pytest.raises(ValueError, match="Expected two arrays of pairs"):
        factor_scores(np.ones((3, 2)), np.ones((4, 2)), np.ones((1, 3)))
    with pytest.raises(ValueError, match="1 factors have no pair"):
        factor_scores(np.ones((3, 2)), np.ones((3, 2)), [[True, True, True], [False, False, False]])


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_dimensions_add_up_to_the_number_of_neuroids(n):
    dimensions = factor_dimensions([0.3, -0.2, 0.9], n)
    assert dimensions.sum() == n
    softmax = np.exp([0.3, -0.2, 0.9, 1.0]) / np.exp([0.3, -0.2, 0.9, 1.0]).sum()
    np.testing.assert_array_equal(dimensions[:3], (softmax[:3] * n).astype(int))
