import numpy as np
import pytest
import torch

from brainscore_vision.metric_helpers.arrays.seeds import generator
from brainscore_vision.metrics.mask_regression.metric import MaskMap, MaskSettings, mask_fit, mask_predict_splits


def data(n=60, channels=3, height=4, width=5, q=4, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, channels, height, width))
    rows, columns = np.mgrid[:height, :width]
    centre = rng.uniform(0, height - 1, size=(q, 1, 1))
    masks = np.exp(-((rows - centre) ** 2 + (columns - centre) ** 2) / 2)
    y = np.einsum("nchw,khw,kc->nk", x, masks, rng.normal(size=(q, channels)))
    return x, y / y.std(axis=0) + noise * rng.normal(size=(n, q)) + 1


def draws(settings, n, shape, channels, q, draw=0):
    """Repeat the random draws that the seed gives."""
    start = generator(settings.seed, "mask regression", "start", draw)
    masks, weights = start.standard_normal((q, shape[0] * shape[1])), start.standard_normal((q, channels))
    order = generator(settings.seed, "mask regression", "order", draw)
    return masks.reshape(q, *shape), weights, [order.permutation(n) for _ in range(settings.epochs(n)[0])]


def by_torch(x, y, settings):
    """Train with automatic differentiation of the loss as printed, and torch's Adam."""
    n, channels, *shape = x.shape
    masks, weights, orders = draws(settings, n, shape, channels, y.shape[1])
    m, w = (torch.tensor(part, requires_grad=True) for part in (masks, weights))
    b = torch.zeros(y.shape[1], dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([m, w, b], lr=settings.learning_rate)
    kernel = torch.tensor([[0.0, -1, 0], [-1, 4, -1], [0, -1, 0]], dtype=torch.float64)[None, None]
    source, target = torch.tensor(x), torch.tensor(y)
    for epoch, order in enumerate(orders):
        for start in range(0, n, settings.batch_size):
            batch = torch.tensor(order[start : start + settings.batch_size])
            optimiser.zero_grad()
            prediction = torch.einsum("nchw,khw,kc->nk", source[batch], m, w) + b
            error = torch.linalg.norm(prediction - target[batch])
            rough = torch.nn.functional.conv2d(m[:, None], kernel, padding=1).flatten(1).norm(dim=1).sum()
            spatial = settings.spatial_penalty * ((m**2).sum() + rough)
            (error + spatial + settings.depth_penalty * (w**2).sum()).backward()
            optimiser.step()
        if epoch and epoch % settings.epochs(n)[1] == 0:
            optimiser.param_groups[0]["lr"] /= 10
        if error.item() < settings.tolerance:
            break
    return [part.detach().numpy() for part in (m, w, b)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        MaskSettings(n_epochs=12, decay_epochs=5, batch_size=16),
        MaskSettings(n_epochs=9, decay_epochs=3, batch_size=7, learning_rate=0.1, spatial_penalty=0.5, seed=3),
        MaskSettings(n_epochs=200, decay_epochs=150, tolerance=2.5, spatial_penalty=0.01, depth_penalty=0.01),
    ],
)
def test_fit_equals_automatic_differentiation(settings):
    x, y = data()
    fitted = mask_fit(x, y, settings)
    for ours, theirs in zip((fitted.masks, fitted.weights, fitted.offsets), by_torch(x, y, settings), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-8)


def test_predictions_equal_the_published_implementation():
    # Predictions of MaskRegression in brainscore_vision 2.4.2 (TensorFlow 2.16, single precision), with batch_size=16,
    # this code's initial values and stimulus orders for seed 0, fitted to the first 45 stimuli.
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3, 4, 5))
    y = rng.normal(size=(60, 4))
    y += np.einsum("nchw,khw,kc->nk", x, rng.normal(size=(4, 4, 5)), rng.normal(size=(4, 3))) / 4
    fitted = mask_fit(x[:45], y[:45], MaskSettings(n_epochs=40, decay_epochs=25, batch_size=16))
    published = [[3.0743032, 2.019246, 1.3043227, -0.46954122], [-1.5686809, -0.82505697, 0.05442902, -0.14249569]]
    np.testing.assert_allclose(fitted.predict(x[45:47]), published, atol=1e-5)


