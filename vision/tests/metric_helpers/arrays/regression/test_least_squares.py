import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import lstsq
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, ShuffleSplit

from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.arrays.regression.ridge import least_squares_fit, least_squares_split_fits


def predict_splits(source, target, *args, **kwargs):
    return least_squares_split_fits(source, *args, **kwargs).predict(target)


def data(n, p, q, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) + 3
    return x, x @ rng.normal(size=(p, q)) / np.sqrt(p) + rng.normal(size=(n, q)) - 5


def by_singular_values(x, y, train, test, cutoff=1e-12):
    mean = x[train].mean(axis=0)
    weights = lstsq(x[train] - mean, y[train] - y[train].mean(axis=0), cond=cutoff)[0]
    return (x[test] - mean) @ weights + y[train].mean(axis=0)


SIZES = [
    (60, 20, 5), (60, 1, 1), (10, 4, 3), (300, 12, 4),  # more stimuli than features
    (60, 51, 3), (60, 52, 3), (60, 53, 3), (60, 54, 3), (60, 55, 3),  # about as many as training stimuli
    (60, 58, 2), (60, 59, 2), (60, 60, 2), (60, 61, 2),  # as many as stimuli
    (60, 700, 3), (8, 50, 1),  # more features than stimuli
]  # fmt: skip


