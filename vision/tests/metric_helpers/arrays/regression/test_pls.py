import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import ShuffleSplit

from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.arrays.correlation import pearson_columns
from brainscore_vision.metric_helpers.arrays.regression import pls
from brainscore_vision.metric_helpers.arrays.regression import pls as _pls_components
from brainscore_vision.metric_helpers.arrays.regression.pls import pls_fit, pls_predict_splits, pls_smooth_splits


def data(n, p, q, *, decay=0.0, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    rank = min(n, p, 40)
    latent = rng.normal(size=(n, rank)) * np.arange(1, rank + 1) ** -decay
    x = latent @ rng.normal(size=(rank, p)) + 0.01 * rng.normal(size=(n, p)) + 3
    return x, latent @ rng.normal(size=(rank, q)) + noise * rng.normal(size=(n, q)) - 5


def splits(n, number=4, train_size=0.9):
    return list(ShuffleSplit(number, train_size=train_size, random_state=1).split(np.zeros(n)))


def scikit_learn(x, y, split, n_components):
    train, test = split
    fitted = PLSRegression(n_components, scale=False).fit(x[train], y[train])
    return fitted.predict(x[test]).reshape(len(test), y.shape[1])


# (stimuli, features, neuroids): the power iteration runs over neuroids or features; source and target are unchanged or
# replaced by a factor of their Gram matrix.
SHAPES = [
    *((60, 40, 5), (60, 300, 5), (60, 40, 50), (60, 40, 100), (60, 300, 100), (60, 300, 1000)),
    *((50, 9, 1), (50, 1, 1)),
]


@pytest.mark.filterwarnings("ignore:Maximum number of iterations")
@pytest.mark.parametrize(
    ("n", "p", "q", "decay", "noise"),
    [
        (60, 40, 5, 0.0, 1.0),
        (60, 300, 5, 0.0, 1.0),
        (60, 300, 5, 2.0, 0.01),
        (200, 30, 60, 1.0, 3.0),
        (90, 60, 1, 1.0, 0.1),
        (40, 2000, 3, 1.0, 0.5),
        (120, 150, 20, 3.0, 1e-3),
    ],
)
def test_predictions_equal_scikit_learn(n, p, q, decay, noise):
    x, y = data(n, p, q, decay=decay, noise=noise)
    predictions = pls_predict_splits(x, y, splits(n))
    for prediction, (train, test) in zip(predictions, splits(n), strict=True):
        reference = PLSRegression(25, scale=False).fit(x[train], y[train]).predict(x[test]).reshape(len(test), q)
        np.testing.assert_allclose(prediction, reference, rtol=0, atol=1e-8 * np.abs(y).max())
        np.testing.assert_allclose(pearson_columns(prediction, y[test]), pearson_columns(reference, y[test]), atol=1e-8)


def test_fit_equals_scikit_learn_coefficients():
    x, y = data(70, 50, 4, decay=1.0)
    fitted = pls_fit(x, y, 10)
    reference = PLSRegression(10, scale=False).fit(x, y)
    np.testing.assert_allclose(fitted.coefficients, reference.coef_.T, atol=1e-10)
    np.testing.assert_allclose(fitted.predict(x[:3]), reference.predict(x[:3]), atol=1e-9)


@pytest.mark.parametrize("p", [40, 80])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_components_beyond_the_rank_give_least_squares(p, noise):
    """This holds even if features outnumber stimuli and are replaced by their inner products."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 10)) @ rng.normal(size=(10, p))
    y = x[:, :2] @ rng.normal(size=(2, 4)) + noise * rng.normal(size=(50, 4))
    ((train, test),) = splits(50, 1)
    (prediction,) = pls_predict_splits(x, y, [(train, test)], n_components=25)
    fitted = pls_fit(x[train], y[train], 25).predict(x[test])
    expected = LinearRegression().fit(x[train], y[train]).predict(x[test])
    np.testing.assert_allclose(prediction, expected, atol=1e-9)
    np.testing.assert_allclose(fitted, expected, atol=1e-9)


@pytest.mark.parametrize(("n", "p"), [(20, 100), (100, 20)])
def test_rejects_too_many_components(n, p):
    x, y = data(n, p, 2)
    with pytest.raises(ValueError, match="with 25 components needs at least as many"):
        pls_predict_splits(x, y, splits(n, 1))


def test_arguments_are_unchanged_and_computed_in_float64():
    x, y = (values.astype(np.float32) for values in data(60, 40, 3))
    before = x.copy(), y.copy()
    predictions = pls_predict_splits(x, y, splits(60))
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(y, before[1])
    exact = pls_predict_splits(x.astype(float), y.astype(float), splits(60))
    np.testing.assert_array_equal(predictions[0], exact[0])


@settings(max_examples=20)
@given(seed=st.integers(0, 2**20), scale=st.sampled_from([1e-3, 0.5, 40.0]), shift=st.floats(-50, 50))
def test_prediction_invariances(seed, scale, shift):
    x, y = data(50, 60, 4, decay=1.0, seed=seed)
    ((train, test),) = splits(50, 1)
    (base,) = pls_predict_splits(x, y, [(train, test)], 8)
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(60, 60)))[0]
    order = np.random.default_rng(seed).permutation(50)
    position = np.argsort(order)
    (rotated,) = pls_predict_splits(scale * (x @ rotation) + shift, y, [(train, test)], 8)
    (moved,) = pls_predict_splits(x[order], y[order], [(position[train], position[test])], 8)
    (scaled,) = pls_predict_splits(x, scale * y + shift, [(train, test)], 8)
    np.testing.assert_allclose(rotated, base, atol=1e-6)
    np.testing.assert_allclose(moved, base, atol=1e-8)
    np.testing.assert_allclose((scaled - shift) / scale, base, atol=1e-6)


@pytest.mark.parametrize("backend", ["numpy", "torch"])
@pytest.mark.parametrize(("n", "p", "q"), SHAPES)
def test_predictions_equal_scikit_learn_for_every_shape(n, p, q, backend):
    x, y = data(n, p, q, decay=1.0, noise=0.3)
    n_components = min(12, p)
    parts = [*splits(n, 2), *splits(n, 1, train_size=0.4)]
    predictions = pls_predict_splits(x, y, parts, n_components, backend=backend)
    for split, prediction in zip(parts, predictions, strict=True):
        np.testing.assert_allclose(
            prediction, scikit_learn(x, y, split, n_components), rtol=0, atol=1e-9 * np.abs(y).max()
        )


@pytest.mark.parametrize(("n", "p", "q"), SHAPES)
def test_smoothers_and_streams_give_equal_predictions(n, p, q, monkeypatch):
    x, y = data(n, p, q, decay=1.0, noise=0.3)
    n_components = min(12, p)
    expected = pls_predict_splits(x, y, splits(n), n_components)
    streams = [ColumnBlocks(lambda v=v: (v[:, i : i + 7] for i in range(0, v.shape[1], 7)), v.shape) for v in (x, y)]
    monkeypatch.setattr(pls, "STATE_BYTES", 1)  # one split at a time
    monkeypatch.setattr(pls, "COPY_BYTES", 1)  # always use the Gram matrix if features outnumber stimuli
    smoothers = pls_smooth_splits(*streams, splits(n), n_components)
    for smoother, prediction in zip(smoothers, expected, strict=True):
        np.testing.assert_allclose(smoother.predict(y), prediction, atol=1e-9 * np.abs(y).max())
        np.testing.assert_allclose(smoother.predict(y[:, -1:]), prediction[:, -1:], atol=1e-9 * np.abs(y).max())
    for prediction, other in zip(pls_predict_splits(streams[0], y, splits(n), n_components), expected, strict=True):
        np.testing.assert_allclose(prediction, other, atol=1e-9 * np.abs(y).max())


@pytest.mark.parametrize("q", [3, 200])
def test_smoothers_count_repeated_stimuli_as_often_as_they_occur(q):
    x, y = data(60, 30, q)
    train, test = np.array([0, 0, 0, *range(1, 40)]), np.arange(40, 60)
    (smoother,) = pls_smooth_splits(x, y, [(train, test)], 5)
    np.testing.assert_allclose(smoother.predict(y), scikit_learn(x, y, (train, test), 5), atol=1e-9)


@pytest.mark.parametrize(("p", "q"), [(40, 5), (300, 5), (5, 40), (30, 500)])
@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_predictions_are_reproducible(p, q, backend):
    x, y = data(60, p, q)
    first, second = (pls_predict_splits(x, y, splits(60), 5, backend=backend) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("p", "q"), [(30, 4), (20, 60), (20, 300)])
def test_power_iteration_starts_at_the_first_varying_neuroid(p, q):
    # The start matters: the published stopping rule ends the power iteration before the start is forgotten.
    x, y = data(60, p, q, noise=3.0)
    (split,) = splits(60, 1)
    y[:, :2] = 4.0, -1.0  # constant
    (prediction,) = pls_predict_splits(x, y, [split], 6)
    (without,) = pls_predict_splits(x, y[:, 2:], [split], 6)
    np.testing.assert_allclose(prediction[:, 2:], without, atol=1e-9)


def test_power_iteration_starts_even_if_the_first_are_constant():
    x, y = data(60, 10, 300)
    y[:, : _pls_components.FIRST] = 1.0
    ((train, test),) = splits(60, 1)
    (prediction,) = pls_predict_splits(x, y, [(train, test)], 10)  # as many as features: least squares
    design = np.column_stack([np.ones(len(train)), x[train]])
    solution = np.linalg.lstsq(design, y[train], rcond=None)[0]
    np.testing.assert_allclose(prediction, np.column_stack([np.ones(len(test)), x[test]]) @ solution, atol=1e-7)


@pytest.mark.parametrize("backend", ["numpy", "torch"])
@pytest.mark.parametrize("shape", [(40, 30, 3), (40, 3, 30), (40, 4, 300)])
def test_nothing_to_learn_predicts_the_training_mean(shape, backend):
    n, p, q = shape
    x, y = data(n, p, q)
    parts = splits(n, 2)
    for source, target in [(np.ones((n, p)), y), (x, np.tile(np.arange(q), (n, 1)))]:
        for (train, test), prediction in zip(
            parts, pls_predict_splits(source, target, parts, 3, backend=backend), strict=True
        ):
            np.testing.assert_allclose(prediction, np.tile(target[train].mean(axis=0), (len(test), 1)), atol=1e-10)


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_splits_may_have_different_numbers_of_components(backend):
    rng = np.random.default_rng(0)
    x = np.zeros((60, 20))
    x[:30, :2] = rng.normal(size=(30, 2))
    x[30:] = rng.normal(size=(30, 20))
    y = rng.normal(size=(60, 4))
    parts = [(np.arange(28), np.arange(28, 30)), (np.arange(58), np.arange(58, 60))]
    poor, rich = pls_predict_splits(x, y, parts, 8, backend=backend)
    np.testing.assert_allclose(poor, scikit_learn(x, y, parts[0], 2), atol=1e-9)
    np.testing.assert_allclose(rich, scikit_learn(x, y, parts[1], 8), atol=1e-9)


@settings(max_examples=30)
@given(
    n=st.integers(4, 30), p=st.integers(1, 60), q=st.integers(1, 60), k=st.integers(1, 3), seed=st.integers(0, 2**20)
)
def test_random_shapes_equal_scikit_learn(n, p, q, k, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, p)), rng.normal(size=(n, q))
    order = rng.permutation(n)
    n_test = int(rng.integers(1, n - 2))
    split = order[n_test:], order[:n_test]
    k = min(k, p, len(split[0]) - 1)
    (prediction,) = pls_predict_splits(x, y, [split], k)
    np.testing.assert_allclose(prediction, scikit_learn(x, y, split, k), atol=1e-6)


@settings(max_examples=15)
@given(seed=st.integers(0, 2**20), column=st.integers(0, 5))
def test_a_duplicated_neuroid_has_equal_predictions(seed, column):
    x, y = data(50, 30, 6, seed=seed)
    (split,) = splits(50, 1)
    (prediction,) = pls_predict_splits(x, np.column_stack([y, y[:, column]]), [split], 5)
    np.testing.assert_allclose(prediction[:, -1], prediction[:, column], atol=1e-9)


def test_handles_one_test_stimulus_and_none():
    x, y = data(30, 20, 3)
    one, none = pls_predict_splits(x, y, [(np.arange(29), [29]), (np.arange(30), [])], 4)
    np.testing.assert_allclose(one, scikit_learn(x, y, (np.arange(29), np.array([29])), 4), atol=1e-9)
    assert none.shape == (0, 3)
