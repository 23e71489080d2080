"""Find tensors in a PyTorch module's output, and copy them before they can change."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from brainscore_core.errors import LayerNotFoundError

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = ["first_tensor", "part_of", "split_parts", "tensors_in", "to_numpy"]

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

    A tensor alone has the part ``''``.
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
