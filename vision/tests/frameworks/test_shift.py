"""Shifts by fractions of a pixel match OpenCV, which the published system uses."""

import cv2
import numpy as np
import pytest

from brainscore_vision.model_helpers.activations.trials import microsaccades, shift_images


@pytest.mark.parametrize("visual_degrees", [1, 8])
def test_shifted_images_match_opencv(visual_degrees):
    image = np.random.default_rng(0).normal(size=(3, 40, 40)).astype(np.float32)
    shifts = microsaccades(12) * 40 / visual_degrees
    moved = shift_images(np.repeat(image[np.newaxis], 12, axis=0), shifts)
    for result, (right, down) in zip(moved, shifts, strict=True):
        # OpenCV rounds to 1/32 of a pixel, ours does not: shifts by multiples of 1/32 are equal.
        matrix = np.float32([[1, 0, right], [0, 1, down]])
        expected = _by_opencv(image, matrix)
        steepest = max(np.abs(np.diff(image, axis=axis)).max() for axis in (1, 2))
        assert np.abs(result - expected).max() <= 2 * steepest / 64 + 1e-5
        rounded = np.round(np.array([[right, down]]) * 32) / 32
        at_32nds = shift_images(image[np.newaxis], rounded)[0]
        matrix = np.float32([[1, 0, rounded[0, 0]], [0, 1, rounded[0, 1]]])
        np.testing.assert_allclose(at_32nds, _by_opencv(image, matrix), atol=1e-5)


def _by_opencv(image, matrix):
    moved = cv2.warpAffine(
        image.transpose(1, 2, 0), matrix, (40, 40), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    return moved.transpose(2, 0, 1)
