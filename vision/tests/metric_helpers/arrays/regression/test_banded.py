import json
import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneOut, ShuffleSplit

from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.arrays.regression import banded
from brainscore_vision.metric_helpers.arrays.regression.ridge import ridge_cv_predict_splits

HIMALAYA = Path(__file__).parents[2] / "fixtures" / "himalaya_banded.py"
WEIGHTS = np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0], [0.9, 0.1]])
ALPHAS = np.logspace(-1, 2, 4)


def data(n=50, sizes=(20, 6), q=4, seed=0):
    """Make the first half of the neuroids depend on the first band, and the others on the second."""
    rng = np.random.default_rng(seed)
    x = [rng.normal(size=(n, size)) * 10**band for band, size in enumerate(sizes)]
    y = np.concatenate([part[:, :3] @ rng.normal(size=(3, q // 2)) / part.std() for part in x], axis=1)
    return np.concatenate(x, axis=1) + 3, np.repeat([0, 1], sizes), y + 0.5 * rng.normal(size=(n, q)) - 5


def splits(n=50, number=2):
    return list(ShuffleSplit(number, train_size=0.8, random_state=1).split(np.zeros(n)))


def by_scikit_learn(x, bands, y, train, test):
    """Fit a ridge regression of scaled features for every candidate, alpha and left-out stimulus."""
    centred = x - x[train].mean(axis=0)
    sizes = np.array([(centred[np.ix_(train, bands == band)] ** 2).sum() / len(train) for band in (0, 1)])
    best = np.full(y.shape[1], np.inf)
    prediction = np.empty((len(test), y.shape[1]))
    for weights in WEIGHTS:
        scaled = centred * np.sqrt(weights / sizes)[bands]
        for alpha in ALPHAS:
            loss = np.zeros(y.shape[1])
            for rest, out in LeaveOneOut().split(train):
                fitted = Ridge(alpha).fit(scaled[train[rest]], y[train[rest]])
                loss += ((fitted.predict(scaled[train[out]]) - y[train[out]]) ** 2).sum(axis=0)
            better = loss < best
            best[better] = loss[better]
            prediction[:, better] = Ridge(alpha).fit(scaled[train], y[train]).predict(scaled[test])[:, better]
    return prediction


@pytest.mark.parametrize("sizes", [(20, 6), (5, 6)])
def test_predictions_equal_ridge_regression_of_scaled_features(sizes):
    x, bands, y = data(30, sizes)
    found = banded.banded_predict_splits(x, bands, y, splits(30), weights=WEIGHTS, alphas=ALPHAS)
    for prediction, (train, test) in zip(found, splits(30), strict=True):
        np.testing.assert_allclose(prediction.total, by_scikit_learn(x, bands, y, train, test), atol=1e-8)


def test_predictions_equal_himalaya():
    module = SimpleNamespace(**runpy.run_path(str(HIMALAYA)))
    x, bands, y = module.data()
    stored = json.loads(module.STORED.read_text())
    split = [(np.arange(45), np.arange(45, 60))]
    (found,) = banded.banded_predict_splits(x, bands, y, split, weights=module.WEIGHTS, alphas=module.ALPHAS)
    np.testing.assert_allclose(found.alpha, stored["alpha"])
    np.testing.assert_allclose(found.total, stored["prediction"], atol=1e-10)
    np.testing.assert_allclose(banded.variance_by_band(found.parts, y[45:]), stored["variance_by_band"], atol=1e-10)
    assert len(np.unique(found.weights, axis=1).T) > 3


def test_a_single_band_equals_ridge_with_a_penalty_per_neuroid():
    x, _, y = data()
    (train, test), *_ = splits()
    size = ((x[train] - x[train].mean(axis=0)) ** 2).sum() / len(train)
    (found,) = banded.banded_predict_splits(x, np.zeros(26, int), y, [(train, test)], alphas=ALPHAS)
    (expected,) = ridge_cv_predict_splits(x, y, [(train, test)], ALPHAS * size, alpha_per_target=True)
    np.testing.assert_allclose(found.total, expected, atol=1e-9)


def test_predictions_do_not_depend_on_unit_or_origin_of_a_band():
    x, bands, y = data()
    changed = x * np.where(bands == 0, 1e-6, 1e5) + 7
    for one, other in zip(
        banded.banded_predict_splits(x, bands, y, splits()),
        banded.banded_predict_splits(changed, bands, y, splits()),
        strict=True,
    ):
        np.testing.assert_allclose(one.total, other.total, atol=1e-6)


def test_order_and_blocks_of_features_give_equal_predictions():
    x, bands, y = data()
    order = np.random.default_rng(0).permutation(26)
    blocks = ColumnBlocks(lambda: (x[:, order][:, i : i + 4] for i in range(0, 26, 4)), x.shape)
    for one, other in zip(
        banded.banded_predict_splits(x, bands, y, splits()),
        banded.banded_predict_splits(blocks, bands[order], y, splits()),
        strict=True,
    ):
        np.testing.assert_allclose(one.total, other.total, atol=1e-8)


def test_fit_and_splits_give_equal_predictions():
    x, bands, y = data()
    (train, test), *_ = splits()
    (expected,) = banded.banded_predict_splits(x, bands, y, [(train, test)])
    fitted, weights, alpha = banded.banded_fit(x[train], bands, y[train])
    np.testing.assert_allclose(fitted.predict(x[test]), expected.total, atol=1e-8)
    np.testing.assert_array_equal(weights, expected.weights)
    np.testing.assert_array_equal(alpha, expected.alpha)


def test_a_constant_band_contributes_nothing():
    x, bands, y = data()
    x[:, bands == 1] = 2.0
    for prediction in banded.banded_predict_splits(x, bands, y, splits()):
        np.testing.assert_array_equal(prediction.parts[1], 0.0)
        assert np.isfinite(prediction.total).all()


def test_candidate_weights_are_seeded_and_sum_to_one():
    weights = banded.band_weights(3, 4)
    assert weights.shape == (8, 3)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_allclose(weights[:4], [[1 / 3] * 3, *np.eye(3)])
    np.testing.assert_array_equal(weights, banded.band_weights(3, 4))
    assert not np.array_equal(weights[4:], banded.band_weights(3, 4, seed=1)[4:])
    assert banded.band_weights(1, 4).tolist() == [[1.0]]


def test_rejects_wrong_bands_weights_and_penalties():
    x, bands, y = data()
    for wrong in (bands[:5], np.where(bands == 1, 2, 0)):
        with pytest.raises(ValueError, match="to a band, numbered from 0"):
            banded.banded_predict_splits(x, wrong, y, splits())
    for wrong in (-WEIGHTS, WEIGHTS[:, :1], WEIGHTS[:0]):
        with pytest.raises(ValueError, match="Candidate weights of 2 bands"):
            banded.banded_predict_splits(x, bands, y, splits(), weights=wrong)
    with pytest.raises(ValueError, match="penalties"):
        banded.banded_predict_splits(x, bands, y, splits(), alphas=[0.0])
