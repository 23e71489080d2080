"""Prepare a PyTorch module and its inputs for a forward pass, and copy tensors from its outputs."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from brainscore_core.config import settings
from brainscore_core.errors import LayerNotFoundError, StimulusError

if TYPE_CHECKING:
    from torch import nn

    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = [
    "WRONG_SHAPE",
    "InputShapeError",
    "device_of",
    "evaluation_mode",
    "first_tensor",
    "kind_of",
    "new_batch",
    "part_of",
    "split_parts",
    "tensors_in",
    "to_numpy",
]

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
    """Return the device to run on; for None, ``BRAINSCORE_DEVICE``, the GPU if CUDA has one, or the CPU."""
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


# -- outputs -----------------------------------------------------------------------------------------------------------
# Find tensors in a PyTorch module's output, and copy them before they can change.

Output = Any  # whatever a module returns

_PARTS = re.compile(r"(?:\[[^\[\]]+\])+$")


def split_parts(layer_name: str) -> tuple[str, list[str]]:
    """Split a layer's name into name and bracketed parts.

    Examples
    --------
    >>> split_parts('encoder.lstm[1][0]')
    ('encoder.lstm', ['1', '0'])
    """
    match = _PARTS.search(layer_name)
    if match is None:
        return layer_name, []
    return layer_name[: match.start()], match.group()[1:-1].split("][")


def tensors_in(output: Output) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield part, such as ``[1][0]`` or ``[last_hidden_state]``, and tensor for each tensor in a nested output.

    A tensor that is not nested has the part ``''``.
    """
    if isinstance(output, torch.Tensor):
        yield "", output
        return
    for key, value in _members(output).items():
        for rest, tensor in tensors_in(value):
            yield f"[{key}]{rest}", tensor


def first_tensor(output: Output) -> torch.Tensor:
    """Return the first tensor of an output; TypeError if there is none."""
    for _, tensor in tensors_in(output):
        return tensor
    raise TypeError(f"a {type(output).__name__} holds no tensor")


def part_of(output: Output, parts: Sequence[str], layer_name: str) -> Output:
    """Return the part of an output that brackets denote; `LayerNotFoundError` if absent."""
    value = output
    for part in parts:
        members = _members(value)
        if part not in members:
            shapes = [f"{label or 'the whole'} {tuple(tensor.shape)}" for label, tensor in tensors_in(output)]
            raise LayerNotFoundError(
                f"The output of the layer has no part {layer_name!r}; it is a {type(output).__name__} with "
                f"{', '.join(shapes) or 'no tensors'}."
            )
        value = members[part]
    return value


def _members(value: Output) -> dict[str, Output]:
    if isinstance(value, Mapping):
        return {str(key): member for key, member in value.items()}
    if isinstance(value, (tuple, list)):
        named = dict(zip(getattr(value, "_fields", ()), value, strict=False))  # of a named tuple
        return named or {str(index): member for index, member in enumerate(value)}
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {}


def to_numpy(tensor: torch.Tensor) -> Array:
    """Copy a tensor from any device into a new array of its type, in C order; float32 for bfloat16."""
    values = tensor.detach()
    if values.is_quantized:
        values = values.dequantize()
    if values.layout != torch.strided:
        values = values.to_dense()
    kind = torch.float32 if values.dtype == torch.bfloat16 else values.dtype
    # NumPy asks for large pages, which makes the first access to a large array cheap.
    array: Array = np.empty(values.shape, dtype=torch.empty(0, dtype=kind).numpy().dtype)
    torch.from_numpy(array).copy_(values)
    return array
