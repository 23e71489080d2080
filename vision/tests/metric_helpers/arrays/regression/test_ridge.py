import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, ShuffleSplit

from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.arrays.regression.ridge import ridge_fit, ridge_split_fits


def predict_splits(source, target, *args, **kwargs):
    return ridge_split_fits(source, *args, **kwargs).predict(target)


def data(n, p, q, *, scale=1.0, seed=0):
    rng = np.random.default_rng(seed)
    rank = min(n, p, 20)
    latent = rng.normal(size=(n, rank)) * np.arange(1, rank + 1) ** -1.0
    x = scale * (latent @ rng.normal(size=(rank, p)) + 0.01 * rng.normal(size=(n, p))) + 3
    return x, latent @ rng.normal(size=(rank, q)) + 0.1 * rng.normal(size=(n, q)) - 5


@pytest.mark.parametrize("alpha", [1e-2, 1.0, 1e3])
@pytest.mark.parametrize(
    ("n", "p", "q"), [(60, 20, 5), (60, 59, 5), (60, 60, 1), (60, 61, 5), (40, 700, 3), (10, 1, 2)]
)
@pytest.mark.parametrize("train_size", [0.9, 0.3])
def test_predictions_equal_scikit_learn(n, p, q, alpha, train_size):
    x, y = data(n, p, q, scale=5.0)
    splits = list(ShuffleSplit(3, train_size=train_size, random_state=1).split(x))
    splits += [(train, np.concatenate([test, train])) for train, test in splits]
    for prediction, (train, test) in zip(predict_splits(x, y, splits, alpha), splits, strict=True):
        reference = Ridge(alpha).fit(x[train], y[train]).predict(x[test]).reshape(len(test), q)
        np.testing.assert_allclose(prediction, reference, atol=1e-8)


def test_one_feature_matches_a_hand_computed_value():
    # Centred: x = (-1, 0, 1), y = (-2, 0, 2); slope = x.y / (x.x + alpha) = 4 / (2 + 2) = 1; mean of y is 3.
    fitted = ridge_fit([[1.0], [2.0], [3.0]], [[1.0], [3.0], [5.0]], alpha=2.0)
    np.testing.assert_allclose(fitted.coefficients, [[1.0]])
    np.testing.assert_allclose(fitted.predict([[4.0]]), [[5.0]])


@pytest.mark.parametrize("alpha", [0.0, -1.0, float("nan")])
def test_rejects_a_penalty_that_is_not_positive(alpha):
    x, y = data(20, 5, 2)
    with pytest.raises(ValueError, match="larger than zero"):
        predict_splits(x, y, [(np.arange(15), np.arange(15, 20))], alpha)
    with pytest.raises(ValueError, match="larger than zero"):
        ridge_fit(x, y, alpha)


def test_rejects_an_empty_training_set():
    x, y = data(20, 5, 2)
    with pytest.raises(ValueError, match="no training stimuli"):
        predict_splits(x, y, [(np.array([], dtype=int), np.arange(5))])


@settings(max_examples=20)
@given(seed=st.integers(0, 2**20), p=st.sampled_from([5, 70]), shift=st.floats(-20, 20))
def test_prediction_invariances(seed, p, shift):
    x, y = data(40, p, 3, seed=seed)
    before = x.copy(), y.copy()
    splits = list(KFold(4, shuffle=True, random_state=seed).split(x))
    base = predict_splits(x, y, splits)
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(p, p)))[0]
    rotated = predict_splits(x @ rotation + shift, 2 * y + shift, splits)
    for one, other in zip(base, rotated, strict=True):
        np.testing.assert_allclose(other, 2 * one + shift, atol=1e-7)
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(y, before[1])


@pytest.mark.parametrize("p", [30, 300])
@pytest.mark.parametrize("train_size", [0.9, 0.3])
@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_streams_target_blocks_and_backends_equal_scikit_learn(p, train_size, backend):
    x, y = data(50, p, 7)
    splits = list(ShuffleSplit(3, train_size=train_size, random_state=1).split(x))
    stream = ColumnBlocks(lambda: (x[:, first : first + 11] for first in range(0, p, 11)), x.shape)
    fits = ridge_split_fits(stream, splits, 0.7, backend=backend)
    parts = [fits.predict(y[:, columns]) for columns in (slice(0, 3), slice(3, 7))]
    for index, (train, test) in enumerate(splits):
        expected = Ridge(0.7).fit(x[train], y[train]).predict(x[test])
        np.testing.assert_allclose(np.hstack([part[index] for part in parts]), expected, atol=1e-9)
    fitted = ridge_fit(stream, y, 0.7, backend=backend)
    np.testing.assert_allclose(fitted.predict(stream.rows([3, 4])), Ridge(0.7).fit(x, y).predict(x[[3, 4]]), atol=1e-9)


def test_features_in_single_precision_are_computed_in_double():
    x, y = data(50, 300, 4)
    x = x.astype(np.float32)
    splits = list(KFold(5).split(x))
    pairs = zip(predict_splits(x, y, splits), predict_splits(x.astype(np.float64), y, splits), strict=True)
    for one, other in pairs:
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("n", "p"), [(30, 5), (30, 90)])
def test_handles_equal_stimuli_with_a_penalty_below_rounding(n, p):
    x, y = data(n, p, 3)
    x[4], y[4] = x[2], y[2]
    splits = list(KFold(3, shuffle=True, random_state=0).split(x))
    for prediction, (train, test) in zip(predict_splits(x, y, splits, 1e-15), splits, strict=True):
        reference = Ridge(1e-15, solver="svd").fit(x[train], y[train]).predict(x[test])
        np.testing.assert_allclose(prediction, reference, atol=1e-4)


@pytest.mark.parametrize(("n_test", "q"), [(2, 40), (40, 1)])
def test_coefficients_and_inner_products_predict_as_scikit_learn(n_test, q):
    x, y = data(40, 90, q)
    fitted = ridge_fit(x, y, 0.7)
    expected = Ridge(0.7).fit(x, y.reshape(40, q)).predict(x[:n_test]).reshape(n_test, q)
    np.testing.assert_allclose(fitted.predict(x[:n_test]), expected, atol=1e-10)
    np.testing.assert_allclose(fitted.source_mean, x.mean(axis=0))
