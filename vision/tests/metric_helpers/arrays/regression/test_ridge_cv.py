import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import KFold, ShuffleSplit

from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.arrays.regression.ridge import (
    ridge_cv_fit,
    ridge_cv_iterate,
    ridge_cv_predict_splits,
)

ALPHAS = np.geomspace(1e-2, 1e6, 33)


def data(n, p, q, seed=0):
    rng = np.random.default_rng(seed)
    x = 3 * rng.normal(size=(n, p)) + 3
    noise = rng.normal(size=(n, q)) * np.geomspace(0.1, 10, q)
    return x, x @ rng.normal(size=(p, q)) / np.sqrt(p) + noise - 5


def left_out_one_by_one(x, y, alphas):
    """Return mean squared errors, shape (n_alphas, n_neuroids), from one fit for each left-out stimulus."""
    n = len(x)
    errors = []
    for alpha in alphas:
        predictions = [
            Ridge(alpha, solver="svd").fit(np.delete(x, i, 0), np.delete(y, i, 0)).predict(x[[i]]).reshape(-1)
            for i in range(n)
        ]
        errors.append(((np.array(predictions) - y) ** 2).mean(axis=0))
    return np.array(errors)


SIZES = [(60, 20, 5), (60, 52, 3), (60, 54, 3), (60, 59, 2), (60, 60, 2), (60, 61, 3), (60, 400, 3), (10, 1, 2)]


@pytest.mark.parametrize(("n", "p", "q"), [*SIZES, (60, 20, 200), (60, 90, 200), (60, 20, 1)])
@pytest.mark.parametrize("per_target", [False, True])
def test_predictions_and_penalties_equal_scikit_learn(n, p, q, per_target):
    x, y = data(n, p, q)
    splits = list(ShuffleSplit(2, train_size=0.9, random_state=1).split(x))
    predictions = ridge_cv_predict_splits(x, y, splits, ALPHAS, alpha_per_target=per_target)
    for prediction, (train, test) in zip(predictions, splits, strict=True):
        reference = RidgeCV(ALPHAS, alpha_per_target=per_target).fit(x[train], y[train])
        fitted, alpha = ridge_cv_fit(x[train], y[train], ALPHAS, alpha_per_target=per_target)
        np.testing.assert_array_equal(alpha, np.atleast_1d(reference.alpha_))
        expected = reference.predict(x[test]).reshape(len(test), q)
        np.testing.assert_allclose(prediction, expected, atol=1e-8)
        np.testing.assert_allclose(fitted.predict(x[test]), expected, atol=1e-8)
        np.testing.assert_allclose(fitted.coefficients.T, np.atleast_2d(reference.coef_), atol=1e-8)


@pytest.mark.parametrize("p", [5, 18, 40])
def test_chosen_penalty_equals_that_of_leaving_one_out(p):
    # Penalties over sixteen orders of magnitude: scikit-learn's own shortcut is too inexact for the smallest.
    alphas = [1e-8, 1e-4, 1.0, 1e2, 1e4, 1e8]
    x, y = data(20, p, 12, seed=3)
    errors = left_out_one_by_one(x, y, alphas)
    clear = np.sort(errors, axis=0)
    clear = clear[1] > (1 + 1e-9) * clear[0]
    assert clear.sum() >= 6
    _, alpha = ridge_cv_fit(x, y, alphas, alpha_per_target=True)
    np.testing.assert_array_equal(alpha[clear], np.array(alphas)[errors.argmin(axis=0)][clear])
    _, alpha = ridge_cv_fit(x, y, alphas)
    assert alpha == alphas[errors.mean(axis=1).argmin()]


def test_the_first_of_equally_good_penalties_is_chosen():
    x, y = data(30, 5, 2)
    for alphas in ([10.0, 10.0, 3.0], [3.0, 10.0, 3.0]):
        _, alpha = ridge_cv_fit(x, y, alphas)
        assert alpha == alphas[RidgeCV(alphas).fit(x, y).alpha_ != alphas[0]]


@pytest.mark.parametrize("p", [5, 60])
def test_a_single_penalty_equals_ridge(p):
    x, y = data(30, p, 4)
    splits = list(KFold(3).split(x))
    for per_target in (False, True):
        predictions = ridge_cv_predict_splits(x, y, splits, [7.0], alpha_per_target=per_target)
        for prediction, (train, test) in zip(predictions, splits, strict=True):
            np.testing.assert_allclose(prediction, Ridge(7.0).fit(x[train], y[train]).predict(x[test]), atol=1e-9)


@pytest.mark.parametrize("p", [20, 90])
def test_handles_equal_and_constant_features_and_outliers(p):
    x, y = data(50, p, 5)
    x[7], x[:, 4], x[:, 6], x[0] = x[3], 2.0, x[:, 5], 50 * x[0]
    reference = RidgeCV(ALPHAS, alpha_per_target=True).fit(x, y)
    fitted, alpha = ridge_cv_fit(x, y, ALPHAS, alpha_per_target=True)
    np.testing.assert_array_equal(alpha, reference.alpha_)
    np.testing.assert_allclose(fitted.predict(x), reference.predict(x), atol=1e-7)


