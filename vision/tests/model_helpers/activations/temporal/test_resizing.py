import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from brainscore_vision.model_helpers.activations.temporal.resizing import area_weights, linear_weights, resize

SIZES = st.integers(1, 20)


def test_area_weights_match_hand_computed_values():
    np.testing.assert_allclose(area_weights(4, 2), [[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    np.testing.assert_allclose(area_weights(3, 2), [[2 / 3, 1 / 3, 0], [0, 1 / 3, 2 / 3]])


def test_linear_weights_match_hand_computed_values():
    np.testing.assert_allclose(linear_weights(2, 4), [[1, 0], [0.75, 0.25], [0.25, 0.75], [0, 1]])
    np.testing.assert_allclose(linear_weights(4, 2), [[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])


@given(SIZES, SIZES)
def test_weights_sum_to_one_and_keep_an_equal_size(n_old, n_new):
    for weights in (area_weights(n_old, n_new), linear_weights(n_old, n_new)):
        assert weights.shape == (n_new, n_old)
        assert (weights >= 0).all()
        np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_allclose(area_weights(n_old, n_old), np.eye(n_old))
    np.testing.assert_allclose(linear_weights(n_old, n_old), np.eye(n_old))


def test_resizes_any_two_axes():
    values = np.arange(2 * 4 * 3 * 6, dtype=np.float16).reshape(2, 4, 3, 6)
    smaller = resize(values, area_weights(4, 2), area_weights(6, 3), axes=(1, 3))
    assert smaller.dtype == np.float64
    np.testing.assert_allclose(smaller, values.astype(float).reshape(2, 2, 2, 3, 3, 2).mean(axis=(2, 5)))
    turned = resize(values, area_weights(6, 3), area_weights(4, 2), axes=(3, 1))
    np.testing.assert_allclose(turned, smaller)