@pytest.mark.parametrize(("n", "p", "q"), SIZES)
@pytest.mark.parametrize("train_size", [0.9, 0.3])
def test_predictions_equal_singular_value_decomposition(n, p, q, train_size):
    x, y = data(n, p, q)
    splits = list(ShuffleSplit(3, train_size=train_size, random_state=1).split(x))
    splits += [(train, np.concatenate([test, train])) for train, test in splits]
    for prediction, (train, test) in zip(predict_splits(x, y, splits), splits, strict=True):
        expected = by_singular_values(x, y, train, test)
        np.testing.assert_allclose(prediction, expected, atol=1e-7 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize(("n", "p"), [(60, 20), (60, 58), (60, 59), (60, 61), (40, 300)])
def test_fit_equals_scikit_learn(n, p):
    x, y = data(n, p, 3)
    reference = LinearRegression().fit(x, y)
    fitted = least_squares_fit(x, y)
    np.testing.assert_allclose(fitted.coefficients, reference.coef_.T, atol=1e-8)
    np.testing.assert_allclose(fitted.predict(2 * x), reference.predict(2 * x), atol=1e-7)


@pytest.mark.parametrize("p", [6, 40, 200])
def test_the_solution_of_smallest_norm_is_returned(p):
    # Each feature occurs twice, so the two share its weight. The features are dependent, whether or not they outnumber
    # the stimuli.
    x, y = data(50, p, 3)
    twice = np.hstack([x, x])
    splits = list(KFold(5).split(x))
    for prediction, (train, test) in zip(predict_splits(twice, y, splits), splits, strict=True):
        np.testing.assert_allclose(prediction, by_singular_values(twice, y, train, test), atol=1e-7)
    fitted = least_squares_fit(twice, y)
    np.testing.assert_allclose(fitted.coefficients[:p], fitted.coefficients[p:], atol=1e-8)


def test_handles_equal_stimuli_and_constant_features():
    x, y = data(50, 300, 3)
    x[7], x[:, 4] = x[3], 2.0
    x[9] = x[3]
    splits = list(KFold(5, shuffle=True, random_state=0).split(x))
    for prediction, (train, test) in zip(predict_splits(x, y, splits), splits, strict=True):
        np.testing.assert_allclose(prediction, by_singular_values(x, y, train, test), atol=1e-7)
    x = x[:, :20]
    for prediction, (train, test) in zip(predict_splits(x, y, splits), splits, strict=True):
        np.testing.assert_allclose(prediction, by_singular_values(x, y, train, test), atol=1e-8)


@pytest.mark.parametrize("smallest", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize(("n", "p"), [(80, 30), (80, 78), (60, 200)])
def test_handles_ill_conditioned_features(n, p, smallest):
    rng = np.random.default_rng(0)
    rank = min(n, p)
    left, right = (np.linalg.qr(rng.normal(size=(size, rank)))[0] for size in (n, p))
    x = (left * np.geomspace(1, smallest, rank)) @ right.T
    y = x @ rng.normal(size=(p, 2)) + 1e-3 * rng.normal(size=(n, 2))
    splits = list(ShuffleSplit(2, train_size=0.9, random_state=1).split(x))
    for prediction, (train, test) in zip(predict_splits(x, y, splits), splits, strict=True):
        expected = by_singular_values(x, y, train, test)
        assert np.abs(prediction - expected).max() < 1e-6 * np.abs(expected).max()


def test_handles_features_in_very_different_units():
    x, y = data(60, 20, 3)
    units = np.geomspace(1e-9, 1e9, 20)
    splits = list(KFold(4).split(x))
    pairs = zip(predict_splits(x, y, splits), predict_splits(x * units, y, splits), strict=True)
    for one, other in pairs:
        np.testing.assert_allclose(other, one, atol=1e-8)


def test_a_line_is_recovered():
    # y = 2 x - 1 exactly.
    fitted = least_squares_fit([[1.0], [2.0], [4.0]], [[1.0], [3.0], [7.0]])
    np.testing.assert_allclose(fitted.predict([[10.0]]), [[19.0]])


def test_smallest_norm_matches_a_hand_computed_value():
    # The two stimuli differ by (3, 4) in x and by 5 in y, so the weight is along that difference: (3, 4) / 5.
    fitted = least_squares_fit([[0.0, 0.0, 1.0], [3.0, 4.0, 1.0]], [[0.0], [5.0]])
    np.testing.assert_allclose(fitted.coefficients, [[0.6], [0.8], [0.0]], atol=1e-12)


@pytest.mark.parametrize(("n", "p"), [(1, 5), (2, 5), (1, 1), (3, 1)])
def test_handles_very_few_stimuli(n, p):
    x, y = data(n + 2, p, 2)
    train, test = np.arange(n), np.arange(n, n + 2)
    (prediction,) = predict_splits(x, y, [(train, test)])
    np.testing.assert_allclose(prediction, by_singular_values(x, y, train, test), atol=1e-8)


def test_rejects_an_empty_training_set():
    x, y = data(20, 5, 2)
    with pytest.raises(ValueError, match="Split 0 of 1 has no training stimuli"):
        predict_splits(x, y, [(np.array([], dtype=int), np.arange(5))])


@pytest.mark.parametrize("p", [30, 300])
@pytest.mark.parametrize("equal_stimuli", [False, True])
def test_streams_and_target_blocks_give_equal_predictions(p, equal_stimuli, monkeypatch):
    monkeypatch.setattr("brainscore_vision.metric_helpers.arrays.column_blocks.BLOCK_BYTES", 8 * 50 * 30)
    x, y = data(50, p, 7)
    if equal_stimuli:
        x[3] = x[7]
    splits = list(KFold(5, shuffle=True, random_state=0).split(x))
    stream = ColumnBlocks(lambda: (x[:, first : first + 11] for first in range(0, p, 11)), x.shape)
    fits = least_squares_split_fits(stream, splits)
    parts = [fits.predict(y[:, columns]) for columns in (slice(0, 3), slice(3, 7))]
    for index, whole in enumerate(predict_splits(x, y, splits)):
        np.testing.assert_allclose(np.hstack([part[index] for part in parts]), whole, atol=1e-9)
    np.testing.assert_allclose(least_squares_fit(stream, y).predict(stream), least_squares_fit(x, y).predict(x))


@pytest.mark.parametrize("p", [30, 300])
def test_torch_equals_numpy(p):
    x, y = data(50, p, 3)
    splits = list(KFold(5).split(x))
    pairs = zip(predict_splits(x, y, splits, backend="torch"), predict_splits(x, y, splits), strict=True)
    for one, other in pairs:
        np.testing.assert_allclose(one, other, atol=1e-10)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**20), p=st.sampled_from([5, 34, 38, 70]), shift=st.floats(-20, 20))
def test_prediction_invariances(seed, p, shift):
    x, y = data(40, p, 3, seed=seed)
    before = x.copy(), y.copy()
    splits = list(KFold(5, shuffle=True, random_state=seed).split(x))
    base = predict_splits(x, y, splits)
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(p, p)))[0]
    changed = predict_splits(3 * x @ rotation + shift, 2 * y + shift, splits)
    for one, other in zip(base, changed, strict=True):
        np.testing.assert_allclose(other, 2 * one + shift, atol=1e-6 * np.abs(one).max())
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(y, before[1])
