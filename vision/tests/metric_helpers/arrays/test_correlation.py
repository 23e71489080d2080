import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from brainscore_vision.metric_helpers.arrays import column_blocks, correlation

numbers = st.lists(st.floats(-1e6, 1e6, width=32), min_size=2, max_size=30)


def test_pearson_equals_scipy():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 6)) + 100, rng.normal(size=(20, 6))
    expected = [scipy.stats.pearsonr(x[:, i], y[:, i])[0] for i in range(6)]
    np.testing.assert_allclose(correlation.pearson_columns(x, y), expected, atol=1e-12)


def test_pearson_matches_a_hand_computed_value():
    # x centred (-1, 0, 1), y centred (-1, 1, 0): 1 / sqrt(2 * 2)
    np.testing.assert_allclose(correlation.pearson_columns([[1.0], [2.0], [3.0]], [[1.0], [3.0], [2.0]]), [0.5])


def test_undefined_correlations_are_nan():
    x = np.array([[0.1, 1.0, np.nan], [0.1, 2.0, 1.0], [0.1, 3.0, 2.0]])
    y = np.array([[1.0, 5.0, 1.0], [2.0, 5.0, 2.0], [4.0, 5.0, 4.0]])
    assert np.isnan(correlation.pearson_columns(x, y)).all()
    assert np.isnan(correlation.pearson_columns(x[:1], y[:1])).all()
    assert np.isnan(correlation.pearson_columns(x[:0], y[:0])).all()


def test_pearson_keeps_precision_at_extreme_scales():
    x = np.arange(5.0)[:, None]
    np.testing.assert_allclose(correlation.pearson_columns(1e-160 * x, 1e150 * x), [1.0])


def test_rejects_different_shapes():
    with pytest.raises(ValueError, match="equal shapes"):
        correlation.pearson_columns(np.zeros((3, 1)), np.zeros((3, 2)))


def test_constant_columns_are_recognised():
    values = np.array([[0.1, 1.0, np.nan, 0.0], [0.1, 2.0, np.nan, 0.0]])
    assert correlation.constant_columns(values).tolist() == [True, False, False, True]


@settings(max_examples=100)
@given(values=numbers, seed=st.integers(0, 1000))
def test_ranks_and_spearman_equal_scipy(values, seed):
    other = np.random.default_rng(seed).normal(size=len(values)).round(1)
    np.testing.assert_array_equal(correlation.ranks(values), scipy.stats.rankdata(values))
    expected = (
        scipy.stats.pearsonr(scipy.stats.rankdata(values), scipy.stats.rankdata(other))[0]
        if (len(set(values)) > 1 and len(set(other)) > 1)
        else np.nan
    )
    np.testing.assert_allclose(correlation.spearman(values, other), expected, atol=1e-10)


@settings(max_examples=50)
@given(seed=st.integers(0, 10**6), scale=st.floats(1e-3, 1e3), shift=st.floats(-1e3, 1e3))
def test_pearson_is_affine_invariant_symmetric_and_bounded(seed, scale, shift):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(12, 3)), rng.normal(size=(12, 3))
    r = correlation.pearson_columns(x, y)
    assert (np.abs(r) <= 1).all()
    np.testing.assert_allclose(correlation.pearson_columns(scale * x + shift, y), r, atol=1e-9)
    np.testing.assert_allclose(correlation.pearson_columns(y, x), r, atol=1e-12)
    np.testing.assert_allclose(correlation.pearson_columns(-x, y), -r, atol=1e-12)


def test_spearman_ignores_monotonic_transformations():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=30), rng.normal(size=30)
    assert correlation.spearman(np.exp(x), y) == pytest.approx(correlation.spearman(x, y), abs=1e-12)
    assert np.isnan(correlation.spearman([1.0, np.nan], [1.0, 2.0]))
    assert np.isnan(correlation.spearman([1.0, 1.0], [1.0, 2.0]))


@pytest.mark.parametrize("order", ["by block", "by split"])
def test_parts_may_be_ordered_by_block_or_split(order, monkeypatch):
    monkeypatch.setattr(column_blocks, "BLOCK_BYTES", 8 * 20 * 3)
    rng = np.random.default_rng(0)
    target = rng.normal(size=(20, 8))
    target[6:, 4] = 0.1  # constant in the training set of the first split
    tests = [np.arange(6), np.arange(4, 20)]
    splits = [(np.setdiff1d(np.arange(20), test), test) for test in tests]
    predictions = [rng.normal(size=(len(test), 8)) for test in tests]
    parts = [(i, slice(j, min(8, j + 3)), predictions[i][:, j : j + 3]) for i in range(2) for j in (0, 3, 6)]
    if order == "by block":
        parts.sort(key=lambda part: part[1].start)
    r = correlation.correlate_parts(parts, target, splits)
    assert np.argwhere(np.isnan(r)).tolist() == [[0, 4]]
    predictions[0][:, 4] = 0.1
    for row, test, prediction in zip(r, tests, predictions, strict=True):
        np.testing.assert_allclose(row, correlation.pearson_columns(target[test], prediction), atol=1e-12)
