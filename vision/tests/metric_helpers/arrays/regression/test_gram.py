import numpy as np
import pytest

from brainscore_vision.metric_helpers.arrays import column_blocks
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.arrays.regression.linear_maps import centred_gram, gram_factor, gram_of_split

BACKENDS = ["numpy", "torch"]


def features(n, p, seed=0):
    return 3 + np.random.default_rng(seed).normal(size=(n, p))


def centred(x):
    return x - x.mean(axis=0)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("n", "p"), [(1, 1), (1, 9), (7, 1), (40, 300), (300, 7)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gram_equals_that_of_centred_features(n, p, dtype, backend, monkeypatch):
    monkeypatch.setattr(column_blocks, "BLOCK_BYTES", 8 * n * 50)
    x = features(n, p).astype(dtype)
    expected = centred(x.astype(float)) @ centred(x.astype(float)).T
    gram = centred_gram(x, backend=backend)
    np.testing.assert_allclose(np.asarray(gram), expected, atol=1e-11 * p)
    np.testing.assert_array_equal(np.asarray(gram), np.asarray(gram).T)
    streamed = centred_gram(ColumnBlocks(lambda: (x[:, i : i + 3] for i in range(0, p, 3)), x.shape), backend=backend)
    np.testing.assert_allclose(np.asarray(streamed), expected, atol=1e-11 * p)


def test_gram_of_more_stimuli_than_one_mirrored_block():
    x = features(300, 40)
    np.testing.assert_allclose(centred_gram(x), centred(x) @ centred(x).T, atol=1e-11)


def test_gram_of_a_split_is_centred_on_the_training_mean():
    x = features(20, 50)
    train, test = np.array([3, 0, 7, 7, 11]), np.array([2, 19])
    expected = (x - x[train].mean(axis=0)) @ (x - x[train].mean(axis=0)).T
    within, across = gram_of_split(centred_gram(x), train, test)
    np.testing.assert_allclose(within, expected[np.ix_(train, train)], atol=1e-11)
    np.testing.assert_allclose(across, expected[np.ix_(test, train)], atol=1e-11)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", ["distinct", "equal stimuli", "few features", "constant"])
def test_factor_has_the_same_inner_products(case, backend):
    x = features(30, 80)
    if case == "equal stimuli":
        x[20:] = x[:10]
    elif case == "few features":
        x = x[:, :4]
    elif case == "constant":
        x[:] = 2.0
    gram = centred_gram(x, backend=backend)
    before = np.asarray(gram).copy()
    factor = np.asarray(gram_factor(gram, backend=backend))
    np.testing.assert_allclose(factor @ factor.T, before, atol=1e-10)
    np.testing.assert_array_equal(np.asarray(gram), before)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rejects_features_that_are_not_finite(bad):
    x = features(5, 9)
    x[2, 3] = bad
    with pytest.raises(ValueError, match="5 stimuli over 9 features are not finite"):
        centred_gram(x)
