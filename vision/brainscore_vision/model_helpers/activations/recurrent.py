"""Read out steps of PyTorch modules that run several times in one forward pass."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from brainscore_vision.model_helpers.activations.module_wrapper import PytorchWrapper

if TYPE_CHECKING:
    import torch
    from torch import nn

    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = ["RecurrentPytorchWrapper", "split_step"]

_STEP = re.compile(r"(?P<layer>.+)-t(?P<step>[0-9]+)")


def split_step(layer_name: str) -> tuple[str, int | None]:
    """Split a name into layer and step; the step is None if it names none.

    Examples
    --------
    >>> split_step('IT.output-t1'), split_step('decoder.avgpool')
    (('IT.output', 1), ('decoder.avgpool', None))
    """
    match = _STEP.fullmatch(layer_name)
    return (match["layer"], int(match["step"])) if match else (layer_name, None)


class RecurrentPytorchWrapper(PytorchWrapper):
    """A `PytorchWrapper` that understands ``'<layer>-t<step>'``, such as ``'IT.output-t1'``.

    Steps count from 0 in one forward pass; a name without one means the last. A step that is not reached raises
    `LayerNotFoundError`.
    """

    def get_layer(self, layer_name: str) -> nn.Module:
        """See `PytorchWrapper.get_layer` and the class."""
        return super().get_layer(split_step(layer_name)[0])

    def register_hook(
        self, layer: nn.Module, layer_name: str, target_dict: dict[str, Array]
    ) -> torch.utils.hooks.RemovableHandle:
        """See `PytorchWrapper.register_hook` and the class."""
        step = split_step(layer_name)[1]
        if step is None:
            return super().register_hook(layer, layer_name, target_dict)
        calls = itertools.count()

        def keep_step(_layer: nn.Module, _inputs: object, output: torch.Tensor) -> None:
            if next(calls) == step:
                target_dict[layer_name] = self._tensor_to_numpy(output)

        return layer.register_forward_hook(keep_step)
