import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression
from sklearn.model_selection import KFold, ShuffleSplit

from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.arrays.regression.pls import (
    inner_folds,
    pls_path_fit,
    pls_path_iterate,
    pls_path_predict_splits,
    pls_predict_splits,
)


def data(n, p, q, *, noise=1.0, seed=0):
    """Make neuroids that each depend on some of the first few latent variables of the features."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n, 12)) * np.arange(1, 13) ** -0.7
    x = latent @ rng.normal(size=(12, p)) + 0.05 * rng.normal(size=(n, p)) + 3
    weights = rng.normal(size=(12, q)) * (rng.random(size=(12, q)) < 0.4)
    return x, latent @ weights + noise * rng.normal(size=(n, q)) - 5


def splits(n, number=3):
    return list(ShuffleSplit(number, train_size=0.9, random_state=1).split(np.zeros(n)))


def by_scikit_learn(x, y, train, test, largest):
    """Fit once for every number of components and every fold."""

    def predict(n_components, rows, others):
        fitted = PLSRegression(n_components, scale=False).fit(x[rows], y[rows])
        return fitted.predict(x[others]).reshape(len(others), -1)

    numbers = np.arange(1, largest + 1)
    losses = [
        sum(((y[others] - predict(number, rows, others)) ** 2).sum(axis=0) for rows, others in inner_folds(train))
        for number in numbers
    ]
    chosen = numbers[np.argmin(losses, axis=0)]
    predictions = np.stack([predict(number, train, test) for number in numbers])
    return predictions[chosen - 1, :, np.arange(y.shape[1])].T, chosen


@pytest.mark.parametrize(("n", "p", "q"), [(60, 40, 5), (60, 300, 5), (60, 40, 90), (40, 6, 3)])
def test_predictions_equal_scikit_learn_with_every_number(n, p, q):
    x, y = data(n, p, q)
    predictions, chosen = pls_path_predict_splits(x, y, splits(n), 10)
    for index, (train, test) in enumerate(splits(n)):
        expected, numbers = by_scikit_learn(x, y, train, test, min(10, p))
        np.testing.assert_array_equal(chosen[index], numbers)
        np.testing.assert_allclose(predictions[index], expected, atol=1e-7)
    assert len(np.unique(chosen)) > 2


def test_inner_folds_partition_the_training_stimuli():
    train = np.array([9, 3, 5, 11, 7, 20, 2])
    folds = inner_folds(train, 3)
    assert sorted(np.concatenate([test for _, test in folds])) == sorted(train)
    assert sorted(len(test) for _, test in folds) == [2, 2, 3]
    for rows, test in folds:
        assert sorted([*rows, *test]) == sorted(train)
    assert [len(test) for _, test in inner_folds([4, 6], 5)] == [1, 1]
    for wrong in ({"train": [4], "n_folds": 5}, {"train": [4, 6, 8], "n_folds": 1}):
        with pytest.raises(ValueError, match="at least two"):
            inner_folds(**wrong)


def test_repeated_training_stimuli_are_in_one_fold():
    for rows, test in inner_folds([1, 2, 3, 1, 1, 4, 2, 5], 3):
        assert not np.isin(rows, test).any()
        assert len(rows) + np.isin([1, 2, 3, 1, 1, 4, 2, 5], test).sum() == 8
    x, y = data(40, 60, 4)
    rows = np.random.default_rng(0).integers(0, 30, 30)
    (prediction,), (chosen,) = pls_path_predict_splits(x, y, [(rows, np.arange(30, 40))], 8)
    assert np.isfinite(prediction).all()
    assert (chosen >= 1).all()


def test_the_chosen_number_predicts_as_pls_does_with_it():
    x, y = data(80, 50, 6)
    (split,) = splits(80, 1)
    (prediction,), (chosen,) = pls_path_predict_splits(x, y, [split])
    for j, number in enumerate(chosen):
        (alone,) = pls_predict_splits(x, y, [split], int(number))
        np.testing.assert_allclose(prediction[:, j], alone[:, j], atol=1e-9)


def test_fit_and_splits_give_equal_predictions():
    x, y = data(50, 80, 4)
    ((train, test),) = splits(50, 1)
    (prediction,), (chosen,) = pls_path_predict_splits(x, y, [(train, test)])
    fitted, numbers = pls_path_fit(x[train], y[train])
    np.testing.assert_array_equal(numbers, chosen)
    np.testing.assert_allclose(fitted.predict(x[test]), prediction, atol=1e-8)


def test_blocks_give_equal_predictions():
    x, y = data(50, 70, 120)
    blocks = [ColumnBlocks(lambda v=v: (v[:, i : i + 9] for i in range(0, v.shape[1], 9)), v.shape) for v in (x, y)]
    whole, numbers = pls_path_predict_splits(x, y, splits(50), 8)
    wide = ColumnBlocks(blocks[1]._blocks, y.shape, width=9)
    for index, columns, prediction, chosen in pls_path_iterate(blocks[0], wide, splits(50), 8):
        np.testing.assert_allclose(prediction, whole[index][:, columns], atol=1e-8)
        np.testing.assert_array_equal(chosen, numbers[index][columns])


def test_noisy_neuroids_get_fewer_components_and_predict_better():
    rng = np.random.default_rng(0)
    x, y = data(200, 60, 40, noise=0.0)
    y[:, 20:] += 6 * rng.normal(size=(200, 20))
    split = list(KFold(5, shuffle=True, random_state=0).split(x))
    predictions, chosen = pls_path_predict_splits(x, y, split)
    counts = np.mean(chosen, axis=0)
    assert counts[20:].mean() < 0.7 * counts[:20].mean()

    def error(parts):
        return np.sum(
            [((y[test] - part) ** 2).sum(axis=0) for (_, test), part in zip(split, parts, strict=True)], axis=0
        )

    plain = error(pls_predict_splits(x, y, split))
    assert np.mean(error(predictions)[20:] < plain[20:]) > 0.9
    assert error(predictions)[:20].sum() < 1.1 * plain[:20].sum()