def test_handles_ill_conditioned_features_with_small_penalties():
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(size, 30)))[0] for size in (80, 30))
    x = (left * np.geomspace(1, 1e-6, 30)) @ right.T
    y = x @ rng.normal(size=(30, 3)) + 1e-6 * rng.normal(size=(80, 3))
    alphas = np.geomspace(1e-14, 1, 15)
    errors = left_out_one_by_one(x, y, alphas)
    fitted, alpha = ridge_cv_fit(x, y, alphas, alpha_per_target=True)
    np.testing.assert_array_equal(alpha, alphas[errors.argmin(axis=0)])
    expected = [Ridge(a, solver="svd").fit(x, y[:, i]).predict(x) for i, a in enumerate(alpha)]
    np.testing.assert_allclose(fitted.predict(x), np.transpose(expected), atol=1e-10)


@pytest.mark.parametrize(("n", "p"), [(1, 3), (2, 3), (2, 1), (3, 1)])
def test_handles_very_few_stimuli(n, p):
    x, y = data(n, p, 2)
    fitted, alpha = ridge_cv_fit(x, y, ALPHAS)
    assert alpha[0] in ALPHAS
    np.testing.assert_allclose(fitted.predict(x), Ridge(alpha[0]).fit(x, y).predict(x), atol=1e-8)


def test_a_constant_source_predicts_the_mean():
    _, y = data(30, 2, 3)
    for p in (2, 40):
        fitted, _ = ridge_cv_fit(np.full((30, p), 0.1), y, ALPHAS)
        np.testing.assert_allclose(fitted.predict(np.ones((1, p))), y.mean(axis=0)[None])


@pytest.mark.parametrize("alphas", [[], [0.0, 1.0], [-1.0], [float("nan")]])
def test_rejects_penalties_that_are_not_positive(alphas):
    x, y = data(20, 5, 2)
    with pytest.raises(ValueError, match="larger than zero"):
        ridge_cv_fit(x, y, alphas)


@pytest.mark.parametrize("p", [30, 300])
@pytest.mark.parametrize("per_target", [False, True])
def test_streams_and_target_blocks_give_equal_predictions(p, per_target, monkeypatch):
    monkeypatch.setattr("brainscore_vision.metric_helpers.arrays.column_blocks.BLOCK_BYTES", 8 * 50 * 13)
    x, y = data(50, p, 120)
    splits = list(KFold(5).split(x))
    stream, targets = (
        ColumnBlocks(lambda a=a: (a[:, first : first + 11] for first in range(0, a.shape[1], 11)), a.shape)
        for a in (x, y)
    )
    seen = np.zeros((5, 120), dtype=int)
    whole = ridge_cv_predict_splits(x, y, splits, ALPHAS, alpha_per_target=per_target)
    for index, columns, part in ridge_cv_iterate(stream, targets, splits, ALPHAS, alpha_per_target=per_target):
        np.testing.assert_allclose(part, whole[index][:, columns], atol=1e-9)
        seen[index, columns] += 1
    assert (seen == 1).all()


def test_memory_is_that_of_two_gram_matrices_and_a_fraction(monkeypatch):
    """The largest benchmark has 22,248 training stimuli: each further array of n^2 numbers takes 4 GB."""
    monkeypatch.setattr("brainscore_vision.metric_helpers.arrays.column_blocks.BLOCK_BYTES", 2**18)
    monkeypatch.setattr("brainscore_vision.metric_helpers.arrays.regression.ridge.WORK_BYTES", 2**18)
    n_train, n_test = 700, 50
    x, y = data(n_train + n_test, 1000, 4)
    splits = [(np.arange(n_train), np.arange(n_train, n_train + n_test))]
    tracemalloc.start()
    try:
        ridge_cv_predict_splits(x, y, splits, ALPHAS, backend="numpy")
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes <= 2.7 * 8 * n_train**2


@pytest.mark.parametrize("p", [30, 90])
def test_torch_equals_numpy(p):
    x, y = data(60, p, 4)
    ours = [ridge_cv_fit(x, y, ALPHAS, alpha_per_target=True, backend=backend) for backend in ("numpy", "torch")]
    np.testing.assert_array_equal(ours[0][1], ours[1][1])
    np.testing.assert_allclose(ours[0][0].predict(x), ours[1][0].predict(x), atol=1e-9)


@settings(max_examples=15)
@given(seed=st.integers(0, 2**20), p=st.sampled_from([5, 38, 70]), shift=st.floats(-20, 20))
def test_prediction_invariances(seed, p, shift):
    x, y = data(40, p, 3, seed=seed)
    before = x.copy(), y.copy()
    base, alpha = ridge_cv_fit(x, y, ALPHAS, alpha_per_target=True)
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(p, p)))[0]
    order = np.random.default_rng(seed).permutation(40)
    turned = x @ rotation + shift
    other, chosen = ridge_cv_fit(turned[order], 2 * y[order] + shift, ALPHAS, alpha_per_target=True)
    np.testing.assert_array_equal(chosen, alpha)
    np.testing.assert_allclose(other.predict(turned), 2 * base.predict(x) + shift, atol=1e-7)
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(y, before[1])
