"""Prepare a PyTorch module and its inputs for a forward pass."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch

from brainscore_core.config import settings
from brainscore_core.errors import StimulusError

if TYPE_CHECKING:
    from torch import nn

    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = ["WRONG_SHAPE", "InputShapeError", "device_of", "evaluation_mode", "kind_of", "new_batch"]

# PyTorch's messages if the preprocessing gives a wrong shape.
WRONG_SHAPE = re.compile(
    r"expected input\b|to conv\dd|to have \d+ channels|Kernel size can't be greater|shapes cannot be multiplied"
    r"|must match the size|size mismatch|invalid for input of size",
    re.IGNORECASE,
)


class InputShapeError(StimulusError, RuntimeError):
    """A network cannot take inputs of the shape that its preprocessing returns."""


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Put a module into evaluation mode inside the block, and restore each part's mode afterwards."""
    training = [part for part in model.modules() if part.training]
    model.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True


def device_of(name: str | torch.device | None) -> torch.device:
    """Return the device to run on; for None, ``BRAINSCORE_DEVICE``, else the GPU if CUDA has one, else the CPU."""
    if name is None:
        name = settings().device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.device(name)
    except RuntimeError as error:
        raise ValueError(f"The device {name!r} is unknown to PyTorch; expected 'cpu', 'cuda' or 'mps'.") from error


def new_batch(images: Sequence[npt.ArrayLike | torch.Tensor] | Array | torch.Tensor) -> torch.Tensor:
    """Copy images into one tensor, which the network may change."""
    if isinstance(images, torch.Tensor):
        return images.clone()
    try:
        if isinstance(images, np.ndarray):
            return torch.from_numpy(images.copy())
        tensors = [torch.as_tensor(image) for image in images]
    except (TypeError, ValueError, RuntimeError) as error:  # PyTorch raises the last for unknown types
        raise TypeError(
            f"The preprocessing returned {kind_of(images)}, which PyTorch cannot take; expected an array or a list of "
            f"arrays of numbers ({error})."
        ) from error
    shapes = sorted({tuple(tensor.shape) for tensor in tensors})
    if len(shapes) != 1:
        raise ValueError(
            f"The preprocessing returned {len(tensors)} images of the shapes {', '.join(map(str, shapes)) or '()'}; "
            "expected at least one, and one shape for all. Resize them to the size that the network takes."
        )
    return torch.stack(tensors)


def kind_of(images: object) -> str:
    """Describe the type of preprocessed images for messages."""
    if isinstance(images, (np.ndarray, torch.Tensor)):
        return f"an array of shape {tuple(images.shape)} and type {images.dtype}"
    items = sorted({type(item).__name__ for item in images}) if isinstance(images, Sequence) else []
    return f"a {type(images).__name__}{' of ' if items else ''}{', '.join(items)}"
