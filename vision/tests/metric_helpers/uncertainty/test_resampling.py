import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_vision.metric_helpers.uncertainty import intervals


def test_bootstrap_weights_count_draws():
    weights = intervals.bootstrap_weights(np.random.default_rng(0), 7, 500)
    assert weights.shape == (500, 7)
    np.testing.assert_array_equal(weights.sum(axis=1), 7)
    np.testing.assert_allclose(weights.mean(axis=0), 1, atol=0.2)


@given(st.integers(0, 1000))
def test_weighted_correlation_equals_that_of_repeated_rows(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(loc=1e4, size=(2, 9, 3))
    weights = rng.integers(0, 3, size=(4, 9))
    weights[:, :3] += 1
    for row, weight in zip(intervals.weighted_correlations(weights, x, y), weights, strict=True):
        rows = np.repeat(np.arange(9), weight)
        expected = [np.corrcoef(x[rows, column], y[rows, column])[0, 1] for column in range(3)]
        np.testing.assert_allclose(row, expected, atol=1e-9)


def test_columns_constant_under_the_weights_are_undefined():
    x = np.array([[1.0], [1.0], [2.0]])
    found = intervals.weighted_correlations([[1, 1, 0], [1, 1, 1], [0, 0, 0]], x, x)[:, 0]
    np.testing.assert_array_equal(np.isnan(found), [True, False, True])
    assert found[1] == pytest.approx(1)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_medians_of_draws_equal_numpy(missing):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 11))
    values[rng.random(values.shape) < missing] = np.nan
    draws = rng.integers(11, size=(30, 11))
    expected = np.stack([np.nanmedian(values[:, draw], axis=1) for draw in draws])
    np.testing.assert_allclose(intervals.medians_of_draws(np.broadcast_to(values, (30, 4, 11)), draws), expected)


def test_medians_of_only_nan_are_nan():
    assert np.isnan(intervals.medians_of_draws(np.full((1, 2, 3), np.nan), np.array([[0, 1, 2]]))).all()
