import numpy as np
import pytest

from brainscore_vision.metric_helpers.arrays import column_blocks
from brainscore_vision.metric_helpers.arrays.correlation import pearson_columns
from brainscore_vision.metric_helpers.arrays.regression.smoothing import LinearSmoother, correlate_parts


def test_smoother_is_its_matrix_even_far_from_zero():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(4, 2)), rng.normal(size=(9, 2))
    right -= right.mean(axis=0)
    smoother = LinearSmoother(np.column_stack([left, np.ones(4)]), np.column_stack([right, np.full(9, 1 / 9)]))
    y = rng.normal(size=(9, 3))
    expected = (left @ right.T + 1 / 9) @ y
    np.testing.assert_allclose(smoother.predict(y), expected, atol=1e-13)
    np.testing.assert_allclose(smoother.predict(y + 2.0**20) - 2.0**20, expected, atol=1e-8)
    np.testing.assert_allclose(LinearSmoother(None, np.eye(9)).predict(y), y)


@pytest.mark.parametrize("order", ["by block", "by split"])
def test_parts_are_correlated_in_either_order(order, monkeypatch):
    monkeypatch.setattr(column_blocks, "BLOCK_BYTES", 8 * 20 * 3)
    rng = np.random.default_rng(0)
    target = rng.normal(size=(20, 8))
    tests = [np.arange(6), np.arange(4, 20)]
    predictions = [rng.normal(size=(len(test), 8)) for test in tests]
    parts = [(i, slice(j, min(8, j + 3)), predictions[i][:, j : j + 3]) for i in range(2) for j in (0, 3, 6)]
    if order == "by block":
        parts.sort(key=lambda part: part[1].start)
    r = correlate_parts(parts, target, tests)
    for row, test, prediction in zip(r, tests, predictions, strict=True):
        np.testing.assert_allclose(row, pearson_columns(target[test], prediction), atol=1e-12)
