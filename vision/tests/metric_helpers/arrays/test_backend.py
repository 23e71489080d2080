import sys

import numpy as np
import pytest

from brainscore_core.errors import ConfigurationError
from brainscore_vision.metric_helpers.arrays.backend import Backend, resolve

torch = pytest.importorskip("torch")


def symmetric(n=6):
    x = np.random.default_rng(0).normal(size=(n, n + 2))
    return x @ x.T


@pytest.mark.parametrize(
    ("name", "resolved"),
    [("numpy", "numpy"), (" NumPy", "numpy"), ("torch", "torch:cpu"), ("torch:cpu", "torch:cpu"),
     ("torch:mps", "torch:cpu")],
)  # fmt: skip
def test_backend_names_are_resolved(name, resolved):
    assert resolve(name).name == resolved


def test_the_setting_applies_unless_an_argument_is_passed(monkeypatch):
    monkeypatch.delenv("BRAINSCORE_ARRAY_BACKEND", raising=False)
    assert resolve().name == "numpy"
    monkeypatch.setenv("BRAINSCORE_ARRAY_BACKEND", "torch")
    assert resolve().name == "torch:cpu"
    assert resolve("numpy").name == "numpy"
    monkeypatch.setenv("BRAINSCORE_ARRAY_BACKEND", "touch")
    with pytest.raises(ConfigurationError, match=r"BRAINSCORE_ARRAY_BACKEND is 'touch'.*Did you mean 'torch'"):
        resolve()


def test_a_backend_object_is_returned_unchanged():
    backend = Backend()
    assert resolve(backend) is backend


@pytest.mark.parametrize("name", ["torch:cdua", "jax", "", "torch:gpu:0", "cuda"])
def test_rejects_unknown_backends(name):
    with pytest.raises(ValueError, match="expected one of 'numpy', 'torch', 'torch:cpu', 'torch:cuda'"):
        resolve(name)


def test_rejects_absent_devices(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigurationError, match=r"needs a CUDA device.*Use 'torch:cpu' or 'numpy'"):
        resolve("torch:cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(ConfigurationError, match="The device 'cuda:3' does not exist; torch finds 1"):
        resolve("torch:cuda:3")
    with pytest.raises(ConfigurationError, match="The device 'cpu:1' does not exist"):
        resolve("torch:cpu:1")


def test_the_torch_backend_needs_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ConfigurationError, match="needs the package torch"):
        resolve("torch")


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_operations_equal_numpy(name):
    backend = resolve(name)
    matrix = symmetric()
    given, right = backend.asarray(matrix), backend.asarray(matrix[:, :2])
    factor = np.asarray(backend.cholesky(backend.asarray(matrix.copy())))
    np.testing.assert_allclose(factor, np.linalg.cholesky(matrix), atol=1e-12)
    lower = backend.asarray(factor.copy())
    half = np.asarray(backend.solve_triangular(lower, right))
    np.testing.assert_allclose(half, np.linalg.solve(factor, matrix[:, :2]), atol=1e-9)
    values, vectors = (np.asarray(part) for part in backend.xp.linalg.eigh(given))
    np.testing.assert_allclose(vectors * values @ vectors.T, matrix, atol=1e-11)
    assert np.all(np.diff(values) >= 0)
    assert backend.cholesky(backend.asarray(-matrix)) is None
    np.testing.assert_array_equal(np.asarray(backend.xp.amax(given, 1)), matrix.max(axis=1))
    np.testing.assert_array_equal(
        np.asarray(backend.xp.where(given > 0, given, 0.0)), np.where(matrix > 0, matrix, 0.0)
    )
    batch = backend.asarray(np.stack([matrix, 2 * matrix]))
    first, second = (backend.asarray(np.stack([matrix[i], matrix[i + 1]])) for i in (0, 2))
    backend.subtract_symmetric(batch, first, second)
    outer = np.outer(matrix[1], matrix[3])
    np.testing.assert_allclose(np.asarray(batch)[1], 2 * matrix - outer - outer.T, atol=1e-11)
    assert backend.numpy(backend.zeros(2, 3)).shape == (2, 3)


def test_torch_accepts_read_only_arrays(recwarn):
    values = np.ones((3, 2))
    values.flags.writeable = False
    assert resolve("torch").asarray(values).sum() == 6
    assert resolve("torch").asarray(np.ones((2, 3), np.float32).T).dtype == torch.float64
    assert not recwarn.list
