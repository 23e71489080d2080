import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import ShuffleSplit

from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.arrays.regression.single import (
    assign,
    assigned_predict_splits,
    best_source_predict_splits,
    partners,
)


def data(n, p, q, seed=0):
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n, 3))
    x = latent @ rng.normal(size=(3, p)) + rng.normal(size=(n, p)) + 3
    return x, latent @ rng.normal(size=(3, q)) + rng.normal(size=(n, q)) - 5


def all_pairs(x, y):
    return np.array([[np.corrcoef(x[:, i], y[:, j])[0, 1] for i in range(x.shape[1])] for j in range(y.shape[1])])


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), q=st.integers(1, 4), more=st.integers(0, 2))
def test_no_other_assignment_has_higher_correlations(seed, q, more):
    x, y = data(30, q + more, q, seed)
    r = all_pairs(x, y)
    best = max(r[range(q), list(chosen)].sum() for chosen in itertools.permutations(range(q + more), q))
    chosen = partners(x, y)
    assert len(set(chosen.tolist())) == q
    assert r[range(q), chosen].sum() == pytest.approx(best, abs=1e-12)


def test_every_split_is_assigned_on_its_training_stimuli():
    x, y = data(60, 12, 6)
    splits = list(ShuffleSplit(4, train_size=0.8, random_state=1).split(x))
    for prediction, (train, test) in zip(assigned_predict_splits(x, y, splits), splits, strict=True):
        np.testing.assert_array_equal(prediction, x[np.ix_(test, assign(all_pairs(x[train], y[train])))])


def test_a_neuroid_preferred_by_two_is_assigned_to_one():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    y = np.column_stack([x[:, 0] + 0.1 * rng.normal(size=200), x[:, 0] + 0.5 * x[:, 1]])
    split = [(np.arange(180), np.arange(180, 200))]
    np.testing.assert_array_equal(assigned_predict_splits(x, y, split)[0], x[180:])
    np.testing.assert_array_equal(best_source_predict_splits(x, y, split)[0], x[180:, [0, 0]])


def test_permutations_of_neuroids_are_recovered():
    x, _ = data(50, 30, 1)
    order = np.random.default_rng(1).permutation(30)
    np.testing.assert_array_equal(partners(x, 3 * x[:, order] + 2), order)


def test_blocks_and_groups_of_splits_give_equal_predictions(monkeypatch):
    x, y = data(40, 90, 7)
    splits = list(ShuffleSplit(5, train_size=0.9, random_state=1).split(x))
    whole = assigned_predict_splits(x, y, splits)
    monkeypatch.setattr("brainscore_vision.metric_helpers.arrays.regression.single.PAIRS_BYTES", 2 * 8 * 90 * 7)
    blocks = ColumnBlocks(lambda: (x[:, i : i + 11] for i in range(0, 90, 11)), x.shape)
    for one, other in zip(whole, assigned_predict_splits(blocks, y, splits), strict=True):
        np.testing.assert_array_equal(one, other)


def test_constant_neuroids_have_no_partner():
    x, y = data(30, 3, 3)
    x[:, 1] = 4.0
    (prediction,) = assigned_predict_splits(x, y, [(np.arange(25), np.arange(25, 30))])
    assert np.isnan(prediction).all(axis=0).sum() == 1
    assert sorted(partners(x, y)) == [-1, 0, 2]
    y[:25, 0] = 1.0
    (prediction,) = assigned_predict_splits(x, y, [(np.arange(25), np.arange(25, 30))])
    assert np.isnan(prediction).all(axis=0).tolist() == [True, False, False]


def test_rejects_more_neuroids_in_the_target():
    x, y = data(30, 3, 4)
    with pytest.raises(ValueError, match=r"4 target neuroids.* only 3\. .*soft_matching"):
        partners(x, y)
