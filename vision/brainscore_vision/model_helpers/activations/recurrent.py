"""Read out PyTorch modules that run several times in one forward pass, each time on its own."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from brainscore_vision.model_helpers.activations.wrappers.module_wrapper import PytorchWrapper

if TYPE_CHECKING:
    import torch
    from torch import nn

    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = ["RecurrentPytorchWrapper", "split_step"]

_STEP = re.compile(r"(?P<layer>.+)-t(?P<step>[0-9]+)")


def split_step(layer_name: str) -> tuple[str, int | None]:
    """Return the layer and the step that a name means; None where it names no step.

    Examples
    --------
    >>> split_step('IT.output-t1'), split_step('decoder.avgpool')
    (('IT.output', 1), ('decoder.avgpool', None))
    """
    match = _STEP.fullmatch(layer_name)
    return (match["layer"], int(match["step"])) if match else (layer_name, None)


class RecurrentPytorchWrapper(PytorchWrapper):
    """A `PytorchWrapper` that understands ``'<layer>-t<step>'``, such as ``'IT.output-t1'``.

    It is what the layer gives when it runs for the second time in one forward pass; steps count from 0. Without a
    step a name means the last time. A layer that runs less often than a step asks for gives a `LayerNotFoundError`.
    """

    def get_layer(self, layer_name: str) -> nn.Module:
        """Return the module of a name, with or without a step; see `PytorchWrapper.get_layer`."""
        return super().get_layer(split_step(layer_name)[0])

    def register_hook(
        self, layer: nn.Module, layer_name: str, target_dict: dict[str, Array]
    ) -> torch.utils.hooks.RemovableHandle:
        """Have a layer put what it gives at one step into a dict; see `PytorchWrapper.register_hook`."""
        step = split_step(layer_name)[1]
        if step is None:
            return super().register_hook(layer, layer_name, target_dict)
        calls = itertools.count()

        def keep_step(_layer: nn.Module, _inputs: object, output: torch.Tensor) -> None:
            if next(calls) == step:
                target_dict[layer_name] = self._tensor_to_numpy(output)

        return layer.register_forward_hook(keep_step)