def test_default_training_finds_the_receptive_fields():
    x, y = data(n=150)
    settings = MaskSettings(n_epochs=600)
    (prediction,) = mask_predict_splits(x, y, [(np.arange(120), np.arange(120, 150))], settings)
    assert min(np.corrcoef(prediction[:, i], y[120:, i])[0, 1] for i in range(4)) > 0.95
    other = mask_fit(x[:120], y[:120], MaskSettings(n_epochs=600, seed=1)).predict(x[120:])
    np.testing.assert_allclose(other, prediction, atol=0.15)


def test_epochs_are_scaled_to_the_number_of_stimuli():
    assert MaskSettings().epochs(10_000) == (40, 25)
    assert MaskSettings().epochs(100) == (2000, 1250)
    assert MaskSettings(n_epochs=8, decay_epochs=2).epochs(100) == (8, 2)


def test_splits_equal_single_fits_of_any_size():
    x, y = data()
    settings = MaskSettings(n_epochs=5, tolerance=9.0)  # some splits stop before others
    rng = np.random.default_rng(0)
    orders = [rng.permutation(60) for _ in range(5)]
    splits = [(order[:size], order[size:]) for order, size in zip(orders, (40, 41, 40, 59, 40), strict=True)]
    predictions = mask_predict_splits(x, y, splits, settings)
    for index, ((train, test), prediction) in enumerate(zip(splits, predictions, strict=True)):
        alone = mask_fit(x[train], y[train], settings, draw=index).predict(x[test])
        np.testing.assert_allclose(prediction, alone, atol=1e-9)


def test_splits_do_not_depend_on_how_many_fit_in_memory(monkeypatch):
    from brainscore_vision.metrics.mask_regression import metric as mask

    x, y = data()
    splits = [(np.arange(40), np.arange(40, 60)), (np.arange(20, 60), np.arange(20))]
    together = mask_predict_splits(x, y, splits, MaskSettings(n_epochs=3))
    monkeypatch.setattr(mask, "_BLOCK_BYTES", 1)
    alone = mask_predict_splits(x, y, splits, MaskSettings(n_epochs=3))
    for one, two in zip(together, alone, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-12)


def test_fits_are_reproducible_and_leave_arguments_unchanged():
    x, y = data()
    before = x.copy(), y.copy()
    first, second = (mask_fit(x, y, MaskSettings(n_epochs=4)) for _ in range(2))
    assert first.masks.tobytes() == second.masks.tobytes()
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(y, before[1])


def test_prediction_matches_a_hand_computed_value():
    fitted = MaskMap(masks=np.array([[[1.0, 2.0]]]), weights=np.array([[3.0, -1.0]]), offsets=np.array([0.5]))
    x = np.array([[[[1.0, 1.0]], [[2.0, 0.0]]]])
    np.testing.assert_allclose(fitted.predict(x), [[3 * 3 - 2 + 0.5]])


@pytest.mark.parametrize(
    ("n", "channels", "height", "width", "q"), [(1, 1, 1, 1, 1), (2, 5, 1, 1, 3), (51, 1, 3, 1, 1)]
)
def test_fits_work_for_small_shapes(n, channels, height, width, q):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(n, channels, height, width)), rng.normal(size=(n, q))
    fitted = mask_fit(x, y, MaskSettings(n_epochs=2))
    assert fitted.predict(x).shape == (n, q)
    assert np.isfinite(fitted.predict(x)).all()


def test_rejects_wrong_shapes_and_empty_training_sets():
    x, y = data()
    with pytest.raises(ValueError, match="n_channels, height, width"):
        mask_fit(x.reshape(60, -1), y)
    with pytest.raises(ValueError, match=r"\(59, 4\)"):
        mask_fit(x, y[:59])
    with pytest.raises(ValueError, match="no training stimuli"):
        mask_predict_splits(x, y, [([], [1])])
