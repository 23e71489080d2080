import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold, ShuffleSplit

from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.arrays.regression.single import best_source, best_source_predict_splits


def data(n, p, q, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) + 3
    return x, x[:, rng.integers(0, p, q)] + rng.normal(size=(n, q)) - 5


def by_pairs(x, y):
    with np.errstate(invalid="ignore"):
        r = np.array([[np.corrcoef(x[:, i], y[:, j])[0, 1] for i in range(x.shape[1])] for j in range(y.shape[1])])
    return np.nanargmax(r, axis=1)


@pytest.mark.parametrize(("n", "p", "q"), [(60, 20, 5), (30, 90, 3), (10, 1, 2), (25, 8, 40), (3, 4, 2)])
@pytest.mark.parametrize("train_size", [0.9, 0.4])
def test_best_source_equals_that_of_all_pairs(n, p, q, train_size):
    x, y = data(n, p, q)
    splits = list(ShuffleSplit(3, train_size=train_size, random_state=1).split(x)) if n > 3 else [([0, 1, 2], [0])]
    for prediction, (train, test) in zip(best_source_predict_splits(x, y, splits), splits, strict=True):
        expected = by_pairs(x[train], y[train])
        np.testing.assert_array_equal(best_source(x[train], y[train]), expected)
        np.testing.assert_array_equal(prediction, x[np.ix_(test, expected)])


def test_best_source_of_three_stimuli():
    x = np.array([[1.0, 3.0, 1.0], [2.0, 2.0, 1.0], [3.0, 1.0, 4.0]])
    np.testing.assert_array_equal(best_source(x, [[1.0, 9.0, 0.0], [2.0, 5.0, 0.0], [3.0, 1.0, 5.0]]), [0, 1, 2])


def test_best_source_of_sparse_features_and_outliers():
    # Features that respond to very few stimuli are constant, or nearly so, in some training sets.
    rng = np.random.default_rng(0)
    x = np.maximum(rng.normal(size=(60, 200)) - 1.9, 0) + 1e3
    x[5] += 1e6 * rng.normal(size=200)
    y = rng.normal(size=(60, 8))
    y[7, 2] = 1e8
    for train, test in KFold(10, shuffle=True, random_state=0).split(x):
        mapping, expected = best_source(x[train], y[train]), by_pairs(x[train], y[train])
        (prediction,) = best_source_predict_splits(x, y, [(train, test)])
        np.testing.assert_array_equal(prediction, x[np.ix_(test, mapping)])
        for j, chosen in enumerate(mapping):
            best = expected[j]
            pair = [np.corrcoef(x[train, i], y[train, j])[0, 1] for i in (chosen, best)]
            assert pair[0] == pytest.approx(pair[1], abs=1e-11)


def test_the_first_of_equally_good_sources_is_chosen():
    x, y = data(40, 6, 3)
    copies = np.hstack([x, 2 * x + 1, x])
    np.testing.assert_array_equal(best_source(copies, y), best_source(x, y))
    splits = list(KFold(4).split(x))
    pairs = zip(best_source_predict_splits(x, y, splits), best_source_predict_splits(copies, y, splits), strict=True)
    for one, other in pairs:
        np.testing.assert_array_equal(one, other)


def test_constant_columns_are_neither_chosen_nor_predicted():
    x, y = data(40, 6, 3)
    x[:, 0], x[:, 3], y[:, 1] = 0.1, 1e9, 0.3
    y[:10, 2] = np.arange(10)
    y[10:, 2] = 7.0
    mapping = best_source(x, y)
    assert mapping[1] == -1
    assert not np.isin(mapping, [0, 3]).any()
    first, second = best_source_predict_splits(x, y, [(np.arange(10, 40), np.arange(10)), (np.arange(30), [35])])
    assert np.isnan(first[:, [1, 2]]).all()
    assert np.isfinite(first[:, 0]).all()
    assert np.isnan(second[:, 1]).all()
    assert np.isfinite(second[:, [0, 2]]).all()
    np.testing.assert_array_equal(best_source(np.ones((40, 3)), y), [-1, -1, -1])


def test_training_stimuli_may_repeat_and_be_tested():
    x, y = data(50, 10, 3)
    train, test = np.array([*range(40), 3, 3]), np.array([2, 45])
    (prediction,) = best_source_predict_splits(x, y, [(train, test)])
    np.testing.assert_array_equal(prediction, x[np.ix_(test, by_pairs(x[train], y[train]))])


def test_rejects_an_empty_training_set():
    x, y = data(20, 5, 2)
    with pytest.raises(ValueError, match="no training stimuli"):
        best_source_predict_splits(x, y, [(np.array([], dtype=int), np.arange(5))])


@pytest.mark.parametrize("width", [1, 7, 64, 300])
def test_blocks_of_any_width_give_equal_predictions(width):
    x, y = data(50, 300, 4)
    stream = ColumnBlocks(lambda: (x[:, first : first + width] for first in range(0, 300, width)), x.shape)
    splits = list(KFold(5).split(x))
    pairs = zip(best_source_predict_splits(stream, y, splits), best_source_predict_splits(x, y, splits), strict=True)
    for one, other in pairs:
        np.testing.assert_array_equal(one, other)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**20), shift=st.floats(-20, 20))
def test_prediction_invariances(seed, shift):
    rng = np.random.default_rng(seed)
    x, y = data(30, 25, 4, seed=seed)
    before = x.copy(), y.copy()
    splits = list(KFold(5, shuffle=True, random_state=seed).split(x))
    base = best_source_predict_splits(x, y, splits)
    units = rng.uniform(0.1, 10, 25)
    order = rng.permutation(25)
    for one, other in zip(base, best_source_predict_splits(x[:, order], 2 * y + shift, splits), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(best_source(x * units + shift, y), best_source(x, y))
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(y, before[1])
