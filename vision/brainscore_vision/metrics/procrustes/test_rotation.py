import numpy as np
import pytest
import scipy.spatial
from scipy.stats import ortho_group

from brainscore_vision.metrics.procrustes.metric import procrustes_influences

SHAPES = [(12, 3, 5), (12, 30, 5), (12, 4, 40), (12, 50, 60), (5, 1, 1), (2, 3, 2)]


def procrustes_similarity(first, second):
    return procrustes_influences(first, second)[0]


def pair(n, p, q, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) + 3
    return x, rng.normal(size=(n, q)) + x @ rng.normal(size=(p, q)) / p


@pytest.mark.parametrize("shape", SHAPES)
def test_similarity_equals_scipy(shape):
    """SciPy's disparity is the squared distance between shapes of unit size, one of which may also be scaled."""
    x, y = pair(*shape)
    wide = max(shape[1:])
    padded = [np.pad(side, ((0, 0), (0, wide - side.shape[1]))) for side in (x, y)]
    expected = np.sqrt(1 - scipy.spatial.procrustes(*padded)[2])
    assert procrustes_influences(x, y)[0] == pytest.approx(expected, abs=1e-9)


def test_similarity_invariances():
    x, y = pair(12, 6, 5)
    expected = procrustes_similarity(x, y)
    for one, two in (
        (x @ ortho_group.rvs(6, random_state=0) * 1e-200 + 2e-200, y @ ortho_group.rvs(5, random_state=1) * -3),
        (y, x),
        (np.hstack([x, x]), np.hstack([y, y, y])),
        (np.hstack([x, np.zeros((12, 30))]), y),
    ):
        assert procrustes_similarity(one, two) == pytest.approx(expected, abs=1e-12)
    assert procrustes_similarity(x, x @ ortho_group.rvs(6, random_state=0)) == pytest.approx(1, abs=1e-12)


def test_the_angle_satisfies_the_triangle_inequality():
    rng = np.random.default_rng(0)
    for _ in range(30):
        shapes = [rng.normal(size=(8, rng.integers(1, 6))) for _ in range(3)]
        a, b, c = (np.arccos(procrustes_similarity(shapes[i], shapes[j])) for i, j in ((0, 1), (1, 2), (0, 2)))
        assert c <= a + b + 1e-9


@pytest.mark.parametrize("shape", SHAPES[:4])
def test_influences_are_derivatives(shape):
    """Derivatives are by the weight of a stimulus on both sides, of a neuroid, and by the size of a response."""
    x, y = (side - side.mean(axis=0) for side in pair(*shape))
    n, q = y.shape
    value, found = procrustes_influences(x, y)
    step = 1e-6

    def moved(one, two):
        similarity = np.linalg.norm(one.T @ two, "nuc") / np.linalg.norm(one) / np.linalg.norm(two)
        return (similarity - value) / step

    def heavier(side, i):
        weighted = side.copy()
        weighted[i] *= np.sqrt(1 + step)
        return weighted

    stimuli = [moved(heavier(x, i), heavier(y, i)) for i in range(n)]
    np.testing.assert_allclose(found.stimuli, np.sqrt(n / (n - 1)) * np.array(stimuli), atol=1e-5)
    neuroids = [moved(x, heavier(y.T, j).T) for j in range(q)]
    np.testing.assert_allclose(found.neuroids, np.sqrt(q / (q - 1)) * np.array(neuroids), atol=1e-5)
    cells = np.empty((n, q))
    for i, j in np.ndindex(n, q):
        grown = y.copy()
        grown[i, j] *= 1 + step
        cells[i, j] = moved(x, grown)
    np.testing.assert_allclose(found.cells, cells, atol=1e-5)


def test_constant_responses_are_undefined():
    x, y = pair(6, 3, 2)
    assert np.isnan(procrustes_similarity(np.ones((6, 3)), y))
    assert procrustes_influences(x, np.full((6, 2), 0.1))[1] is None
    with pytest.raises(ValueError, match=r"\(5, 3\) and \(6, 2\)"):
        procrustes_similarity(x[:5], y)
