import numpy as np

from brainscore_vision.metric_helpers.arrays.regression.linear_maps import LinearSmoother


def test_smoother_equals_its_matrix_even_far_from_zero():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(4, 2)), rng.normal(size=(9, 2))
    right -= right.mean(axis=0)
    smoother = LinearSmoother(np.column_stack([left, np.ones(4)]), np.column_stack([right, np.full(9, 1 / 9)]))
    y = rng.normal(size=(9, 3))
    expected = (left @ right.T + 1 / 9) @ y
    np.testing.assert_allclose(smoother.predict(y), expected, atol=1e-13)
    np.testing.assert_allclose(smoother.predict(y + 2.0**20) - 2.0**20, expected, atol=1e-8)
    np.testing.assert_allclose(LinearSmoother(None, np.eye(9)).predict(y), y)
