"""Run heavy parts of kernels on NumPy or torch, in float64.

Intermediate arrays belong to the backend, so ``@``, ``.T``, indexing and arithmetic work.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg
from scipy.linalg.blas import dsyrk

from brainscore_core.config import settings
from brainscore_core.errors import ConfigurationError, did_you_mean

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import Array, ArrayLike, Floats, NDArray

__all__ = ["Backend", "resolve"]

_MIRRORED_AT_ONCE = 256  # rows of a Gram matrix whose other triangle is filled at a time
NAMES = ("numpy", "torch", "torch:cpu", "torch:cuda", "torch:mps")


class Backend:
    """Operations of NumPy and of SciPy's BLAS and LAPACK; subclasses have those of other libraries."""

    name = "numpy"  # such as 'torch:cuda'
    xp: Any = np  # NumPy or torch, for functions that both have, such as `linalg.eigh`

    def asarray(self, values: ArrayLike) -> Array:
        """Convert values to this backend; NumPy arrays in float64 are not copied."""
        return np.asarray(values, dtype=np.float64)

    def numpy(self, values: Array) -> Floats:
        """Convert an array of this backend to NumPy."""
        array: Floats = values
        return array

    def zeros(self, *shape: int) -> Array:
        """Return zeros."""
        return np.zeros(shape)

    def gram(self, n: int, blocks: Iterable[NDArray[Any]]) -> Array:
        """Sum ``C C^T`` over NumPy blocks of shape (n, width), with C the column-centred block."""
        gram = np.zeros((n, n), order="F")
        for block in blocks:
            centred = np.array(block, dtype=np.float64, order="C")
            with np.errstate(invalid="ignore"):
                centred -= centred.mean(axis=0)
            # Fortran takes the transpose of a C-ordered block without a copy; only one triangle is computed.
            gram = dsyrk(1.0, centred.T, beta=1.0, c=gram, trans=1, lower=1, overwrite_c=1)
        for first in range(0, n, _MIRRORED_AT_ONCE):
            last = min(n, first + _MIRRORED_AT_ONCE)
            corner = gram[first:last, first:last]
            corner[:] = np.tril(corner) + np.tril(corner, -1).T
            gram[first:last, last:] = gram[last:, first:last].T
        return gram.T

    def cholesky(self, matrix: Array) -> Array | None:
        """Return the lower Cholesky factor, or None if the matrix is not positive definite; may overwrite `matrix`."""
        try:
            return linalg.cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return None

    def eigh(self, matrix: Array) -> tuple[Array, Array]:
        """Return eigenvalues, ascending, and eigenvectors of a symmetric matrix, which may be overwritten.

        The peak is 2 n^2 numbers, `matrix` included: relatively robust representations need no workspace of n^2, while
        divide and conquer, the choice of NumPy, copies the matrix and takes 2 n^2 more.
        """
        # SciPy copies an array that is not in the order of Fortran, as the transpose is.
        values, vectors = linalg.eigh(matrix.T, overwrite_a=True, driver="evr", check_finite=False)
        return values, vectors

    def solve_triangular(self, factor: Array, right: Array) -> Array:
        """Solve ``factor x = right`` for a lower triangular factor."""
        return linalg.solve_triangular(factor, right, lower=True, check_finite=False)

    def subtract_symmetric(self, squares: Array, first: Array, second: Array) -> None:
        """Subtract ``first second^T + second first^T`` in place from each square matrix of a batch."""
        left, right = np.stack([first, second], axis=-1), np.stack([second, first], axis=1)
        for square, columns, rows in zip(squares, left, right, strict=True):
            square -= columns @ rows


class TorchBackend(Backend):
    """Operations of torch on one device."""

    def __init__(self, torch: Any, device: str) -> None:
        self.name = f"torch:{device}"
        self.xp = torch
        self._device = torch.device(device)

    def asarray(self, values: ArrayLike) -> Array:
        array = np.ascontiguousarray(values, dtype=np.float64)
        if not array.flags.writeable:
            array = array.copy()  # torch warns about read-only memory
        return self.xp.from_numpy(array).to(self._device)

    def numpy(self, values: Array) -> Floats:
        array: Floats = values.cpu().numpy()
        return array

    def zeros(self, *shape: int) -> Array:
        return self.xp.zeros(shape, dtype=self.xp.float64, device=self._device)

    def gram(self, n: int, blocks: Iterable[NDArray[Any]]) -> Array:
        gram = self.zeros(n, n)
        for block in blocks:
            # Converted on the device: half the traffic for float32.
            values = np.array(block) if block.dtype.kind == "f" else np.array(block, dtype=np.float64)
            part = self.xp.from_numpy(values).to(self._device).to(self.xp.float64)
            part = part - part.mean(0)
            gram.addmm_(part, part.T)
        return 0.5 * (gram + gram.T)  # exactly symmetric

    def cholesky(self, matrix: Array) -> Array | None:
        factor, info = self.xp.linalg.cholesky_ex(matrix)
        return None if int(info) else factor

    def eigh(self, matrix: Array) -> tuple[Array, Array]:
        values, vectors = self.xp.linalg.eigh(matrix)
        return values, vectors

    def solve_triangular(self, factor: Array, right: Array) -> Array:
        return self.xp.linalg.solve_triangular(factor, right, upper=False)

    def subtract_symmetric(self, squares: Array, first: Array, second: Array) -> None:
        left, right = self.xp.stack([first, second], -1), self.xp.stack([second, first], 1)
        squares.baddbmm_(left, right, alpha=-1)


def resolve(backend: str | Backend | None = None) -> Backend:
    """Return the backend with a given name.

    Parameters
    ----------
    backend
        ``'numpy'``; ``'torch'`` or ``'torch:cpu'``; ``'torch:cuda'``, ``'torch:cuda:1'``; ``'torch:mps'``, which
        computes on the CPU, since Metal has no float64. None: the setting ``BRAINSCORE_ARRAY_BACKEND``, ``'numpy'`` if
        unset. ConfigurationError, also a ValueError, if the name is unknown, or torch or the device is missing.
    """
    if backend is not None and not isinstance(backend, str):
        return backend
    name = (backend if backend is not None else settings().array_backend).strip().lower()
    family, _, device = name.partition(":")
    if name == "numpy":
        return Backend()
    if family != "torch" or device.partition(":")[0] not in ("", "cpu", "cuda", "mps"):
        origin = "BRAINSCORE_ARRAY_BACKEND" if backend is None else "backend"
        hint = did_you_mean(name, NAMES)
        raise ConfigurationError(f"{origin} is {name!r}; expected one of {', '.join(map(repr, NAMES))}.{hint}")
    return _torch_backend(device or "cpu")


def _torch_backend(device: str) -> Backend:
    try:
        import torch  # a heavy import
    except ImportError as error:
        raise ConfigurationError(
            f"The backend 'torch:{device}' needs the package torch, which cannot be imported ({error}). Install it, "
            "or use the backend 'numpy'."
        ) from error
    kind, _, number = device.partition(":")
    if kind == "mps":
        return TorchBackend(torch, "cpu")
    if kind == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if count == 0:
            raise ConfigurationError(
                f"The backend 'torch:{device}' needs a CUDA device, and torch {torch.__version__} finds none. Use "
                "'torch:cpu' or 'numpy'."
            )
        if number and (not number.isdigit() or int(number) >= count):
            raise ConfigurationError(f"The device {device!r} does not exist; torch finds {count}, numbered from 0.")
    elif number:
        raise ConfigurationError(f"The device {device!r} does not exist; expected 'cpu'.")
    return TorchBackend(torch, device)
