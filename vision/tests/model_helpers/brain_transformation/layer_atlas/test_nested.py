"""Nested choices, compared with loops and with the expected result for noise."""

import numpy as np
import pytest

from brainscore_vision.metric_helpers.arrays.correlation import pearson_columns
from brainscore_vision.metric_helpers.arrays.regression.ridge import ridge_split_fits
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.nested import (
    best,
    choose_nested,
    fold_pairs,
    nested_splits,
)


def folds_of(n, n_folds, rng):
    return np.array_split(rng.permutation(n), n_folds)


def test_no_fit_sees_the_folds_it_is_scored_on():
    folds = folds_of(23, 4, np.random.default_rng(0))
    splits = nested_splits(folds)
    assert len(splits) == 4 + 6
    for train, test in splits:
        assert not set(train) & set(test)
        assert sorted([*train, *test]) == list(range(23))
    for fold, (_, test) in zip(folds, splits, strict=False):
        assert test.tolist() == fold.tolist()
    for (i, j), (_, test) in zip(fold_pairs(4), splits[4:], strict=True):
        assert test.tolist() == [*folds[i], *folds[j]]


def test_choice_for_a_fold_does_not_depend_on_that_fold():
    rng = np.random.default_rng(1)
    outer, inner = rng.normal(size=(5, 4)), rng.normal(size=(5, 4, 4))
    chosen = choose_nested(outer, inner)
    for fold in range(4):
        expected = max(range(5), key=lambda layer: np.mean([inner[layer, fold, j] for j in range(4) if j != fold]))
        assert chosen.layers[fold] == expected
    assert chosen.score == pytest.approx(np.mean([outer[layer, fold] for fold, layer in enumerate(chosen.layers)]))
    inner[:, range(4), range(4)] = np.nan  # the diagonal does not count
    assert choose_nested(outer, inner).layers.tolist() == chosen.layers.tolist()


def test_best_is_the_first_maximum_and_never_nan():
    assert best(np.array([np.nan, 0.2, 0.5, 0.5])) == 2
    assert best(np.array([np.nan, -1.0])) == 1


def layers_and_scores(seed, n_layers=8, n=60, n_neuroids=10):
    """Score layers of pure noise; returns (naive maximum, nested score)."""
    rng = np.random.default_rng(seed)
    responses = rng.normal(size=(n, n_neuroids))
    folds = folds_of(n, 5, rng)
    splits = nested_splits(folds)
    outer, inner = np.empty((n_layers, 5)), np.full((n_layers, 5, 5), np.nan)
    for layer in range(n_layers):
        predictions = ridge_split_fits(rng.normal(size=(n, 20)), splits, 10.0).predict(responses)
        medians = lambda test, prediction: np.median(pearson_columns(prediction, responses[test]))  # noqa: E731
        outer[layer] = [medians(splits[i][1], predictions[i]) for i in range(5)]
        for pair, (i, j) in enumerate(fold_pairs(5), start=5):
            test, prediction, size = splits[pair][1], predictions[pair], len(folds[i])
            inner[layer, j, i] = medians(test[:size], prediction[:size])
            inner[layer, i, j] = medians(test[size:], prediction[size:])
    return outer.mean(axis=1).max(), choose_nested(outer, inner).score


@pytest.mark.slow
def test_nested_score_of_noise_is_0_unlike_the_naive_maximum():
    naive, nested = np.array([layers_and_scores(seed) for seed in range(60)]).T
    error = nested.std(ddof=1) / np.sqrt(len(nested))
    assert abs(nested.mean()) < 3 * error
    assert naive.mean() > 10 * naive.std(ddof=1) / np.sqrt(len(naive))
